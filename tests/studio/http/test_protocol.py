"""Requests whose head has no end, in bytes or in time, and WebSockets that would fill the memory, on real servers."""

import asyncio
import functools
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import uvicorn
from uvicorn.server import ServerState

from studio.http import protocol as http_protocol
from studio.http.protocol import LARGEST_HEAD
from studio.load.trial_service import TrialService, trial_service
from tests.waiting import PATIENCE_S

LINE = b"GET /health HTTP/1.1\r\nHost: a\r\n"
CHUNKED = LINE + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def bare(tmp_path_factory) -> Iterator[TrialService]:
    """A service of nothing but the server."""
    with trial_service(tmp_path_factory.mktemp("http") / "home", executor="none", page="off") as service:
        yield service


def connected(service: TrialService) -> socket.socket:
    host, port = service.base_url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_S)


def received(connection: socket.socket) -> bytes:
    """What comes until the other side closes."""
    try:
        return b"".join(iter(functools.partial(connection.recv, 65536), b""))
    except ConnectionError:
        return b""


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (LINE, b"X-A: " + b"y" * 8000 + b"\r\n"),
        (LINE + b"X-A: ", b"y" * 8000),
        (b"GET /health?", b"y" * 8000),
        (CHUNKED + b"1\r\nx\r\n0\r\n", b"X-A: " + b"y" * 8000 + b"\r\n"),
        (CHUNKED + b"1;", b"y" * 8000),
    ],
)
def test_bounded_protocol_closes_a_connection_with_an_endless_head(bare, begin, piece):
    with connected(bare) as connection:
        connection.sendall(begin)
        sent = 0
        try:
            while sent < 100 * LARGEST_HEAD:
                connection.sendall(piece)
                sent += len(piece)
        except ConnectionError:
            pass
        assert sent < 100 * LARGEST_HEAD


def test_bounded_protocol_accepts_large_heads_and_bodies_in_one_piece(bare):
    token = bare.token()
    head = f"POST /models/nobody/train HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\nX-A: {'y' * 40_000}\r\n"
    body = b"epochs=3" + b" " * 10_000
    with connected(bare) as connection:
        for last in ("", "Connection: close\r\n"):
            connection.sendall(f"{head}{last}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert received(connection).count(b"HTTP/1.1 404 ") == 2


@contextmanager
def served(app, **settings) -> Iterator[socket.socket]:
    """A connection to a server of this app, with its timers."""
    settings |= {"http": http_protocol.BoundedProtocol, "ws": http_protocol.BoundedWebSocket}
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", **settings)
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        with socket.create_connection(listener.getsockname(), timeout=PATIENCE_S) as connection:
            yield connection
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def test_bounded_protocol_closes_a_connection_whose_body_nobody_reads(monkeypatch):
    """A client that sent a byte now and then, long after it was answered, stayed for ever."""

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    with served(app) as connection:
        connection.sendall(LINE.replace(b"GET", b"POST") + b"Content-Length: 1000000000\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 404 ")
        monkeypatch.setattr(http_protocol, "HEAD_S", 0.1)
        try:
            while True:
                connection.sendall(b"y")
        except ConnectionError:
            pass


UPGRADE = (
    b"GET /live/x HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
)
TEXT, MORE, PING = 0x1, 0x0, 0x9


def frame(kind: int, content: bytes = b"", last: bool = True) -> bytes:
    """A frame as a client sends it, with a mask of zeros."""
    size = bytes([0x80 | len(content)]) if len(content) < 126 else b"\xff" + len(content).to_bytes(8, "big")
    return bytes([kind | 0x80 * last]) + size + bytes(4) + content


async def idle(scope, receive, send):
    """Opens a WebSocket and reads it to its end."""
    await receive()
    await send({"type": "websocket.accept"})
    while (await receive())["type"] != "websocket.disconnect":
        pass


@pytest.mark.parametrize(
    ("reads", "begin", "piece"),
    [
        (True, frame(TEXT, last=False), frame(MORE, last=False) * 1000),  # each is empty
        (True, frame(TEXT, bytes(70_000), last=False), frame(MORE, bytes(70_000), last=False)),
        (True, b"", frame(TEXT, b"x" * 200_000)),
        (True, b"", frame(TEXT, b"\xff")),
        (False, b"", frame(TEXT) * 10_000),
        (True, b"", b"\xff" * 1000),
    ],
    ids=["pieces", "large in pieces", "large", "no text", "many", "no frames"],
)
def test_bounded_web_socket_closes_after_what_would_fill_the_memory_or_the_log(reads, begin, piece, caplog):
    closed = threading.Event()

    async def deaf(scope, receive, send):
        await receive()
        await send({"type": "websocket.accept"})
        await asyncio.to_thread(closed.wait, PATIENCE_S)

    with served(idle if reads else deaf, ws_max_size=128 << 10, ws_per_message_deflate=False) as connection:
        connection.sendall(UPGRADE + b"\r\n")
        assert b" 101 " in connection.recv(65536).split(b"\r\n")[0]
        sent = 0
        try:
            connection.sendall(begin)
            while sent < 100 << 20:
                connection.sendall(piece)
                sent += len(piece)
        except ConnectionError:
            pass
        closed.set()
        assert sent < 100 << 20
    assert not [record for record in caplog.records if record.exc_info]


def test_bounded_web_socket_closes_after_garbage_before_it_is_open(caplog):
    opening = threading.Event()

    async def app(scope, receive, send):
        await asyncio.to_thread(opening.wait, PATIENCE_S)
        await receive()
        await send({"type": "websocket.accept"})

    with served(app) as connection:
        connection.sendall(UPGRADE + b"\r\n")
        try:
            while True:
                connection.sendall(b"\xff" * 100)
        except ConnectionError:
            pass
        opening.set()
    assert not [record for record in caplog.records if record.exc_info]


def test_bounded_web_socket_answers_too_many_headers():
    """The connection stayed open for ever, without an answer."""
    with served(idle) as connection:
        connection.sendall(UPGRADE + b"".join(b"X-%d: y\r\n" % number for number in range(200)) + b"\r\n")
        assert received(connection).startswith(b"HTTP/1.1 431 ")


def test_bounded_web_socket_lets_go_of_a_client_that_does_not_read(monkeypatch):
    """Its pings were answered into the memory."""
    monkeypatch.setattr(http_protocol, "UNREAD_S", 0.1)
    with served(idle) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(UPGRADE + b"\r\n")
        sent = 0
        try:
            while sent < 300 << 20:
                connection.sendall(frame(PING, b"y" * 125) * 1000)
                sent += 1000 * len(frame(PING, b"y" * 125))
        except ConnectionError:
            pass
        assert sent < 300 << 20


def test_bounded_protocol_closes_an_idle_connection(monkeypatch, tmp_path):
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def closes(whole: bytes, part: bytes) -> bytes:
        """What a connection answers that sends something whole and then a part, with little time for the latter."""
        config = uvicorn.Config(app, log_config=None, access_log=False)
        config.load()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: http_protocol.BoundedProtocol(config=config, server_state=ServerState(), app_state={}),
            "127.0.0.1",
            0,
        )
        async with server:
            monkeypatch.setattr(http_protocol, "HEAD_S", PATIENCE_S if whole else 0.1)
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(whole)
            answer = await reader.readuntil(b"\r\n\r\n") if whole else b""
            monkeypatch.setattr(http_protocol, "HEAD_S", 0.1)
            writer.write(part)
            answer += await asyncio.wait_for(reader.read(), PATIENCE_S)
            writer.close()
            return answer

    assert asyncio.run(closes(b"", b"")) == b""
    assert asyncio.run(closes(b"", LINE)) == b""
    # and between two requests of one connection
    assert asyncio.run(closes(LINE + b"\r\n", LINE)).count(b"204") == 1
