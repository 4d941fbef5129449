"""A server of its own stands for the place that the file comes from."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from engine.errors import Cancelled, SeparationError
from engine.progress import no_report
from engine.songs.separator_file import HTDEMUCS_FT_VOCALS, checked_separator
from studio.actions.separators import fetch_separator, refuse_without_separator
from studio.errors import WrongState

CONTENT = bytes(range(256)) * 4096


class Server(BaseHTTPRequestHandler):
    asked: ClassVar[list[str | None]] = []

    def do_GET(self):
        wanted = self.headers.get("Range")
        self.asked.append(wanted)
        if self.path == "/gone":
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        self.wfile.write(CONTENT[start:])

    def log_message(self, *_):
        pass


@pytest.fixture
def pinned() -> Iterator:
    Server.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}/network.onnx"
    yield replace(HTDEMUCS_FT_VOCALS, size=len(CONTENT), sha256=sha256(CONTENT).hexdigest(), url=url)
    server.shutdown()
    server.server_close()
    thread.join()


def test_fetch_separator_downloads_the_pinned_file_only_once(studio, pinned):
    seen = []
    path = fetch_separator(studio, lambda *one: seen.append(one[0]), pinned)
    assert path == checked_separator(studio.settings.separators, pinned)
    assert path.read_bytes() == CONTENT
    assert seen[-1] == 1.0
    assert fetch_separator(studio, no_report, pinned) == path
    assert Server.asked == [None]
    assert [one.name for one in path.parent.iterdir()] == [pinned.file_name]


def test_fetch_separator_resumes_a_stopped_download(studio, pinned):
    def stop(fraction, message):
        if fraction > 0.4:
            raise Cancelled

    with pytest.raises(Cancelled):
        fetch_separator(studio, stop, pinned)
    assert fetch_separator(studio, no_report, pinned).read_bytes() == CONTENT
    assert Server.asked[0] is None
    assert int(Server.asked[1].removeprefix("bytes=").rstrip("-")) > 0.4 * len(CONTENT)


def test_fetch_separator_refuses_a_wrong_checksum_and_keeps_no_file(studio, pinned):
    with pytest.raises(SeparationError, match="checksum is another"):
        fetch_separator(studio, no_report, replace(pinned, sha256="0" * 64))
    assert list(studio.settings.separators.iterdir()) == []


@pytest.mark.parametrize(("path", "sentence"), [("/gone", "answered 404"), (":0/nowhere", "could not be fetched")])
def test_fetch_separator_reports_an_unreachable_file(studio, pinned, path, sentence):
    base = pinned.url.removesuffix("/network.onnx")
    url = "http://127.0.0.1:1/nowhere" if path.startswith(":") else base + path
    with pytest.raises(SeparationError, match=sentence):
        fetch_separator(studio, no_report, replace(pinned, url=url))


def test_refuse_without_separator_names_the_fetch_command(studio):
    with pytest.raises(WrongState, match="separation fetch on the machine that serves this") as error:
        refuse_without_separator(studio.settings)
    assert error.value.code == "no_separator"
