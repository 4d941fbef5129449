"""A server that answers as `hostile_answers.json` says: what no client should meet, byte for byte.

The table is read by the tests of both clients. Its rows have

    name      of the row, and of the folder of the server that answers so: http://127.0.0.1:PORT/NAME
    call      what the client is asked to do: task, events, convert, ...
    answers   path, or * for any other -> the answers in turn, the last for ever; each is a list of pieces
    code      of the ServiceError that this is, or null for none
    events    the names of the events that come before it

and a piece is text, sent as UTF-8, or one of {"hex": bytes}, {"repeat": text, "times": n}, {"endless": text}, which
ends with the client, {"every_s": seconds, "endless": text}, {"gzip": piece, "without": bytes at its end},
{"hold": true}, which keeps the connection, {"header": name}, what the client sent in it, and {"elsewhere": true}, the
address of another server, whose calls are counted.
"""

import gzip
import itertools
import json
import socketserver
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers import serving

TABLE = Path(__file__).with_name("hostile_answers.json")
HEAD = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n"
EVENTS = HEAD.replace("application/json", "text/event-stream")
_SHORT = {"HEAD": HEAD, "EVENTS": EVENTS}
_MOST_MB = 600  # that a client may take from a stream without an end


@dataclass
class HostileServer:
    """The server as it runs. calls: (path, headers) of each; elsewhere: of those that reached the other one."""

    base_url: str
    calls: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    elsewhere: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    taken_without_end: list[str] = field(default_factory=list)


def rows() -> list[dict[str, object]]:
    """Return the rows of the table."""
    return json.loads(TABLE.read_text(encoding="utf-8"))["rows"]


@contextmanager
def hostile_server() -> Iterator[HostileServer]:
    """Serve the table until the block ends."""
    known = {row["name"]: row["answers"] for row in rows()}
    ended_by_time = {row["name"] for row in rows() if "timeout_s" in row}
    asked: Counter[str] = Counter()
    ended = threading.Event()

    class Handler(socketserver.StreamRequestHandler):
        timeout = 60.0

        def handle(self) -> None:
            with suppress(OSError, ValueError):  # of a connection that was opened for nothing
                path, headers = read_request(self)
                if self.server is other:
                    here.elsewhere.append((path, headers))
                    return
                here.calls.append((path, headers))
                _, name, rest = path.split("?")[0].split("/", 2)
                answers: Mapping[str, Sequence[object]] = known[name]
                of = f"/{rest}" if f"/{rest}" in answers else "*"
                turn = min(asked[f"{name} {of}"], len(answers[of]) - 1)
                asked[f"{name} {of}"] += 1
                for piece in answers[of][turn]:
                    for part in parts(piece, headers, name):
                        self.wfile.write(part)

        def finish(self) -> None:
            with suppress(OSError):
                super().finish()

    def parts(piece: object, headers: Mapping[str, str], name: str) -> Iterator[bytes]:
        if isinstance(piece, str):
            yield _SHORT.get(piece, piece).encode()
        elif "hex" in piece:
            yield bytes.fromhex(piece["hex"])
        elif "repeat" in piece:
            yield (piece["repeat"] * piece["times"]).encode()
        elif "gzip" in piece:
            packed = gzip.compress(b"".join(parts(piece["gzip"], headers, name)), mtime=0)
            yield packed[: len(packed) - piece.get("without", 0)]
        elif "header" in piece:
            yield headers.get(piece["header"], "none").encode()
        elif "elsewhere" in piece:
            yield f"http://127.0.0.1:{other.server_address[1]}/stolen".encode()
        elif "hold" in piece:
            ended.wait(60.0)
        else:
            pause_s = piece.get("every_s", 0.0)
            endless = piece["endless"].encode() if pause_s else piece["endless"].encode() * 4096
            # what time alone ends has no most: how much of it comes until then is the machine's affair
            most = itertools.count() if name in ended_by_time else range(_MOST_MB * 1_000_000 // len(endless))
            for _ in most:
                yield endless
                if ended.wait(pause_s):
                    return
            here.taken_without_end.append(name)

    with server(Handler) as mine, server(Handler) as other:
        here = HostileServer(f"http://127.0.0.1:{mine.server_address[1]}")
        yield here
        ended.set()


def read_request(handler: socketserver.StreamRequestHandler) -> tuple[str, dict[str, str]]:
    """Read a request to its end; return its path and its headers, in small letters."""
    _, path, _ = handler.rfile.readline().decode("latin-1").split(" ", 2)
    headers = {}
    while line := handler.rfile.readline().decode("latin-1").strip():
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    if headers.get("transfer-encoding", "") == "chunked":
        while size := int(handler.rfile.readline(), 16):
            handler.rfile.read(size + 2)
        handler.rfile.readline()
    handler.rfile.read(int(headers.get("content-length", 0)))
    return path, headers


@contextmanager
def server(handler: type[socketserver.BaseRequestHandler]) -> Iterator[socketserver.ThreadingTCPServer]:
    """Serve on a port of this machine, in threads, until the block ends."""
    running = socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler)
    running.daemon_threads = True
    with serving(running):
        yield running
