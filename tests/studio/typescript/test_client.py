"""The TypeScript client, generated from a running service and built by its own commands, in Node and in a browser."""

import base64
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import engine
from studio.load.trial_service import TrialService
from tests.studio.exchange.hostile_server import TABLE, hostile_server
from tests.waiting import WORK_MS

ROOT = Path(__file__).parents[3]
SPEECH = Path(engine.__path__[0]) / "samples" / "speech.flac"
INSTALLED_WITHIN_S = 600.0
_PAGE = """<!DOCTYPE html><script type="importmap">
{"imports": {"timbre-studio-client": "/built/dist/client.js", "openapi-fetch": "/built/openapi-fetch.js"}}
</script><audio></audio>"""
_PLAY = """async ([token, base64]) => {
  const { Studio } = await import("timbre-studio-client");
  const recording = await (await fetch(`data:audio/flac;base64,${base64}`)).blob();
  const [link] = await new Studio("", token).convertAndWait(recording, "kathleen");
  const audio = document.querySelector("audio");
  audio.muted = true;
  audio.src = link;
  await audio.play();
  return audio.duration;
}"""

pytestmark = pytest.mark.slow


def run(*command: str | Path, folder: Path, **environment: str | Path) -> None:
    """Run a command of npm or Node; what it says is the reason if it fails."""
    given = os.environ | environment
    done = subprocess.run(
        command, cwd=folder, env=given, capture_output=True, text=True, timeout=INSTALLED_WITHIN_S, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


@pytest.fixture(scope="module")
def built(service: TrialService, tmp_path_factory) -> Path:
    """The package, installed, generated and built in a folder of its own."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed.")
    folder = tmp_path_factory.mktemp("typescript") / "client"
    shutil.copytree(ROOT / "studio" / "typescript", folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    run("npm", "install", "--no-audit", "--no-fund", folder=folder)
    run("npm", "run", "generate", "--", f"{service.base_url}/openapi.json", folder=folder)
    run("npm", "run", "build", folder=folder)
    return folder


def test_typescript_client_in_node_converts_waits_and_fetches(built, service):
    shutil.copy(Path(__file__).with_name("convert.mjs"), built)
    given = {"STUDIO_URL": service.base_url, "STUDIO_TOKEN": service.token("typescript"), "RECORDING": str(SPEECH)}
    run("node", "--test", "convert.mjs", folder=built, **given)


def test_typescript_client_takes_any_answer_as_one_service_error(built):
    shutil.copy(Path(__file__).with_name("hostile.mjs"), built)
    streams = TABLE.with_name("event_streams.json")
    with hostile_server() as server:
        run("node", "--test", "hostile.mjs", folder=built, HOSTILE_URL=server.base_url, TABLE=TABLE, STREAMS=streams)
    assert server.elsewhere == []
    assert server.taken_without_end == []


def test_typescript_client_in_a_browser_converts_and_plays(built, service, browser):
    [fetch] = [path for path in (built / "node_modules/openapi-fetch/dist").glob("index.*js") if path.suffix != ".cjs"]
    page = browser.new_page()
    page.route("**/built/", lambda route: route.fulfill(body=_PAGE, content_type="text/html"))
    page.route("**/built/dist/*", lambda route: route.fulfill(path=built / "dist" / route.request.url.split("/")[-1]))
    page.route("**/built/openapi-fetch.js", lambda route: route.fulfill(path=fetch, content_type="text/javascript"))
    page.goto(f"{service.base_url}/built/")
    page.set_default_timeout(WORK_MS)
    recording = base64.b64encode(SPEECH.read_bytes()).decode()
    assert page.evaluate(_PLAY, [service.token("typescript"), recording]) > 1
    page.close()
