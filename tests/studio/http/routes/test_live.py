"""The WebSocket: who may open it, and what the browser is answered; with a session that echoes."""

import json
import threading
from collections import deque

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from studio.errors import NotFound, Unauthorised, Unavailable
from studio.http.routes import live
from studio.http.routes.live import live_route
from studio.settings.service import ServiceSettings
from tests.waiting import PATIENCE_S, wait_until

OWN = {"origin": "http://127.0.0.1", "host": "127.0.0.1"}


class Echo:
    """A session that answers each block with itself, as fast as it may."""

    def __init__(self):
        self.facts = {"block": 4, "rate": 48_000}
        self.changes = deque()
        self.finished = False
        self.may = threading.Event()
        self.may.set()

    def convert(self, block):
        self.may.wait(PATIENCE_S)
        if block == b"dead":
            raise Unavailable("The live conversion has ended unexpectedly. Start it again.", 1.0)
        return block, {"work": 0.1}

    def change(self, values):
        self.changes.append(values)

    def finish(self):
        self.finished = True
        return "task-1"


class Sessions:
    def __init__(self):
        self.session = Echo()

    def open(self, secret, rate):
        if secret != "ticket" or rate != 48_000:
            raise Unauthorised("Press Start again: this session was not asked for, or too long ago.")
        return self.session


@pytest.fixture
def sessions():
    return Sessions()


@pytest.fixture
def exchanges(monkeypatch):
    """What the service holds of each session."""
    found = []

    class Kept(live._Exchange):
        def __init__(self, *given):
            super().__init__(*given)
            found.append(self)

    monkeypatch.setattr(live, "_Exchange", Kept)
    return found


@pytest.fixture
def client(sessions, exchanges):
    with TestClient(Starlette(routes=[live_route(sessions, ServiceSettings())]), "http://127.0.0.1") as client:
        yield client


@pytest.mark.parametrize(
    "headers", [{}, {"origin": "https://evil.example"}, {"origin": "http://evil.example", "host": "evil.example"}]
)
def test_live_refuses_missing_and_foreign_origins_before_opening_a_session(client, sessions, headers):
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/live/ticket", headers=headers):
        pass
    assert not sessions.session.finished


def test_live_returns_numbered_blocks_and_on_stop_the_task_of_the_recording(client, sessions):
    with client.websocket_connect("/live/ticket", headers=OWN) as socket:
        socket.send_json({"rate": 48_000})
        assert socket.receive_json()["ready"]["block"] == 4
        socket.send_json({"change": {"transpose": 2}})
        for number in range(3):
            socket.send_bytes(bytes([number, 0, 0, 0]) + b"sing")
            assert socket.receive_bytes() == bytes([number, 0, 0, 0]) + b"sing"
        assert socket.receive_json()["meter"] == {"work": 0.1, "dropped": 0}
        socket.send_json({"stop": True})
        assert socket.receive_json() == {"finished": {"task": "task-1"}}
    assert list(sessions.session.changes) == [{"transpose": 2}]


def test_live_drops_blocks_that_arrive_too_fast(client, sessions, exchanges):
    sessions.session.may.clear()
    with client.websocket_connect("/live/ticket", headers=OWN) as socket:
        socket.send_json({"rate": 48_000})
        socket.receive_json()
        for number in range(20):
            socket.send_bytes(bytes([number, 0, 0, 0]) + b"sing")
        socket.send_json({"change": {"late": 1}})
        wait_until(lambda: exchanges[0]._changes)  # it has received all
        sessions.session.may.set()
        numbers = [socket.receive_bytes()[0] for _ in range(3)]
        while "dropped" not in (said := json.dumps(socket.receive_json())):
            pass
    assert numbers[-1] >= 18
    assert '"dropped": 0' not in said


@pytest.mark.parametrize(("path", "said"), [("/live/other", {"rate": 48_000}), ("/live/ticket", {"rate": 1})])
def test_live_refuses_an_unknown_ticket_or_rate_with_an_error(client, path, said):
    with client.websocket_connect(path, headers=OWN) as socket:
        socket.send_json(said)
        assert "Press Start again" in socket.receive_json()["error"]


def test_live_reports_a_failed_conversion_and_an_invalid_message(client, sessions):
    with client.websocket_connect("/live/ticket", headers=OWN) as socket:
        socket.send_json({"rate": 48_000})
        socket.receive_json()
        socket.send_bytes(b"\0\0\0\0dead")
        assert "ended unexpectedly" in socket.receive_json()["error"]
    wait_until(lambda: sessions.session.finished)  # after the browser's side has closed
    with client.websocket_connect("/live/ticket", headers=OWN) as socket:
        socket.send_text("[1]")
        assert "something else" in socket.receive_json()["error"]


def test_live_drops_old_blocks_after_a_network_stall_and_continues(client, sessions, exchanges):
    sessions.session.may.clear()  # what comes in a burst after the stall finds the conversion busy
    with client.websocket_connect("/live/ticket", headers=OWN) as socket:
        socket.send_json({"rate": 48_000})
        socket.receive_json()
        for number in range(25):  # 2 s of blocks of 80 ms
            socket.send_bytes(bytes([number, 0, 0, 0]) + b"sing")
        wait_until(lambda: exchanges[0]._blocks and exchanges[0]._blocks[-1][0] == 24)
        sessions.session.may.set()
        numbers = []
        while not numbers or numbers[-1] < 24:
            message = socket.receive()
            if message.get("bytes"):
                numbers.append(message["bytes"][0])
        assert len(numbers) <= 5  # the one at work, three that waited, one that had come in between
        assert numbers == sorted(numbers)
        socket.send_bytes(bytes([25, 0, 0, 0]) + b"sing")
        while not (message := socket.receive()).get("bytes"):
            pass
        assert message["bytes"] == bytes([25, 0, 0, 0]) + b"sing"
    wait_until(lambda: sessions.session.finished)  # after the browser's side has closed


def test_live_finishes_the_session_when_the_browser_leaves_during_a_block(client, sessions):
    with client.websocket_connect("/live/ticket", headers=OWN) as socket:
        socket.send_json({"rate": 48_000})
        socket.receive_json()
        sessions.session.may.clear()
        socket.send_bytes(b"\0\0\0\0sing")
        socket.close()
        sessions.session.may.set()
    wait_until(lambda: sessions.session.finished)  # after the browser's side has closed


def test_live_sends_a_notice_for_an_unknown_voice_and_continues(client, sessions, monkeypatch):
    def change(values):
        raise NotFound("There is no voice nobody.")

    monkeypatch.setattr(sessions.session, "change", change)
    with client.websocket_connect("/live/ticket", headers=OWN) as socket:
        socket.send_json({"rate": 48_000})
        socket.receive_json()
        socket.send_json({"change": {"voice": "nobody"}})
        assert socket.receive_json() == {"notice": "There is no voice nobody."}
        socket.send_bytes(b"\7\0\0\0sing")
        assert socket.receive_bytes() == b"\7\0\0\0sing"
