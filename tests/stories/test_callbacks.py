"""A callback of a service that is killed meanwhile: it comes after the restart, signed, with the takes; accepted and
recorded it never comes again, accepted and not recorded once more under its id."""

import base64
import hmac
import json
import queue
import signal
import sqlite3
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

import engine
from studio.load.trial_service import trial_service
from tests.servers import serving
from tests.waiting import PATIENCE_S, wait_until

SPEECH = Path(engine.__path__[0]) / "samples" / "speech.flac"

pytestmark = pytest.mark.system


class Receiver(BaseHTTPRequestHandler):
    """Answers the first attempt with a status of its own."""

    def do_POST(self):
        self.server.got.put((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
        self.server.attempts += 1
        self.server.before_answer()
        self.send_response(self.server.first if self.server.attempts == 1 else 204)
        self.end_headers()

    def log_message(self, *said):
        pass


@pytest.fixture
def receiver():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.got, server.attempts, server.first, server.before_answer = queue.Queue(), 0, 503, lambda: None
    with serving(server):
        yield server


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


def test_callback_comes_again_after_a_kill_only_if_its_acceptance_was_not_recorded(receiver, tmp_path):
    url, home = f"http://127.0.0.1:{receiver.server_port}/done", tmp_path / "home"
    home.mkdir()
    lock = sqlite3.connect(home / "studio.sqlite", check_same_thread=False, isolation_level=None, timeout=PATIENCE_S)
    receiver.first, receiver.before_answer = 204, lambda: lock.execute("BEGIN IMMEDIATE")
    started = partial(trial_service, home, executor="none", page="off", callbacks="any")
    with started() as service:
        token = service.token()
        cancelled_conversion(service.base_url, token, url)
        first, _ = receiver.got.get(timeout=PATIENCE_S)
        service.process.send_signal(signal.SIGKILL)  # its record waits for the lock
        service.process.wait(PATIENCE_S)
    receiver.before_answer = lambda: None
    lock.execute("ROLLBACK")
    assert lock.execute("SELECT state, attempts FROM deliveries").fetchall() == [("waiting", 1)]
    lock.execute("UPDATE deliveries SET next_at = 0")  # as a minute later
    with started() as service:
        again, _ = receiver.got.get(timeout=PATIENCE_S)
        assert again["webhook-id"] == first["webhook-id"]
        wait_until(lambda: lock.execute("SELECT state FROM deliveries").fetchall() == [("delivered",)])
        service.process.send_signal(signal.SIGKILL)
        service.process.wait(PATIENCE_S)
    lock.execute("UPDATE deliveries SET next_at = 0")
    with started() as service:
        cancelled_conversion(service.base_url, token, f"{url}/another")
        another, _ = receiver.got.get(timeout=PATIENCE_S)
        assert another["webhook-id"] != first["webhook-id"]
        assert receiver.got.empty()
    lock.close()


def cancelled_conversion(base_url: str, token: str, url: str) -> None:
    """Let a conversion end at once."""
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=base_url, headers=headers, trust_env=False, timeout=PATIENCE_S) as client:
        files, data = {"audio": SPEECH.read_bytes()}, {"model": "kathleen", "callback_url": url}
        task_id = client.post("/convert", files=files, data=data).json()["task_id"]
        assert client.delete(f"/tasks/{task_id}").json()["state"] == "cancelled"
