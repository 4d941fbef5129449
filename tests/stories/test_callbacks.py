"""A callback of a service that is killed meanwhile: it comes after the restart, signed, with the takes."""

import base64
import hmac
import json
import queue
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

import engine
from tests.load.trial_service import trial_service
from tests.waiting import PATIENCE_S

SPEECH = Path(engine.__path__[0]) / "samples" / "speech.flac"

pytestmark = pytest.mark.system


class Receiver(BaseHTTPRequestHandler):
    """Refuses the first attempt."""

    def do_POST(self):
        self.server.got.put((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
        self.server.attempts += 1
        self.send_response(503 if self.server.attempts == 1 else 204)
        self.end_headers()

    def log_message(self, *said):
        pass


@pytest.fixture
def receiver():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.got, server.attempts = queue.Queue(), 0
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_callback_survives_a_kill_and_comes_again_until_it_is_accepted(receiver, tmp_path):
    url = f"http://127.0.0.1:{receiver.server_port}/done"
    with trial_service(tmp_path / "home", executor="none", page="off", callbacks="any") as service:
        headers = {"Authorization": f"Bearer {service.token()}"}
        with httpx.Client(base_url=service.base_url, headers=headers, trust_env=False, timeout=PATIENCE_S) as client:
            files, data = {"audio": SPEECH.read_bytes()}, {"model": "kathleen", "callback_url": url}
            task_id = client.post("/convert", files=files, data=data).json()["task_id"]
            secret = client.get("/callbacks/secret").json()["secret"]
        service.process.send_signal(signal.SIGKILL)
        service.process.wait(PATIENCE_S)
    assert receiver.got.empty()
    with trial_service(tmp_path / "home", page="off", callbacks="any") as service:
        attempts = [receiver.got.get(timeout=PATIENCE_S) for _ in range(2)]
        for headers, body in attempts:
            names = {name.lower(): value for name, value in headers.items()}
            signed = f"{names['webhook-id']}.{names['webhook-timestamp']}.".encode() + body
            key = base64.b64decode(secret.removeprefix("whsec_"))
            expected = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
            assert names["webhook-signature"] == f"v1,{expected}"
        event = json.loads(attempts[1][1])
        assert (event["type"], event["data"]["id"]) == ("task.completed", task_id)
        take = event["data"]["output_audio_urls"][0].split("/files/")[1]
        assert httpx.get(f"{service.base_url}/files/{take}", trust_env=False).content[:4] == b"RIFF"
