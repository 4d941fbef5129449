"""A server of its own stands for the place that a fetched file comes from."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

from tests.servers import serving

CONTENT = bytes(range(256)) * 4096


class Server(BaseHTTPRequestHandler):
    asked: ClassVar[list[str | None]] = []
    content: ClassVar[bytes] = CONTENT

    def do_GET(self):
        wanted = self.headers.get("Range")
        self.asked.append(wanted)
        if self.path == "/gone":
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(self.content) - start))
        self.end_headers()
        self.wfile.write(self.content[start:])

    def log_message(self, *_):
        pass


@contextmanager
def served(content: bytes = CONTENT) -> Iterator[str]:
    """Serve some bytes; yields their address, beside which nothing is."""
    Server.asked, Server.content = [], content
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    with serving(server):
        yield f"http://127.0.0.1:{server.server_address[1]}/there"
