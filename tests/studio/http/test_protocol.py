"""Requests whose head has no end, in bytes or in time, on a real server."""

import functools
import socket
from collections.abc import Iterator

import pytest

from studio.http.protocol import LARGEST_HEAD
from tests.load.trial_service import TrialService, trial_service
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


def test_bounded_protocol_closes_an_idle_connection(monkeypatch, tmp_path):
    import asyncio

    from studio.http import protocol as http_protocol

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def closes(whole: bytes, part: bytes) -> bytes:
        """What a connection answers that sends something whole and then a part, with little time for the latter."""
        import uvicorn
        from uvicorn.server import ServerState

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
