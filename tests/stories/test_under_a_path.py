"""The studio under a path of a host's address, behind nginx: page, uploads, events, links and the HTTP service."""

import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

import engine
from studio.client import Client
from studio.load.trial_service import trial_service
from tests.proxies import free_port, nginx
from tests.waiting import PATIENCE_S, WORK_MS

README = Path(__file__).parents[2] / "studio" / "deploy" / "README.md"
SPEECH = Path(engine.__path__[0]) / "samples" / "speech.flac"

pytestmark = pytest.mark.slow


@pytest.fixture(params=["removes the path", "passes the path on"])
def address(request, tmp_path, monkeypatch):
    """The address of a service under /studio, with a proxy of either kind."""
    port, inside = free_port(), free_port()
    monkeypatch.setenv("GRADIO_ROOT_PATH", "/studio")
    [block] = re.findall(r"```nginx\n(location /studio/.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    after = "/" if request.param == "removes the path" else ""
    block = re.sub(r"proxy_pass [^;]*;", f"proxy_pass http://127.0.0.1:{inside}{after};", block)
    servers = f"server {{ listen 127.0.0.1:{port}; {block} }}"
    with trial_service(tmp_path / "home", port=inside) as service, nginx(tmp_path, port, servers, "/studio") as base:
        yield base, service


def test_client_and_documentation_work_under_a_path(address, tmp_path):
    base_url, service = address
    with Client(base_url, service.token()) as client:
        [take] = client.convert_and_wait(SPEECH, "kathleen", folder=tmp_path / "converted")
        assert take.stat().st_size > 100_000
        [voice] = [one for one in client.models() if one["id"] == "kathleen"]
        assert voice["name"] == "Kathleen"
    with httpx.Client(trust_env=False, timeout=PATIENCE_S) as http:
        document = http.get(f"{base_url}/openapi.json").json()
        assert document["servers"] == [{"url": "/studio"}]
        assert "docs-files/show.js" in http.get(f"{base_url}/docs").text
        assert http.get(f"{base_url}/docs-files/show.js").is_success
        assert http.get(f"{base_url}/models").json()["code"] == "token_missing"
        assert http.get(base_url, follow_redirects=True).url.path == "/studio/"


def test_page_uploads_converts_and_plays_under_a_path(address, browser):
    base_url, _ = address
    context = browser.new_context(locale="en-GB")
    page, strays, failed = context.new_page(), [], []
    page.on("request", lambda asked: strays.append(asked.url) if _strays(asked.url, base_url) else None)
    page.on("response", lambda answer: failed.append(answer.url) if answer.status >= 400 else None)
    page.goto(f"{base_url}/")
    page.locator("#convert-drop input[type=file]").first.set_input_files(SPEECH)
    expect(page.locator("#convert-instrument .play:not([data-welcome] *)")).to_be_visible(timeout=WORK_MS)
    page.get_by_role("button", name="Convert", exact=True).click()
    expect(page.locator("#convert-title h2")).to_contain_text("speech.flac by", timeout=WORK_MS)
    page.locator("#convert-instrument .play:not([data-welcome] *)").first.click()
    page.wait_for_function("document.querySelector('timbre-instrument').seconds > 0.3")
    page.get_by_role("tab", name="Voices").click()
    expect(page.get_by_role("radio", name=re.compile("^Kathleen"))).to_be_visible()
    context.close()
    assert (strays, failed) == ([], [])


def _strays(url: str, base_url: str) -> bool:
    return not url.startswith((f"{base_url}/", "data:", "blob:", "about:"))
