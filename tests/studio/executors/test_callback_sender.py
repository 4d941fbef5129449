"""Callbacks: what receivers get, and what becomes of it when they refuse, redirect, dawdle or are not allowed."""

import asyncio
import base64
import hmac
import itertools
import json
import socketserver
import threading
from contextlib import suppress

import httpx
import pytest
import structlog
from sqlalchemy import update

from engine.errors import SettingsError
from studio.actions.tasks import task_view
from studio.errors import Unavailable
from studio.executors import callback_sender as module
from studio.executors.callback_sender import CallbackSender
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store.accounts import create_account
from studio.store.callback_signatures import secret_of_account
from studio.store.deliveries import find_delivery, promise_delivery, take_due
from studio.store.studio import open_studio
from studio.store.tables import deliveries
from studio.store.tasks import remove, request_cancel, submit
from tests.servers import serving
from tests.waiting import PATIENCE_S, wait_until

NOW_S = 1_700_000_000.0
URL = "https://example.com/done"


@pytest.fixture
def studio(tmp_path):
    opened = open_studio(Settings(tmp_path), ServiceSettings())
    yield opened
    opened.close()


def view(studio, account, task_id, base_url, now_s):
    link = f"{base_url}/{now_s:.0f}"
    return {"id": task_id, "state": "completed", "finished_at": "then", "link": link, "who": account.name}


def promised(studio, url=URL, account=None) -> str:
    account_id = (account or studio.local).id
    with studio.database.write() as connection:
        task_id = submit(connection, account_id, "conversion", {})
    request_cancel(studio.database, account_id, task_id)
    with studio.database.write() as connection:
        return promise_delivery(connection, account_id, task_id, url, "http://studio")


def sent(studio, answer, shown=view):
    """Deliver what is due to a receiver that answers so; return what it got."""
    got = []

    def receive(request: httpx.Request) -> httpx.Response:
        got.append(request)
        return answer(request) if callable(answer) else httpx.Response(answer)

    deliver(studio, lambda: httpx.MockTransport(receive), shown)
    return got


def deliver(studio, transport=None, shown=view) -> None:
    """Send what is due, to its end."""
    sender = CallbackSender(studio, shown, structlog.get_logger("test"), lambda: NOW_S, transport)
    sender.begin_due()
    sender.close()


def state_of(studio, delivery_id, account=None):
    found = find_delivery(studio.database, (account or studio.local).id, delivery_id)
    return found.state, found.status, found.error


def test_begin_due_posts_the_task_signed_with_the_accounts_secret(studio):
    delivery_id = promised(studio)
    [request] = sent(studio, 204)
    assert (request.method, str(request.url)) == ("POST", URL)
    task = json.loads(request.content)
    assert (task["type"], task["timestamp"]) == ("task.completed", "then")
    assert (task["data"]["link"], task["data"]["who"]) == ("http://studio/1700000000", "local")
    key = base64.b64decode(secret_of_account(studio.link_secret, studio.local.id).removeprefix("whsec_"))
    signed = f"{delivery_id}.{NOW_S:.0f}.".encode() + request.content
    expected = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    assert request.headers["webhook-signature"] == f"v1,{expected}"
    assert request.headers["webhook-timestamp"] == "1700000000"
    assert request.headers["content-type"] == "application/json"
    assert state_of(studio, delivery_id) == ("delivered", 204, None)
    assert sent(studio, 204) == []


@pytest.mark.parametrize("status", [302, 307, 400, 404, 500])
def test_begin_due_tries_again_after_a_refusal_and_follows_no_redirect(studio, status):
    delivery_id = promised(studio)
    answer = httpx.Response(status, headers={"Location": "http://127.0.0.1/"})
    assert len(sent(studio, lambda request: answer)) == 1
    assert state_of(studio, delivery_id) == ("waiting", status, f"The address answered with status {status}.")
    assert sent(studio, 200) == []  # not yet
    with studio.database.write() as connection:
        connection.execute(update(deliveries).values(next_at=0.0))
    assert len(sent(studio, 200)) == 1
    assert state_of(studio, delivery_id)[0] == "delivered"


def test_begin_due_gives_up_where_the_address_says_that_it_is_gone(studio):
    delivery_id = promised(studio)
    sent(studio, 410)
    assert state_of(studio, delivery_id)[0] == "failed"


def test_begin_due_gives_up_for_addresses_that_lead_inside_and_deleted_tasks(studio):
    def refuse(request):
        raise SettingsError("The address leads to a private network.")

    delivery_id = promised(studio)
    sent(studio, refuse)
    assert state_of(studio, delivery_id) == ("failed", None, "The address leads to a private network.")
    other = promised(studio)
    remove(studio.database, studio.local.id, find_delivery(studio.database, studio.local.id, other).task_id)
    assert sent(studio, 200, task_view) == []
    assert state_of(studio, other)[0] == "failed"


def test_begin_due_tries_again_where_nobody_answers_or_too_slowly(studio, monkeypatch):
    def unreachable(request):
        raise httpx.ConnectError("no route")

    delivery_id = promised(studio)
    sent(studio, unreachable)
    assert state_of(studio, delivery_id) == ("waiting", None, "The address cannot be reached.")

    async def dawdle(request):
        await asyncio.Event().wait()

    monkeypatch.setattr(module, "_PATIENCE_S", 0.01)
    slow = promised(studio)
    deliver(studio, lambda: httpx.MockTransport(dawdle))
    assert state_of(studio, slow) == ("waiting", None, "The address did not answer within 0.01 s.")


def test_begin_due_survives_a_bug_with_one_delivery(studio):
    broken, fine = promised(studio), promised(studio)
    of_broken = find_delivery(studio.database, studio.local.id, broken).task_id

    def shown(studio, account, task_id, base_url, now_s):
        return {} if task_id == of_broken else view(studio, account, task_id, base_url, now_s)

    sent(studio, 200, shown)
    assert state_of(studio, broken)[2].startswith("Something went wrong in the studio.")
    assert state_of(studio, fine)[0] == "delivered"


def test_begin_due_calls_this_machine_only_where_the_host_allows_it(studio):
    delivery_id = promised(studio, "http://127.0.0.1:9/")
    deliver(studio)
    assert state_of(studio, delivery_id)[0] == "failed"


# ---- accounts beside each other


@pytest.fixture
def sender(studio):
    """A sender whose receivers never answer, but for those at `live`; it ends them at the end."""
    ends = asyncio.Event()

    async def receive(request):
        if request.url.host.startswith("dead"):
            await ends.wait()
        return httpx.Response(204)

    log = structlog.get_logger("test")
    made = CallbackSender(studio, view, log, lambda: NOW_S, lambda: httpx.MockTransport(receive))
    yield made
    if made._loop is not None:
        made._loop.call_soon_threadsafe(ends.set)
    made.close()


def test_begin_due_sends_anothers_at_once_beside_receivers_that_never_answer(studio, sender):
    """200 of them held every delivery, as the first 200 were looked at before accounts took turns."""
    for number in range(210):
        promised(studio, f"https://dead.example.com/{number}")
    assert sender.begin_due() == module._OF_ACCOUNT
    assert sender.begin_due() == 0  # as many as the account may have
    other = create_account(studio.database, "other")
    delivery_id = promised(studio, account=other)
    assert sender.begin_due() == 1
    wait_until(lambda: state_of(studio, delivery_id, other)[0] == "delivered")
    assert sum(sender._under_way.values()) == module._OF_ACCOUNT


def test_begin_due_gives_an_account_its_places_back(studio, sender):
    for number in range(9):
        promised(studio, f"https://live.example.com/{number}")
    sent_in_all = 0

    def all_sent():
        nonlocal sent_in_all
        sent_in_all += sender.begin_due()
        return sent_in_all == 9

    wait_until(all_sent)


def test_look_ups_that_hang_hold_nobody_elses(studio, monkeypatch):
    """Look-ups share few threads, of which an account has fewer."""
    hangs, places = threading.Event(), {"live.example.com": ["127.0.0.1"]}

    def look_up(host, port):
        if host not in places:
            hangs.wait(PATIENCE_S)
        return places.get(host, [])

    monkeypatch.setattr(module, "looked_up", look_up)
    made = CallbackSender(studio, view, structlog.get_logger("test"), lambda: NOW_S)
    other = create_account(studio.database, "other")
    for number in range(8):
        promised(studio, f"https://dead-{number}.example.com/")
    try:
        made.begin_due()
        delivery_id = promised(studio, "https://live.example.com/", other)
        made.begin_due()
        wait_until(lambda: state_of(studio, delivery_id, other)[0] == "failed")  # looked up, and refused as private
    finally:
        hangs.set()
        made.close()


# ---- receivers as they are


@pytest.fixture
def receiver():
    """A receiver on this machine that says `said`, piece by piece, until the other side has gone."""
    stops = threading.Event()

    class Receiver(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(1 << 16)
            with suppress(OSError):
                for piece in self.server.said():
                    self.request.sendall(piece)
                    self.server.sent += len(piece)
                    if stops.wait(0.0):
                        return

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Receiver)
    server.daemon_threads, server.sent = True, 0
    with serving(server):
        yield server
        stops.set()


HEAD = b"HTTP/1.1 %s\r\nContent-Type: text/plain\r\n"


def endless(*first: bytes, then: bytes):
    return lambda: itertools.chain(first, itertools.repeat(then))


@pytest.mark.parametrize(
    ("said", "state", "status"),
    [
        (endless(HEAD % b"200 OK" + b"\r\n", then=b"x" * 65536), "delivered", 200),
        (endless(HEAD % b"200 OK" + b"Transfer-Encoding: chunked\r\n\r\n", then=b"1\r\nx\r\n"), "delivered", 200),
        (endless(HEAD % b"204 No Content" + b"\r\n", then=b"x" * 65536), "delivered", 204),
        (endless(HEAD % b"500 No" + b"\r\n", then=b"x" * 65536), "waiting", 500),
        (endless(HEAD % b"302 Found" + b"Location: http://127.0.0.1:9/\r\n\r\n", then=b"x" * 65536), "waiting", 302),
        (endless(HEAD % b"200 OK", then=b"X-Header: y\r\n" * 1000), "waiting", None),
        (lambda: [b"nonsense\r\n\r\n"], "waiting", None),
        (lambda: [b""], "waiting", None),
    ],
)
def test_begin_due_reads_no_more_than_the_head_of_an_answer(tmp_path, receiver, said, state, status):
    opened = open_studio(Settings(tmp_path), ServiceSettings(callbacks="any"))
    receiver.said = said
    delivery_id = promised(opened, f"http://127.0.0.1:{receiver.server_address[1]}/")
    deliver(opened)
    assert state_of(opened, delivery_id)[:2] == (state, status)
    assert receiver.sent < 32 << 20  # what the system has taken in meanwhile
    opened.close()


def test_begin_due_ends_a_receiver_that_only_says_to_go_on(tmp_path, receiver, monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE_S", 0.5)
    opened = open_studio(Settings(tmp_path), ServiceSettings(callbacks="any"))
    receiver.said = endless(then=b"HTTP/1.1 100 Continue\r\n\r\n")
    delivery_id = promised(opened, f"http://127.0.0.1:{receiver.server_address[1]}/")
    deliver(opened)
    assert state_of(opened, delivery_id)[0] == "waiting"
    opened.close()


# ---- once


def test_begin_due_records_an_acceptance_once_the_database_is_free_again(studio, monkeypatch):
    """While it was busy, what had been accepted stayed unrecorded, and was sent again a minute later."""
    delivery_id = promised(studio)
    failures = [Unavailable("busy", 1.0)] * 3
    was_delivered = module.was_delivered

    def record(*given):
        if failures:
            raise failures.pop()
        was_delivered(*given)

    monkeypatch.setattr(module, "was_delivered", record)
    monkeypatch.setattr(module, "_RECORD_AGAIN_S", 0.0)
    sent(studio, 204)
    assert state_of(studio, delivery_id)[0] == "delivered"


def test_begin_due_takes_an_acceptance_for_one_though_the_connection_breaks_afterwards(studio):
    class Breaks(httpx.AsyncByteStream):
        async def __aiter__(self):
            raise httpx.ReadError("broke off")
            yield b""

        async def aclose(self):
            raise httpx.CloseError("broke off")

    delivery_id = promised(studio)
    sent(studio, lambda request: httpx.Response(200, stream=Breaks()))
    assert state_of(studio, delivery_id) == ("delivered", 200, None)


def test_attempts_are_counted_before_they_are_made_and_keep_their_id(studio):
    """Whoever is killed between answer and record has said in the database that it was trying."""
    delivery_id = promised(studio)
    [taken] = take_due(studio.database, 1, 1, 0.0)  # and killed
    assert (taken.id, taken.attempts) == (delivery_id, 1)
    [request] = sent(studio, 204)
    assert request.headers["webhook-id"] == delivery_id
    assert find_delivery(studio.database, studio.local.id, delivery_id).attempts == 2
