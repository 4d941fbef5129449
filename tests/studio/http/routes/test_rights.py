"""Rights end at once: whatever goes on when a token is revoked or an account deleted, by whichever process, is cut
off within seconds."""

import socket
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest
from sqlalchemy import delete

from studio.http import rights
from studio.store.database import open_database
from studio.store.tables import METADATA, accounts
from studio.store.tokens import revoke_token
from tests.studio.http.routes.conftest import SINGING, Running
from tests.waiting import PATIENCE_S, wait_until

SOUND = (SINGING.name, SINGING.read_bytes())
LARGE = 48 << 20  # bytes, more than sockets buffer


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """The service looks often, so that tests need not wait."""
    monkeypatch.setattr(rights, "LOOK_S", 0.05)


@pytest.fixture
def meanwhile():
    with ThreadPoolExecutor(4) as pool:
        yield pool.submit


@contextmanager
def elsewhere(service: Running):
    """The database as another process has it."""
    database = open_database(f"sqlite:///{service.studio.settings.data / 'studio.sqlite'}", busy_s=PATIENCE_S)
    yield database
    database.close()


def revoke(service: Running, name: str) -> None:
    with elsewhere(service) as database:
        revoke_token(database, "test", service.account(name))


def delete_account(service: Running, name: str) -> None:
    account_id = service.account(name).id
    with elsewhere(service) as database, database.write() as connection:
        for table in METADATA.sorted_tables:
            if "account_id" in table.c:
                connection.execute(delete(table).where(table.c.account_id == account_id))
        connection.execute(delete(accounts).where(accounts.c.id == account_id))


ENDS = pytest.mark.parametrize("end", [revoke, delete_account])


def converting(client, **fields) -> str:
    files, data = {"audio": SOUND}, {"model": "kathleen", **fields}
    return client.post("/convert", files=files, data=data).json()["task_id"]


def waiting(service: Running, number: int = 1) -> None:
    wait_until(lambda: len(service.app.state.watch._waiting) == number)


def followed(service: Running, client: httpx.Client, path: str) -> list[str]:
    """Read an answer to wherever it ends."""
    lines = []
    try:
        with httpx.stream(
            "GET", f"{service.base_url}{path}", headers=client.headers, trust_env=False, timeout=PATIENCE_S
        ) as answer:
            lines.extend(answer.iter_lines())
    except httpx.RemoteProtocolError:
        lines.append("cut off")
    return lines


@ENDS
def test_events_end(serve, meanwhile, end):
    """They went on after their token was revoked."""
    service = serve()
    client, other = service.client("mia"), service.client("leo")
    task, theirs = converting(client), converting(other)
    events = meanwhile(followed, service, client, f"/tasks/{task}/events")
    others = meanwhile(followed, service, other, f"/tasks/{theirs}/events")
    waiting(service, 2)
    end(service, "mia")
    assert events.result()[-1] == "cut off"
    assert client.get("/tasks").status_code == 401
    assert not others.done()
    other.delete(f"/tasks/{theirs}")
    assert any("event: cancelled" in line for line in others.result())


@ENDS
def test_waits_end(serve, meanwhile, end):
    service = serve()
    client = service.client("mia")
    task = converting(client)
    wait = meanwhile(client.get, f"/check-task/{task}", headers={"Prefer": "wait=60"})
    waiting(service)
    end(service, "mia")
    answer = wait.result()
    assert (answer.status_code, answer.json()["code"]) == (401, "token_invalid")


def test_call_that_waits_for_what_it_has_started_says_where_that_is(serve, meanwhile):
    """Refused means not done: this is done."""
    service = serve()
    client = service.client("mia")
    files, data = {"audio": SOUND}, {"model": "kathleen"}
    started = meanwhile(client.post, "/convert", files=files, data=data, headers={"Prefer": "wait=60"})
    waiting(service)
    revoke(service, "mia")
    assert started.result().status_code == 202
    assert service.app.state.watch._places.total() == 0


@ENDS
def test_sound_that_is_waited_for_ends_and_its_task_is_cancelled(serve, meanwhile, end):
    service = serve()
    client = service.client("mia")
    sent = {"files": {"file": SOUND}, "data": {"model": "kathleen"}}
    sound = meanwhile(client.post, "/v1/audio/conversions", **sent)
    waiting(service)
    end(service, "mia")
    assert sound.result().status_code == 401
    if end is revoke:
        fresh = httpx.Client(base_url=service.base_url, headers={"Authorization": f"Bearer {service.token('mia')}"})
        assert [task["state"] for task in fresh.get("/tasks").json()["tasks"]] == ["cancelled"]
        fresh.close()


@ENDS
def test_upload_ends(serve, meanwhile, end):
    service = serve()
    client, goes_on = service.client("mia"), threading.Event()

    def body():
        yield b'--x\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n'
        yield bytes(2 << 20)
        goes_on.wait(PATIENCE_S)
        while True:
            yield bytes(1 << 20)

    upload = meanwhile(
        client.post, "/convert", content=body(), headers={"Content-Type": "multipart/form-data; boundary=x"}
    )
    incoming = service.studio.settings.work / "incoming"
    try:
        wait_until(lambda: list(incoming.glob("*")))
        end(service, "mia")
        wait_until(lambda: not list(incoming.glob("*")) and not service.app.state.rights._open)
    finally:
        goes_on.set()
    assert refused(upload)


def refused(call: "Future[httpx.Response]") -> bool:
    """Whether a call was refused; a client that still sends may see its connection closed."""
    try:
        return call.result().status_code == 401
    except httpx.TransportError:
        return True


@contextmanager
def unread(service: Running, path: str, headers):
    """A download of which nothing is read but the head; returns the socket."""
    host, port = service.base_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as held:
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in headers.items())]
        held.sendall("\r\n".join([*lines, "", ""]).encode())
        assert held.recv(12) == b"HTTP/1.1 200"
        yield held


def rest_of(held: socket.socket) -> int:
    """Read to the end of a connection; return how many bytes came."""
    read = 0
    try:
        while block := held.recv(1 << 20):
            read += len(block)
    except ConnectionError:
        pass
    return read


def test_download_of_a_deleted_account_ends(serve):
    service = serve()
    client = service.client("mia")
    converting(client)
    task = service.work("mia", [bytes(LARGE)])
    link = client.get(f"/tasks/{task}").json()["output_audio_urls"][0].removeprefix(service.base_url)
    with unread(service, link, {}) as held:
        wait_until(lambda: any(right.is_old for right in service.app.state.rights._open))
        delete_account(service, "mia")
        wait_until(lambda: not service.app.state.rights._open)
        assert rest_of(held) < LARGE


@ENDS
def test_package_of_a_voice_ends(serve, monkeypatch, end):
    """The client reads nothing of it for a while."""
    service = serve()
    client = service.client("mia")

    def export(studio, account, model_id, target):
        target.write_bytes(bytes(LARGE))

    monkeypatch.setattr("studio.http.routes.models.export_model", export)
    with unread(service, "/models/kathleen/package", {"Authorization": client.headers["Authorization"]}) as held:
        wait_until(lambda: any(right.is_old for right in service.app.state.rights._open))
        end(service, "mia")
        wait_until(lambda: not service.app.state.rights._open)
        assert rest_of(held) < LARGE
    outgoing = service.studio.settings.work / "outgoing"
    wait_until(lambda: not list(outgoing.glob("*")))


def test_call_that_waits_for_its_turn_is_not_begun_any_more(serve, meanwhile):
    service = serve()
    client, begun = service.client("mia"), []
    account, turns = service.account("mia").id, service.app.state.server.start_threads
    hold = [Future[None]() for _ in range(2)]
    for one in hold:  # all turns of the account
        turns.submit(account, lambda one=one: (begun.append(1), one.result(PATIENCE_S)))
    wait_until(lambda: len(begun) == 2)
    call = meanwhile(client.post, "/convert", files={"audio": SOUND}, data={"model": "kathleen"})
    wait_until(lambda: turns._waiting)
    revoke(service, "mia")
    assert call.result().status_code == 401
    for one in hold:
        one.set_result(None)
    fresh = httpx.Client(base_url=service.base_url, headers={"Authorization": f"Bearer {service.token('mia')}"})
    assert fresh.get("/tasks").json()["tasks"] == []
    fresh.close()
