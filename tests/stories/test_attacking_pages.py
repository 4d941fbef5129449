"""Pages of other sites attack somebody who is logged in: real Chromium, over TLS, with several host names.

`evil.test` is another site, `blog.studio.test` a sibling of the studio's own host, to which browsers send its cookies.
"""

import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

from studio.load.trial_service import TrialService, trial_service
from tests.browsers import chromium_program
from tests.proxies import free_port
from tests.waiting import PATIENCE_S, WORK_MS, wait_until

pytestmark = pytest.mark.slow

OWN, SIBLING, FOREIGN = "voices.studio.test", "blog.studio.test", "evil.test"
ATTACKERS = [SIBLING, FOREIGN]
CREATE_TOKEN = """async () => {
  const config = await (await fetch("/config")).json();
  const { id } = config.components.find((one) => one.props.value === "Create token");
  const event = config.dependencies.find((one) => one.targets.some(([at, name]) => at === id && name === "click"));
  return { id: event.id, name: event.inputs[0] };
}"""
ATTACK = """async ([target, event]) => {
  const results = {}, session_hash = Math.random().toString(36).slice(2);
  const call = JSON.stringify({ fn_index: event.id, data: ["stolen", "never"], session_hash, trigger_id: null });
  const tried = async (name, attempt) => {
    try { results[name] = await attempt(); } catch (refused) { results[name] = String(refused); }
  };
  const read = async (path, options = {}) =>
    (await fetch(target + path, { credentials: "include", ...options, signal: AbortSignal.timeout(5000) })).text();
  const blindly = (path, options = {}) => read(path, { mode: "no-cors", ...options });
  await tried("session", () => read("/gradio_api/token"));
  await tried("page", () => read("/config"));
  const headers = { "Content-Type": "application/json" };
  await tried("preflighted", () => read("/gradio_api/queue/join", { method: "POST", headers, body: call }));
  await tried("created", () => read("/gradio_api/queue/data?session_hash=" + session_hash));
  await tried("unseen", () => blindly("/gradio_api/queue/join", { method: "POST", body: call }));
  const form = new FormData();
  form.append("files", new Blob(["left by another site"]), "left.wav");
  await tried("uploaded", () => blindly("/gradio_api/upload", { method: "POST", body: form }));
  await tried("logged out", () => blindly("/logout"));
  await tried("posted", () => blindly("/logout", { method: "POST" }));
  return results;
}"""


def nginx_configuration(folder: Path, port: int, service: TrialService) -> str:
    own_host = f"proxy_pass {service.base_url}; proxy_buffering off; proxy_set_header Host $http_host;"
    tls = f"listen 127.0.0.1:{port} ssl; ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;"
    return f"""daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log; events {{}}
    http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
      fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
      server {{ {tls} server_name {OWN}; location / {{ {own_host} proxy_set_header X-Forwarded-Proto https; }} }}
      server {{ {tls} server_name {" ".join(ATTACKERS)};
        location / {{ default_type text/html; return 200 "<title>Another site</title>"; }} }} }}"""


@pytest.fixture
def context(tmp_path) -> Iterator[BrowserContext]:
    """Chromium with a profile, where third-party cookies are allowed, that finds all `.test` hosts on this machine."""
    options = ["--no-sandbox", "--ignore-certificate-errors", "--host-resolver-rules=MAP *.test 127.0.0.1"]
    preferences = tmp_path / "profile" / "Default" / "Preferences"
    preferences.parent.mkdir(parents=True)
    preferences.write_text(json.dumps({"profile": {"block_third_party_cookies": False, "cookie_controls_mode": 0}}))
    expect.set_options(timeout=WORK_MS)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch_persistent_context(
            tmp_path / "profile", executable_path=chromium_program(), args=options
        )
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def studio(tmp_path_factory) -> Iterator[tuple[str, TrialService]]:
    """The public address of a service behind TLS, and the service."""
    nginx, openssl = shutil.which("nginx", path="/usr/sbin:/usr/bin"), shutil.which("openssl")
    if nginx is None or openssl is None:
        pytest.skip("There is no nginx or no openssl here (apt install nginx-light openssl)")
    folder, port = tmp_path_factory.mktemp("tls"), free_port()
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=studio.test"),
            *("-keyout", folder / "key.pem", "-out", folder / "cert.pem"),
        ],
        check=True,
        capture_output=True,
    )
    address = f"https://{OWN}:{port}"
    with trial_service(folder / "home", executor="none", base_url=address) as service:
        (folder / "nginx.conf").write_text(nginx_configuration(folder, port, service))
        running = subprocess.Popen([nginx, "-c", folder / "nginx.conf", "-p", folder])
        try:
            wait_until(lambda: accepts(port))
            yield address, service
        finally:
            running.terminate()
            running.wait(PATIENCE_S)


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def logged_in(context: BrowserContext, address: str, token: str) -> Page:
    page = context.new_page()
    page.goto(address)
    page.get_by_label("Account").fill("band")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("tab", name="Convert", exact=True).wait_for()
    return page


@pytest.mark.parametrize("attacker", ATTACKERS)
def test_page_of_another_site_cannot_read_create_upload_or_log_out(context, studio, attacker):
    address, service = studio
    token = service.token("band")
    victim = logged_in(context, address, token)
    tokens = service.command("token", "list")
    elsewhere = context.new_page()
    elsewhere.goto(address.replace(OWN, attacker))
    results = elsewhere.evaluate(ATTACK, [address, victim.evaluate(CREATE_TOKEN)])
    assert [text for text in results.values() if text and "TypeError" not in text and "Timeout" not in text] == []
    assert service.command("token", "list") == tokens
    assert not list((service.home / "work" / "page").rglob("left.wav"))
    victim.reload()
    victim.get_by_role("tab", name="Convert", exact=True).wait_for()  # still logged in


def test_page_on_another_local_port_cannot_read_create_or_upload(context, tmp_path):
    """Another program's page, such as a notebook that shows somebody's output; no token is asked for here."""
    (tmp_path / "index.html").write_text("<title>Another program</title>")
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), handler) as other,
        trial_service(tmp_path / "home", executor="none") as service,
    ):
        threading.Thread(target=other.serve_forever, daemon=True).start()
        address = service.base_url.replace("127.0.0.1", "localhost")
        victim, elsewhere = context.new_page(), context.new_page()
        victim.goto(address)
        elsewhere.goto(f"http://localhost:{other.server_port}/")
        results = elsewhere.evaluate(ATTACK, [address, victim.evaluate(CREATE_TOKEN)])
        assert not [text for text in results.values() if text and "TypeError" not in text]
        assert "stolen" not in service.command("token", "list")
        assert not list((service.home / "work" / "page").rglob("left.wav"))
        other.shutdown()


@pytest.mark.parametrize("attacker", ATTACKERS)
def test_page_of_another_site_cannot_show_the_studio_in_a_frame(context, studio, attacker):
    address, service = studio
    logged_in(context, address, service.token("band"))
    elsewhere = context.new_page()
    elsewhere.goto(address.replace(OWN, attacker))
    elsewhere.evaluate("address => { document.body.innerHTML = `<iframe src='${address}'></iframe>`; }", address)
    elsewhere.wait_for_timeout(1500)
    assert "chrome-error" in elsewhere.frames[1].evaluate("location.href")


def test_link_on_another_site_opens_the_studio_logged_in(context, studio):
    address, service = studio
    logged_in(context, address, service.token("band"))
    elsewhere = context.new_page()
    elsewhere.goto(address.replace(OWN, FOREIGN))
    elsewhere.evaluate("address => { document.body.innerHTML = `<a href='${address}'>Studio</a>`; }", address)
    elsewhere.get_by_role("link").click()
    expect(elsewhere.get_by_role("tab", name="Convert", exact=True)).to_be_visible()
    cookies = {one["name"]: one for one in context.cookies()}
    assert {(one["sameSite"], one["secure"], one["httpOnly"]) for one in cookies.values()} == {("Lax", True, True)}
    assert json.dumps(cookies).count("voices.studio.test") == len(cookies)
