"""Bodies without an end, to every address there is: each is answered early and cut, whoever sends it."""

import select
import socket
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest

from studio.load.trial_service import TrialService, trial_service
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.system

HOST = "voices.example"
SERVICES = {
    "local": {},
    "public": {"host": "0.0.0.0", "base_url": f"https://{HOST}"},
    "demo": {"demo": "on", "api": "on", "largest_upload_mb": 1},
}
# but for uploads to the page, which on this machine may have any size: tests/studio/page/test_body_limits.py
PAGE = """
    / /login /logout /config /nothing /static/x /assets/x /page-files/page.css /demo-voices/x
    /page-languages/de.json /live/x /monitoring /run/predict /upload /token /theme.css
    /gradio_api/upload_progress /gradio_api/queue/join /gradio_api/queue/data /gradio_api/queue/status
    /gradio_api/cancel /gradio_api/reset /gradio_api/heartbeat/a /gradio_api/file=x /gradio_api/info
    /gradio_api/app_id /gradio_api/startup-events /gradio_api/run/predict /gradio_api/call/x
    /gradio_api/component_server /gradio_api/stream/a/b/c /gradio_api/process_recording /gradio_api/nothing
""".split()
# of what the body begins with, and goes on with for ever
KINDS = {
    "multipart/form-data; boundary=b": (b'--b\r\nContent-Disposition: form-data; name="f"; filename="x"\r\n\r\n', b"y"),
    "application/json": (b'{"session_hash": "a", "data": ["', b"y"),
    "application/x-www-form-urlencoded": (b"username=", b"y"),
    "multipart/mixed; boundary=b": (b"", b'--b\r\nContent-Disposition: form-data; name="f"\r\n\r\n\r\n'),
}
PIECE = 64 << 10  # bytes
MOST = 24 << 20  # bytes: four events of the page, or the buffers of both sides


@pytest.fixture(scope="module", params=SERVICES)
def service(request, tmp_path_factory) -> Iterator[TrialService]:
    home = tmp_path_factory.mktemp(request.param) / "home"
    given = {"largest_upload_mb": 4, "submissions_per_minute": 1_000_000} | SERVICES[request.param]
    with trial_service(home, executor="none", **given) as started:
        yield started


def answered(service: TrialService, method: str, path: str, kind: str, token: str) -> tuple[str, int]:
    """The head of the answer, and how many bytes were sent until it came."""
    address = httpx.URL(service.base_url)
    host, scheme = address.netloc.decode(), "http"
    if "TIMBRE_STUDIO_BASE_URL" in service.environment:
        host, scheme = HOST, "https"
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {scheme}://{host}\r\nContent-Type: {kind}\r\n"
    head += f"Transfer-Encoding: chunked\r\nAuthorization: Bearer {token}\r\n\r\n"
    begin, more = KINDS[kind]
    pieces = (more * (PIECE // len(more)) for _ in range(MOST // PIECE))
    sent = 0
    with socket.create_connection((address.host, address.port), PATIENCE_S) as connection:
        connection.sendall(head.encode())
        with suppress(ConnectionError):  # as clients do: what was answered before it was cut can still be read
            for piece in filter(None, (begin, *pieces)):
                if select.select([connection], [], [], 0)[0]:
                    break
                connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
                sent += len(piece)
        answer = b""
        while b"\r\n\r\n" not in answer and (some := connection.recv(4096)):
            answer += some
    return answer.decode("latin-1").partition("\r\n\r\n")[0], sent


def test_every_address_cuts_a_body_without_an_end(service):
    """/login read 300 MB to their end, on this machine and in a demo into the memory and the disk of Gradio's own."""
    spec = httpx.get(f"{service.base_url}/openapi.json", trust_env=False, timeout=PATIENCE_S)
    paths = spec.json()["paths"] if spec.is_success else {"/convert": 0}  # others may not read it
    named = {path.replace("{number}", "1").translate({ord("{"): None, ord("}"): None}) for path in paths}
    token = service.token()
    first, *_ = KINDS
    for path in (*PAGE, *sorted(named)):
        for method, kind in (*(("POST", kind) for kind in KINDS), ("PUT", first), ("GET", first)):
            head, sent = answered(service, method, path, kind, token)
            case = (method, path, kind, head)
            assert sent < MOST, case
            assert 400 <= int(head.split(" ")[1]) < 500 or method == "GET" or path == "/logout", case
            assert "\nconnection: close" in head.lower(), case
    assert "Traceback" not in service.log.read_text()
