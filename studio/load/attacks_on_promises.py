"""Attacks on what a service does later or for long: callbacks, waits, events; each with what was wrong in the end.

Receivers that never answer, calls beyond those that may wait, tokens that are revoked meanwhile, bodies that nobody
reads, and a database that is locked.
"""

import queue
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
from sqlalchemy import delete

from studio.http.task_watch import MOST_OF_ACCOUNT
from studio.load.attacks import VOICE, Belongings, client_of
from studio.load.payloads import sample
from studio.load.trial_service import TrialService
from studio.load.waiting import PATIENCE_S, wait_until
from studio.store.accounts import find_account
from studio.store.deliveries import promise_delivery
from studio.store.tables import deliveries
from studio.store.tokens import create_token, revoke_token

DEAD = 300  # receivers
BESIDE_S = 5.0  # that a delivery may take longer beside them
ENDS_S = 5.0  # after a token is revoked
READS_S = 2.0  # of a locked database
SENT, TAKEN = 300 << 20, 32 << 20  # bytes of a body that is refused, and those that the system takes in


def promise_attacks(
    service: TrialService, name: str, client: httpx.Client, other: httpx.Client, has: Belongings
) -> Iterator[str]:
    """Yield what was wrong, or "", for each attack by `client`, of the account called `name`, or beside `other`."""
    yield _dead_receivers(service, name, other, has)
    yield _beyond_the_places(service, client)
    yield _revoked(service, name, client)
    yield from (_unread_body(service, path) for path in ("/login", "/logout", "/nothing"))
    yield _locked(service, name, client)
    for task in client.get("/tasks?limit=200").json()["tasks"]:
        if task["state"] in ("queued", "running"):
            client.delete(f"/tasks/{task['id']}")


# ---- callbacks


@contextmanager
def receiver() -> "Iterator[tuple[str, queue.Queue[float]]]":
    """A receiver that accepts all; yields its address, and when something came."""
    came: queue.Queue[float] = queue.Queue()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            came.put(time.monotonic())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *said: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", came
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def delivered_s(other: httpx.Client, callback: str) -> float:
    """Return the seconds until a callback of an account has come to a receiver that accepts it."""
    with receiver() as (url, came):
        asked_s = time.monotonic()
        other.post(f"/callbacks/{callback}/repeat", data={"callback_url": url}).raise_for_status()
        return came.get(timeout=PATIENCE_S) - asked_s


def _dead_receivers(service: TrialService, name: str, other: httpx.Client, has: Belongings) -> str:
    """Another's delivery beside many of one account to a receiver that takes connections and never answers."""
    alone_s = delivered_s(other, has.their_callback)
    with socket.create_server(("127.0.0.1", 0), backlog=DEAD) as dead, service.database() as database:
        account, url = find_account(database, name).id, f"http://127.0.0.1:{dead.getsockname()[1]}"
        with database.write() as connection:
            ids = [promise_delivery(connection, account, has.task, f"{url}/{one}", url) for one in range(DEAD)]
        with dead.accept()[0]:  # the first of them has been tried
            beside_s = delivered_s(other, has.their_callback)
        with database.write() as connection:
            connection.execute(delete(deliveries).where(deliveries.c.id.in_(ids)))
    print(f"a callback takes {alone_s:.1f} s alone, {beside_s:.1f} s beside {DEAD} dead receivers", flush=True)
    return "" if beside_s < alone_s + BESIDE_S else f"callbacks: {beside_s:.1f} s beside dead ones, {alone_s:.1f} alone"


# ---- what is refused, or ends


def _beyond_the_places(service: TrialService, client: httpx.Client) -> str:
    """A conversion whose sound is waited for, while the account has all its places among the calls that wait."""
    address = httpx.URL(service.base_url)
    waits = f"GET /tasks/{_queued(client)}/events HTTP/1.1\r\nHost: {address.netloc.decode()}\r\n"
    waits += f"Authorization: {client.headers['authorization']}\r\n\r\n"
    with ExitStack() as held:
        for _ in range(MOST_OF_ACCOUNT):
            one = held.enter_context(socket.create_connection((str(address.host), int(address.port or 80))))
            one.settimeout(PATIENCE_S)
            one.sendall(waits.encode())
            if not one.recv(12).endswith(b"200"):
                return "waits: a stream of events was refused before all places were taken"
        before = client.get("/tasks?limit=200").json()["tasks"]
        refused = client.post("/v1/audio/conversions", files={"file": ("a.flac", sample())}, data={"voice": VOICE})
        after = client.get("/tasks?limit=200").json()["tasks"]
    if (refused.status_code, len(after)) != (429, len(before)):
        return f"waits: beyond the places {refused.status_code}, {len(before)} tasks before and {len(after)} after"
    return ""


def _queued(client: httpx.Client) -> str:
    """Return a task that goes on for a while: behind others."""
    sent = {"files": {"audio": ("a.flac", sample())}, "data": {"model": VOICE, "generations_count": "10"}}
    return str([client.post("/convert", **sent).json()["task_id"] for _ in range(3)][-1])  # type: ignore[arg-type]


def _revoked(service: TrialService, name: str, client: httpx.Client) -> str:
    """Events that go on when their token is revoked, by another process."""
    task = _queued(client)
    with service.database() as database:
        token, secret = create_token(database, find_account(database, name), "to be revoked")
        with client_of(service, secret) as follower, follower.stream("GET", f"/tasks/{task}/events") as events:
            lines = events.iter_lines()
            next(lines)
            revoke_token(database, token.id)
            revoked_s = time.monotonic()
            with suppress(httpx.RemoteProtocolError):
                for line in lines:
                    if time.monotonic() > revoked_s + ENDS_S:
                        return f"events: {line} came {time.monotonic() - revoked_s:.1f} s after the token was revoked"
    ended_s = time.monotonic() - revoked_s
    print(f"events ended {ended_s:.1f} s after their token was revoked", flush=True)
    return "" if ended_s < ENDS_S else f"events: ended {ended_s:.1f} s after the token was revoked"


def _unread_body(service: TrialService, path: str) -> str:
    """A huge body where none belongs: refused by its length, and little of it is taken."""
    address, sent = httpx.URL(service.base_url), 0
    with socket.create_connection((str(address.host), int(address.port or 80))) as held:
        held.settimeout(PATIENCE_S)
        head = f"POST {path} HTTP/1.1\r\nHost: {address.netloc.decode()}\r\nOrigin: {service.base_url}\r\n"
        held.sendall(f"{head}Content-Length: {SENT}\r\n\r\n".encode())
        with suppress(ConnectionError):
            while sent < SENT:
                sent += held.send(bytes(1 << 20))
    return "" if sent < TAKEN else f"bodies: {sent >> 20} MB of a body to {path} were taken"


def _locked(service: TrialService, name: str, client: httpx.Client) -> str:
    """Reading calls, also of a token that was never used, while another program has locked the database."""
    file = service.home / "studio.sqlite"
    with service.database() as database:
        secrets = [create_token(database, find_account(database, name), "fresh")[1] for _ in range(2)]
    lock = sqlite3.connect(file, isolation_level=None, timeout=PATIENCE_S)
    lock.execute("BEGIN IMMEDIATE")
    try:
        for secret, path in zip(secrets, ("/models", "/tasks"), strict=True):
            asked_s = time.monotonic()
            with client_of(service, secret) as fresh:
                answer = fresh.get(path)
            if (took_s := time.monotonic() - asked_s) > READS_S or not answer.is_success:
                return f"locked database: {path} answered {answer.status_code} after {took_s:.1f} s"
    finally:
        lock.close()
    wait_until(lambda: client.get("/models").is_success)
    return ""
