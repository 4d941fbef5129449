"""The WebSocket: who may open it, and what the browser is answered; with a session that echoes."""

import asyncio
import threading
from collections import deque
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.websockets import WebSocketDisconnect

from engine.errors import SettingsError
from studio.errors import NotFound, Unauthorised, Unavailable
from studio.http import rights
from studio.http.rights import RightsWatch
from studio.http.routes import live
from studio.http.routes.live import live_route
from studio.settings.service import ServiceSettings
from studio.store.accounts import Account
from tests.waiting import PATIENCE_S, wait_until

ACCOUNT = Account("mia's", "mia")
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

    @contextmanager
    def admitted(self, secret):
        if secret != "ticket":
            raise Unauthorised("Press Start again: this session was not asked for, or too long ago.", "live_ticket")
        yield SimpleNamespace(account=ACCOUNT)

    def open(self, ticket, rate):
        if rate != 48_000:
            raise SettingsError(f"Live conversion takes 8,000 to 192,000 samples a second, not {rate}.")
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
    with served(sessions) as client:
        yield client


def served(sessions, *given) -> TestClient:
    route = live_route(sessions, ServiceSettings(), *(given or [RightsWatch(SimpleNamespace(is_sqlite=True))]))
    return TestClient(Starlette(routes=[route]), "http://127.0.0.1")


@contextmanager
def begun(client):
    """A session that is ready for sound."""
    with client.websocket_connect("/live/ticket", headers=OWN) as socket:
        socket.send_json({"rate": 48_000})
        assert socket.receive_json()["ready"] == {"block": 4, "rate": 48_000}
        yield socket


@pytest.fixture(autouse=True)
def valid(monkeypatch):
    """The tokens and accounts that are valid."""
    found = {ACCOUNT.id, "token"}
    monkeypatch.setattr(rights, "valid_among", lambda database, holders: found & holders)
    return found


@pytest.mark.parametrize(
    "headers", [{}, {"origin": "https://evil.example"}, {"origin": "http://evil.example", "host": "evil.example"}]
)
def test_live_refuses_missing_and_foreign_origins_before_opening_a_session(client, sessions, headers):
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/live/ticket", headers=headers):
        pass
    assert not sessions.session.finished


def test_live_returns_numbered_blocks_and_on_stop_the_task_of_the_recording(client, sessions):
    with begun(client) as socket:
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
    with begun(client) as socket:
        for number in range(20):
            socket.send_bytes(bytes([number, 0, 0, 0]) + b"sing")
        socket.send_json({"change": {"late": 1}})
        wait_until(lambda: exchanges[0]._changes)  # it has received all
        sessions.session.may.set()
        answers = [(socket.receive_bytes()[0], socket.receive_json()["meter"]["dropped"]) for _ in range(3)]
    assert answers[-1][0] >= 18
    assert answers[-1][1] > 0


def test_live_refuses_an_unknown_ticket_before_accepting_it(client):
    with pytest.raises(WebSocketDenialResponse) as refusal, client.websocket_connect("/live/other", headers=OWN):
        pass
    assert refusal.value.status_code == 401
    assert refusal.value.json()["code"] == "live_ticket"


def test_live_refuses_a_rate_with_the_sentence_of_the_engine(client):
    with client.websocket_connect("/live/ticket", headers=OWN) as socket:
        socket.send_json({"rate": 1})
        assert "8,000 to 192,000" in socket.receive_json()["error"]


GARBAGE = {"infinite": '{"rate": 1e400}', "long": f'{{"rate": {"9" * 5000}}}', "not a number": '{"rate": NaN}'}
GARBAGE |= {"list": '{"rate": []}', "cut": '{"rate": ', "none": "", "null": "null", "binary": b"\1\2"}
GARBAGE |= {"deep": "[" * 50_000}


@pytest.mark.parametrize("said", GARBAGE.values(), ids=GARBAGE)
def test_live_answers_garbage_with_a_sentence_and_logs_nothing(client, said, caplog):
    """A rate of 1e400 and 50,000 brackets were tracebacks."""
    for is_running in (False, True):
        with client.websocket_connect("/live/ticket", headers=OWN) as socket:
            if is_running:
                socket.send_json({"rate": 48_000})
                socket.receive_json()
            if isinstance(said, bytes):
                socket.send_bytes(said)
            else:
                socket.send_text(said.replace("rate", "change") if is_running else said)
            if not (is_running and isinstance(said, bytes)):  # which is a block, if a short one
                assert "cannot use" in socket.receive_json()["error"]
    assert not caplog.records


def test_live_merges_changes_that_wait_and_refuses_too_many(client, sessions, exchanges):
    sessions.session.may.clear()
    with begun(client) as socket:
        socket.send_bytes(b"\0\0\0\0sing")  # which is not answered yet
        for number in range(100):
            socket.send_json({"change": {"transpose": number, "accent": None}})
        wait_until(lambda: exchanges[0]._changes.get("transpose") == 99)
        assert len(exchanges[0]._changes) == 2
        socket.send_json({"change": {str(number): 1 for number in range(1000)}})
        sessions.session.may.set()
        while "error" not in (said := socket.receive()).get("text", ""):
            pass
    assert "cannot use" in said["text"]


def test_live_lets_go_of_a_browser_that_says_nothing_or_sends_far_too_little(client, sessions, monkeypatch):
    monkeypatch.setattr(live, "_HELLO_S", 0.0)
    with client.websocket_connect("/live/ticket", headers=OWN) as socket:
        assert socket.receive()["type"] == "websocket.close"
    monkeypatch.undo()
    monkeypatch.setattr("studio.http.uploads.PACE_S", 0.0)  # so that any wait is a whole one
    with begun(client) as socket:
        wait_until(lambda: sessions.session.finished or not socket.send_json({"change": {"accent": 1.0}}))
        assert {"finished": {"task": "task-1"}} in iter(socket.receive_json, None)


def test_live_reports_a_failed_conversion_and_an_invalid_message(client, sessions):
    with begun(client) as socket:
        socket.send_bytes(b"\0\0\0\0dead")
        assert "ended unexpectedly" in socket.receive_json()["error"]
    wait_until(lambda: sessions.session.finished)  # after the browser's side has closed
    with client.websocket_connect("/live/ticket", headers=OWN) as socket:
        socket.send_text("[1]")
        assert "cannot use" in socket.receive_json()["error"]


def test_live_drops_old_blocks_after_a_network_stall_and_continues(client, sessions, exchanges):
    sessions.session.may.clear()  # what comes in a burst after the stall finds the conversion busy
    with begun(client) as socket:
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
    with begun(client) as socket:
        sessions.session.may.clear()
        socket.send_bytes(b"\0\0\0\0sing")
        socket.close()
        sessions.session.may.set()
    wait_until(lambda: sessions.session.finished)  # after the browser's side has closed


def test_live_sends_a_notice_for_an_unknown_voice_and_continues(client, sessions, monkeypatch):
    def change(values):
        raise NotFound("There is no voice nobody.")

    monkeypatch.setattr(sessions.session, "change", change)
    with begun(client) as socket:
        socket.send_json({"change": {"voice": "nobody"}})
        assert socket.receive_json() == {"notice": "There is no voice nobody."}
        socket.send_bytes(b"\7\0\0\0sing")
        assert socket.receive_bytes() == b"\7\0\0\0sing"


def test_exchange_that_is_cancelled_leaves_no_task_behind():
    """The end of a server cancelled it, and what its receiver raised afterwards was a traceback in the log."""

    class Silent:
        def __init__(self):
            self.facts = {"rate": 48_000}

        async def receive(self):
            await asyncio.Event().wait()

    async def cancelled() -> set[asyncio.Task[object]]:
        running = asyncio.create_task(live._Exchange(Silent(), Silent()).run())
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(cancelled()) == set()


# ---- rights


@pytest.mark.parametrize("gone", ["token", ACCOUNT.id])
def test_live_ends_with_the_token_and_the_account(sessions, valid, monkeypatch, gone):
    """It went on for as long as somebody sang."""
    monkeypatch.setattr(rights, "LOOK_S", 0.01)
    watch = RightsWatch(SimpleNamespace(is_sqlite=True))
    with served(sessions, watch, lambda scope, account: "token") as client, begun(client) as socket:
        socket.send_bytes(bytes(4) + b"sing")
        assert socket.receive_bytes()
        assert socket.receive_json()["meter"]
        valid.discard(gone)
        assert "was revoked" in socket.receive_json()["error"]
        assert socket.receive_json() == {"finished": {"task": "task-1"}}  # what was sung before is kept
    assert sessions.session.finished
    assert not watch._open


def test_live_refuses_a_ticket_that_comes_without_its_log_in(sessions):
    def token_of(scope, account):
        raise Unauthorised("You are not logged in.", "log_in")

    with (
        served(sessions, RightsWatch(SimpleNamespace(is_sqlite=True)), token_of) as client,
        pytest.raises(WebSocketDenialResponse) as refusal,
        client.websocket_connect("/live/ticket", headers=OWN),
    ):
        pass
    assert (refusal.value.status_code, refusal.value.json()["code"]) == (401, "log_in")
