"""The client against a small service that does what the real one cannot be made to do: have no time, cut connections.

What the real one can produce is tried at the real one, with its workers, at the end.
"""

import email.parser
import email.policy
import functools
import io
import json
import math
import os
import random
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import numpy as np
import pytest
import soundfile

from engine.errors import Cancelled, SettingsError
from studio.client import Client, ServiceError, _Download
from studio.load.trial_service import TrialService
from tests.servers import serving
from tests.waiting import PATIENCE_S, OwnClock, wait_until

TOKEN = "ts_nothing-but-an-example"
RATE = 44_100
SOUND = bytes(range(256)) * 4000  # about a megabyte, and no two places in it alike for long


@dataclass
class Call:
    """What the service was asked."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def form(self) -> dict[str, tuple[str | None, bytes]]:
        """Field -> (file name, content) of a multipart body, read by a parser that is not the client's."""
        head = f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode()
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + self.body)
        parts = message.iter_parts()
        return {
            part.get_param("name", header="content-disposition"): (part.get_filename(), part.get_payload(decode=True))
            for part in parts
        }


Answer = Callable[[BaseHTTPRequestHandler, Call], None]


@dataclass
class Scripted:
    """A service that gives its answers in turn, the last of them for ever."""

    answers: list[Answer]
    calls: list[Call] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        call = Call(handler.command, handler.path, headers, body)
        self.calls.append(call)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        answer(handler, call)


@pytest.fixture
def serve() -> Iterator[Callable[..., Scripted]]:
    running = ExitStack()

    def start(*answers: Answer) -> Scripted:
        service = Scripted(list(answers))

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = PATIENCE_S

            def do_GET(self) -> None:
                service.respond(self)

            do_POST = do_DELETE = do_GET

            def log_message(self, *arguments: object) -> None:
                pass

        service.port = running.enter_context(serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler))).server_port
        return service

    with running:
        yield start


@pytest.fixture
def client_of() -> Iterator[Callable[..., Client]]:
    clients: list[Client] = []

    def make(service: Scripted | str, **options: float) -> Client:
        clients.append(Client(service if isinstance(service, str) else service.url, TOKEN, **options))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def clock(monkeypatch) -> OwnClock:
    """The clock of clients, on which calls take no time."""
    own = OwnClock()
    for module in ("client", "exchange.answers", "exchange.timed_transport"):
        monkeypatch.setattr(f"studio.{module}.time", own)
    return own


def says(status: int, body: str, headers: dict[str, str] | None = None, kind: str = "application/json") -> Answer:
    def answer(handler: BaseHTTPRequestHandler, call: Call) -> None:
        content = body.encode()
        handler.send_response(status)
        for name, value in ({"Content-Type": kind, "Content-Length": str(len(content))} | (headers or {})).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def hangs_up(handler: BaseHTTPRequestHandler, call: Call) -> None:
    handler.close_connection = True


def problem(status: int, code: str, **headers: str) -> Answer:
    written = {name.replace("_", "-"): value for name, value in headers.items()}
    body = f'{{"type": "/docs#{code}", "title": "Not now", "status": {status}, "detail": "Said so.", "code": "{code}"}}'
    return says(status, body, written, "application/problem+json")


started = says(200, '{"task_id": "t1"}')


# ---- the published calls, as they are on the wire


def test_convert_sends_the_file_the_fields_and_the_token(serve, client_of, tmp_path):
    service = serve(started)
    (tmp_path / "my vocal é.wav").write_bytes(SOUND)
    task = client_of(service).convert(tmp_path / "my vocal é.wav", "koguchi", transpose=-3, generations_count=2)
    assert task == "t1"
    (call,) = service.calls
    assert (call.method, call.path) == ("POST", "/convert")
    assert call.headers["authorization"] == f"Bearer {TOKEN}"
    form = call.form
    assert form["audio"][1] == SOUND
    assert form["audio"][0] == "my vocal é.wav"
    fields = {name: content for name, (file_name, content) in form.items() if file_name is None}
    assert fields == {"model": b"koguchi", "transpose": b"-3", "generations_count": b"2"}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        *(({}, {}), ({"transpose": "auto"}, {"transpose": "auto"}), ({"untrained": True}, {"untrained": "true"})),
        *(({"rate": 48_000, "bits": 16}, {"rate": "48000", "bits": "16"}), ({"rate": "source"}, {"rate": "source"})),
    ],
)
def test_convert_sends_bytes_and_the_settings_that_are_given_alone(serve, client_of, given, sent):
    """To an earlier service it says nothing of what that does not know."""
    usual = {"model": "mia", "transpose": "0", "generations_count": "1"}
    service = serve(started)
    client_of(service).convert(SOUND, "mia", **given)
    form = {name: content for name, (_, content) in service.calls[0].form.items()}
    assert form.pop("audio") == SOUND
    assert form == {name: word.encode() for name, word in (usual | sent).items()}


def test_create_model_uploads_a_zip_and_train_sends_the_epochs(serve, client_of, tmp_path):
    service = serve(says(200, '{"model_id": "mia"}'), says(200, '{"status": "training", "current_epoch": 0}'))
    (tmp_path / "mia.zip").write_bytes(b"PK...")
    client = client_of(service)
    assert client.create_model(tmp_path / "mia.zip") == "mia"
    assert client.train("mia", 200) == {"status": "training", "current_epoch": 0}
    created, trained = service.calls
    assert created.form == {"training_audio_files": ("mia.zip", b"PK...")}
    assert (trained.path, trained.body) == ("/models/mia/train", b"epochs=200")


def test_create_model_sends_what_is_stated_as_fields(serve, client_of):
    service = serve(says(200, '{"model_id": "mia"}'))
    consent = {"statement": "I agree.", "by": "Mia"}
    client_of(service).create_model(b"PK...", name="Mia", traits=["warm, soft", "clear"], consent=consent)
    form = {name: content.decode() for name, (_, content) in service.calls[0].form.items()}
    expected = ("Mia", ["warm, soft", "clear"], consent)
    assert (form["name"], json.loads(form["traits"]), json.loads(form["consent"])) == expected


NO_FILES = ["none.wav", ".", "pipe", "a\0b", "a" * 5000, "\ud800"]
UNSENDABLE = [
    *(lambda client, path=Path(name): client.convert(path, "koguchi") for name in NO_FILES),
    *(lambda client, path=Path(name): client.create_model(path) for name in NO_FILES),
    lambda client: client.convert(SOUND, "\ud800"),
    lambda client: client.models(q="\ud800"),
    lambda client: client.convert(SOUND, "koguchi", idempotency_key="é"),
    lambda client: client.task("x" * 100_000),
]


@pytest.mark.parametrize("call", UNSENDABLE)
def test_calls_refuse_what_cannot_be_sent(serve, client_of, monkeypatch, tmp_path, call):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    service = serve()
    with pytest.raises(ServiceError, match="cannot be sent") as refused:
        call(client_of(service))
    assert refused.value.code == "not_sendable"
    assert not service.calls


@pytest.mark.parametrize("identifier", ["", ".", ".."])
def test_calls_refuse_an_id_that_would_lead_to_another_address(serve, client_of, identifier):
    client = client_of(serve())
    train = functools.partial(client.train, epochs=1)
    for call in (client.cancel, client.task, client.check_task, client.model, client.delete_results, train):
        with pytest.raises(ServiceError, match="An id must have letters"):
            call(identifier)


@pytest.mark.parametrize(
    ("call", "under", "path"),
    [
        (lambda client: client.models(genre="r&b", limit=5), "", "/models?genre=r%26b&limit=5"),
        (lambda client: client.check_task("../models?x=1#y"), "", "/check-task/..%2Fmodels%3Fx%3D1%23y"),
        (lambda client: client.check_task("t1"), "/studio/", "/studio/check-task/t1"),
    ],
)
def test_calls_escape_what_is_given_and_keep_the_path_of_the_service(serve, client_of, call, under, path):
    service = serve(says(200, '{"status": "in_progress", "models": []}'))
    call(client_of(f"{service.url}{under}"))
    assert service.calls[0].path == path


def test_cancel_and_delete_results_accept_an_empty_response(serve, client_of):
    service = serve(says(204, ""))
    client_of(service).cancel("t1")
    client_of(service).delete_results("t1")
    called = [(call.method, call.path) for call in service.calls]
    assert called == [("DELETE", "/tasks/t1"), ("DELETE", "/tasks/t1/results")]


# ---- refusals


def test_convert_raises_a_service_error_with_the_invalid_fields(serve, client_of):
    body = '{"detail": "No.", "code": "invalid", "errors": [{"field": "transpose", "message": "Too high."}, 7]}'
    service = serve(says(422, body, kind="application/problem+json"))
    with pytest.raises(ServiceError, match=r"No\.") as refused:
        client_of(service).convert(SOUND, "koguchi", transpose=13)
    assert (refused.value.status, refused.value.code) == (422, "invalid")
    assert refused.value.errors == (("transpose", "Too high."),)
    assert len(service.calls) == 1


NO_PROBLEMS = ["<html>Bad gateway</html>", "", "[]", "null", '{"errors": 3}', "\xff"]
NOT_OURS = ["<html>Welcome</html>", "{}", '["t1"]', '{"task": "t1"}']


@pytest.mark.parametrize(
    ("status", "body", "words", "code"),
    [
        *((502, body, "502", "http_502") for body in NO_PROBLEMS),
        *((200, body, "Check the address", "not_understood") for body in NOT_OURS),
    ],
)
def test_convert_refuses_an_answer_that_is_not_from_the_service(serve, client_of, status, body, words, code):
    service = serve(says(status, body, kind="text/html"))
    with pytest.raises(ServiceError, match=words) as refused:
        client_of(service).convert(SOUND, "koguchi")
    assert refused.value.code == code


@pytest.mark.parametrize("status", [200, 422])
@pytest.mark.parametrize("packed", [False, True])
def test_calls_end_an_answer_without_an_end(serve, client_of, monkeypatch, tmp_path, status, packed):
    """It was read into the memory until there was no more; a packed one unpacks to a thousand times its size."""
    monkeypatch.setattr("studio.exchange.answers.LARGEST_ANSWER", 1 << 20)
    piece = b" " * (1 << 16)

    def endless(handler: BaseHTTPRequestHandler, call: Call) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        packing = zlib.compressobj(wbits=31)
        if packed:
            handler.send_header("Content-Encoding", "gzip")
        handler.end_headers()
        with suppress(OSError):  # until the client has gone
            while True:
                handler.wfile.write(packing.compress(piece) + packing.flush(zlib.Z_SYNC_FLUSH) if packed else piece)

    service = serve(endless)
    client = client_of(service)
    calls = [lambda: client.check_task("t"), lambda: client.convert(SOUND, "mia")]
    calls += [lambda: client.download(f"{service.url}/a", tmp_path / "a.wav")] if status != 200 else []
    for call in calls:
        with pytest.raises(ServiceError, match="sends more than an answer") as refusal:
            call()
        assert refusal.value.code == "not_understood"
    assert not list(tmp_path.iterdir())


def test_calls_end_an_answer_that_comes_too_slowly(serve, client_of, clock):
    """Each byte in time, and all of them never."""

    def trickling(handler: BaseHTTPRequestHandler, call: Call) -> None:
        handler.send_response(200)
        handler.end_headers()
        with suppress(OSError):
            while True:
                clock.now_s += 1.0  # as if it came now
                handler.wfile.write(b" ")

    client = client_of(serve(trickling), timeout_s=5.0, retry_s=0.0)
    with pytest.raises(ServiceError, match="did not answer in time") as refusal:
        client.check_task("t")
    assert refusal.value.code == "unreachable"


def test_convert_does_not_follow_a_redirect(serve, client_of):
    elsewhere = serve(started)
    service = serve(says(307, "", {"Location": f"{elsewhere.url}/convert"}))
    with pytest.raises(ServiceError):
        client_of(service).convert(SOUND, "koguchi")
    assert elsewhere.calls == []


@pytest.mark.parametrize("token", ["", "  ", "two words", "line\nbreak", "ts_ünknown"])
def test_client_refuses_an_invalid_token_without_showing_it(token):
    with pytest.raises(SettingsError) as refused:
        Client("http://127.0.0.1:1", token)
    assert not token.strip() or token not in str(refused.value)


@pytest.mark.parametrize("address", ["localhost:7860", "ftp://host", "http://", "http://[::", ""])
def test_client_refuses_an_invalid_address(address):
    with pytest.raises(SettingsError, match="address"):
        Client(address, TOKEN)


def test_client_strips_a_newline_after_the_token(serve):
    service = serve(says(200, '{"models": []}'))
    with Client(service.url, TOKEN + "\n") as client:
        client.models()
    assert service.calls[0].headers["authorization"] == f"Bearer {TOKEN}"


# ---- calls that are made again


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("is_date", [False, True])
def test_convert_retries_after_the_requested_delay_with_the_same_key(serve, client_of, clock, status, is_date):
    after = formatdate(clock.time() + 2, usegmt=True) if is_date else "2"
    service = serve(problem(status, "later", Retry_After=after), started)
    assert client_of(service).convert(SOUND, "koguchi") == "t1"
    assert clock.slept == [2.0]
    first, second = service.calls
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert first.form == second.form


@pytest.mark.usefixtures("clock")
def test_convert_sends_the_whole_file_on_each_retry(serve, client_of, tmp_path):
    service = serve(problem(503, "later", Retry_After="0"), hangs_up, started)
    (tmp_path / "vocal.wav").write_bytes(SOUND)
    assert client_of(service).convert(tmp_path / "vocal.wav", "koguchi") == "t1"
    assert [call.form["audio"][1] for call in service.calls] == [SOUND] * 3


@pytest.mark.usefixtures("clock")
def test_convert_retries_a_lost_response_with_the_same_key(serve, client_of):
    service = serve(hangs_up, started)
    assert client_of(service).convert(SOUND, "koguchi", idempotency_key="mine") == "t1"
    assert [call.headers["idempotency-key"] for call in service.calls] == ["mine", "mine"]


def test_convert_sends_a_new_idempotency_key_with_each_call(serve, client_of):
    service = serve(started)
    client = client_of(service)
    assert client.convert(SOUND, "koguchi") == client.convert(SOUND, "koguchi")
    assert len({call.headers["idempotency-key"] for call in service.calls}) == 2


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("written", ["soon", "-5", "nan", "Tue, 99 Foo", ""])
def test_convert_ignores_an_invalid_retry_after(serve, client_of, written):
    service = serve(problem(503, "later", Retry_After=written), started)
    assert client_of(service).convert(SOUND, "koguchi") == "t1"


def test_convert_raises_at_once_if_retry_after_exceeds_retry_s(serve, client_of, clock):
    service = serve(problem(429, "queue_full", Retry_After="30"))
    with pytest.raises(ServiceError, match="Said so") as refused:
        client_of(service, retry_s=5).convert(SOUND, "koguchi")
    assert clock.slept == []
    assert (refused.value.status, refused.value.code, refused.value.retry_after_s) == (429, "queue_full", 30)
    assert len(service.calls) == 1


def test_models_names_an_unreachable_service_without_showing_the_token(client_of, serve):
    with pytest.raises(ServiceError, match=r"127\.0\.0\.1.*running") as refused:
        client_of("http://127.0.0.1:9/", retry_s=0.2).models()
    assert (refused.value.status, refused.value.code) == (None, "unreachable")
    assert TOKEN not in repr(refused.value)


def test_models_raises_a_service_error_on_timeout(serve, client_of):
    over = threading.Event()
    service = serve(lambda handler, call: over.wait(PATIENCE_S) and None)
    with pytest.raises(ServiceError, match="in time"):
        client_of(service, timeout_s=0.2, retry_s=0.1).models()
    over.set()


# ---- downloads


def parts(cut_after: list[int], *, etags: list[str] | None = None, ranges: bool = True) -> Answer:
    """A file server whose connection breaks after so many bytes, once for each number."""
    served = 0

    def answer(handler: BaseHTTPRequestHandler, call: Call) -> None:
        nonlocal served
        etag = (etags or ['"one"'])[min(served, len(etags or [1]) - 1)]
        begin = 0
        if ranges and "range" in call.headers and call.headers["if-range"] == etag:
            begin = int(call.headers["range"].removeprefix("bytes=").removesuffix("-"))
            handler.send_response(206)
            handler.send_header("Content-Range", f"bytes {begin}-{len(SOUND) - 1}/{len(SOUND)}")
        else:
            handler.send_response(200)
        handler.send_header("ETag", etag)
        handler.send_header("Content-Length", str(len(SOUND) - begin))
        handler.end_headers()
        stop = len(SOUND)
        if served < len(cut_after):
            stop = begin + cut_after[served]
            handler.close_connection = True
        served += 1
        handler.wfile.write(SOUND[begin:stop])

    return answer


def test_download_sends_no_token(serve, client_of, tmp_path):
    service = serve(parts([]))
    path = client_of("http://127.0.0.1:9").download(
        f"{service.url}/files/take.wav?signature=abc", tmp_path / "take.wav"
    )
    assert path.read_bytes() == SOUND
    assert "authorization" not in service.calls[0].headers
    assert list(tmp_path.iterdir()) == [path]


def test_download_resumes_after_a_lost_connection(serve, client_of, tmp_path):
    service = serve(parts([300_000, 200_000]))
    path = client_of(service).download(f"{service.url}/files/take.wav", tmp_path / "take.wav")
    assert path.read_bytes() == SOUND
    assert [call.headers.get("range") for call in service.calls] == [None, "bytes=300000-", "bytes=500000-"]


@pytest.mark.parametrize(
    "trait", [{"etags": ['"one"', '"two"']}, {"etags": ['W/"one"']}, {"ranges": False}], ids=["changed", "weak", "no"]
)
def test_download_restarts_if_it_cannot_resume(serve, client_of, tmp_path, trait):
    service = serve(parts([300_000], **trait))
    path = client_of(service).download(f"{service.url}/files/take.wav", tmp_path / "take.wav")
    assert path.read_bytes() == SOUND
    assert len(service.calls) == 2


def test_download_without_progress_gives_up_and_leaves_no_file(serve, client_of, clock, tmp_path):
    service = serve(parts([300_000] * 50, ranges=False))
    with pytest.raises(ServiceError, match="cannot be reached") as refused:
        client_of(service, retry_s=4).download(f"{service.url}/files/take.wav?signature=abc", tmp_path / "take.wav")
    assert "signature" not in str(refused.value)
    assert clock.slept == [0.5, 1.0, 2.0]
    assert len(service.calls) == 5  # the first of them made progress
    assert list(tmp_path.iterdir()) == []


def test_download_refuses_a_different_range(serve, client_of, tmp_path):
    wrong = says(206, "abc", {"Content-Range": "bytes 7-9/10"})
    service = serve(parts([300_000]), wrong)
    with pytest.raises(ServiceError, match="different range"):
        client_of(service).download(f"{service.url}/files/take.wav", tmp_path / "take.wav")
    assert list(tmp_path.iterdir()) == []


def test_download_raises_the_error_of_the_service_for_an_expired_link(serve, client_of, tmp_path):
    service = serve(problem(404, "not_found"))
    with pytest.raises(ServiceError, match="Said so"):
        client_of(service).download(f"{service.url}/files/take.wav", tmp_path / "take.wav")


@pytest.mark.parametrize("link", ["file:///etc/passwd", "http://[::", "ftp://127.0.0.1/x", "http://127.0.0.1/\ud800"])
def test_download_refuses_a_non_http_or_invalid_link_at_once(client_of, clock, tmp_path, link):
    with pytest.raises(ServiceError, match="must begin with http") as refused:
        client_of("http://127.0.0.1:9").download(link, tmp_path / "take.wav")
    assert (refused.value.code, clock.slept) == ("not_sendable", [])


@pytest.mark.parametrize("seed", range(8))
def test_download_is_complete_after_several_lost_connections(serve, client_of, tmp_path, seed):
    chance = random.Random(seed)
    cuts = [chance.randrange(1, len(SOUND) // 5) for _ in range(4)]
    service = serve(parts(cuts))
    path = client_of(service).download(f"{service.url}/files/take.wav", tmp_path / "take.wav")
    assert path.read_bytes() == SOUND
    assert len(service.calls) == 5


# ---- waiting


def test_convert_and_wait_raises_the_error_of_a_failed_task(serve, client_of, tmp_path):
    service = serve(
        started,
        says(200, '{"status": "in_progress"}'),
        says(200, '{"status": "failed"}'),
        says(200, '{"state": "failed", "error": "There is no voice in it.", "error_code": "no_voice"}'),
    )
    with pytest.raises(ServiceError, match="no voice in it") as failed:
        client_of(service).convert_and_wait(SOUND, "koguchi", folder=tmp_path, poll_s=0.01)
    assert failed.value.code == "no_voice"
    assert [call.path for call in service.calls] == ["/convert", "/check-task/t1", "/check-task/t1", "/tasks/t1"]


def test_convert_and_wait_raises_a_service_error_after_timeout_s(serve, client_of, clock, tmp_path):
    service = serve(started, says(200, '{"status": "in_progress"}'))
    with pytest.raises(ServiceError, match="t1 has not finished after 100 s") as failed:
        client_of(service).convert_and_wait(SOUND, "koguchi", folder=tmp_path, poll_s=30, timeout_s=100)
    assert failed.value.code == "timeout"
    assert clock.slept == [30, 30, 30]


def test_convert_and_wait_cancels_the_task_if_report_raises_cancelled(serve, client_of, tmp_path):
    service = serve(
        started,
        says(200, '{"status": "in_progress"}'),
        says(200, '{"state": "running", "progress": 0.25, "message": "analysing"}'),
        says(200, "{}"),
    )
    seen = []

    def report(fraction: float, message: str) -> None:
        seen.append((fraction, message))
        raise Cancelled

    with pytest.raises(Cancelled):
        client_of(service).convert_and_wait(SOUND, "koguchi", folder=tmp_path, report=report)
    assert seen == [(0.25, "analysing")]
    assert (service.calls[-1].method, service.calls[-1].path) == ("DELETE", "/tasks/t1")


def test_convert_and_wait_names_takes_after_recording_and_voice(serve, client_of, tmp_path):
    links = '["http://127.0.0.1:%d/files/take-1.wav?signature=a", "http://127.0.0.1:%d/files/take-2.wav?signature=b"]'
    sound = says(200, "sound", {"ETag": '"x"'})
    service = serve(started, sound)
    done = f'{{"status": "completed", "output_audio_urls": {links % (service.port, service.port)}}}'
    service.answers.insert(1, says(200, done))
    (tmp_path / "song.mp3").write_bytes(SOUND)
    takes = client_of(service).convert_and_wait(tmp_path / "song.mp3", "mia", 0, 2, folder=tmp_path / "new" / "folder")
    assert [path.relative_to(tmp_path / "new" / "folder") for path in takes] == [
        Path("song.mia.wav"),
        Path("song.mia.take2.wav"),
    ]
    assert all(path.read_bytes() == b"sound" for path in takes)


TRAINING = '{"status": "training", "model_id": "mia", "current_epoch": 0}'
MODEL = '{"state": "%s", "error": %s, "training": {"progress": %s, "message": "epoch 1", "task_id": "t9"}}'


def test_train_and_wait_reports_progress_and_returns_the_completed_model(serve, client_of):
    service = serve(
        says(200, TRAINING),
        says(200, MODEL % ("training", "null", "null")),
        says(200, MODEL % ("training", "null", "0.5")),
        says(200, MODEL % ("completed", "null", "null")),
    )
    seen = []
    model = client_of(service).train_and_wait(
        "mia", 2, poll_s=0.01, timeout_s=math.inf, report=lambda *told: seen.append(told)
    )
    assert model["state"] == "completed"
    assert seen == [(0.0, "epoch 1"), (0.5, "epoch 1")]
    assert [call.method for call in service.calls] == ["POST", "GET", "GET", "GET"]


@pytest.mark.parametrize(
    ("first", "state", "error", "said", "code"),
    [
        (TRAINING, "failed", '"Too little memory."', "Too little memory", "failed"),
        (TRAINING.replace("training", "failed"), "failed", "null", "The training failed", "failed"),
        (TRAINING, "pending", "null", "continues from there", "cancelled"),
    ],
)
def test_train_and_wait_raises_if_training_fails_or_is_cancelled(serve, client_of, first, state, error, said, code):
    service = serve(says(200, first), says(200, MODEL % (state, error, "null")))
    with pytest.raises(ServiceError, match=said) as failed:
        client_of(service).train_and_wait("mia", 2, poll_s=0.01)
    assert failed.value.code == code


def cancelling(fraction: float, message: str) -> None:
    """What somebody passes as `report` who wants no more of it."""
    raise Cancelled


def test_train_and_wait_cancels_the_task_if_report_raises_cancelled(serve, client_of):
    service = serve(says(200, TRAINING), says(200, MODEL % ("training", "null", "0.5")))
    with pytest.raises(Cancelled):
        client_of(service).train_and_wait("mia", 2, report=cancelling)
    assert (service.calls[-1].method, service.calls[-1].path) == ("DELETE", "/tasks/t9")


# ---- the whole way, at the real service


@pytest.fixture(scope="module")
def account(service: TrialService) -> str:
    """A token of an account of these tests alone."""
    return service.token("client-tests")


@pytest.fixture
def client(service: TrialService, account: str) -> Iterator[Client]:
    with Client(service.base_url, account) as client:
        yield client


def test_convert_and_wait_writes_all_takes_with_the_real_service(client, tmp_path):
    soundfile.write(tmp_path / "song.flac", tone(1.2), RATE)
    seen = []
    takes = client.convert_and_wait(
        tmp_path / "song.flac",
        "kathleen",
        transpose="auto",
        generations_count=2,
        folder=tmp_path / "converted",
        poll_s=0.2,
        timeout_s=PATIENCE_S,
        report=lambda *told: seen.append(told),
    )
    assert [path.name for path in takes] == ["song.kathleen.wav", "song.kathleen.take2.wav"]
    for path in takes:
        assert soundfile.info(path).frames == round(1.2 * RATE)
    assert takes[0].read_bytes() != takes[1].read_bytes()
    assert all(0 <= fraction <= 1 for fraction, _ in seen)


def test_convert_and_wait_converts_ogg_bytes_without_a_file_name(client, tmp_path):
    soundfile.write(tmp_path / "song.ogg", tone(1.0), RATE)
    sound = (tmp_path / "song.ogg").read_bytes()
    (take,) = client.convert_and_wait(sound, "koguchi", folder=tmp_path, timeout_s=PATIENCE_S)
    assert take.name == "audio.koguchi.wav"
    assert soundfile.info(take).frames == round(1.0 * RATE)


def test_client_of_a_service_on_this_machine_needs_no_proxy(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    Client("http://127.0.0.1:7860", "token").close()
    with pytest.raises(SettingsError, match="set ALL_PROXY"):
        Client("https://studio.test", "token")


@pytest.mark.parametrize(
    ("status", "call"),
    [
        (404, lambda client: client.convert(SOUND, "nobody")),
        (415, lambda client: client.convert(b"no audio at all" * 100, "koguchi")),
        (415, lambda client: client.create_model(b"no zip")),
        (422, lambda client: client.convert(SOUND, "koguchi", transpose=13, generations_count=11)),
    ],
)
def test_client_raises_a_service_error_with_the_status_of_each_refusal(client, status, call):
    with pytest.raises(ServiceError) as refused:
        call(client)
    assert refused.value.status == status
    named = {name for name, _ in refused.value.errors}
    assert status != 422 or named == {"transpose", "generations_count"}


@pytest.mark.parametrize("call", [Client.models, lambda client: client.convert(bytes(30_000_000), "koguchi")])
def test_calls_with_an_unknown_token_raise_a_401_also_during_a_large_upload(service, call):
    with Client(service.base_url, TOKEN, retry_s=0) as stranger, pytest.raises(ServiceError) as refused:
        call(stranger)
    assert refused.value.status == 401
    assert TOKEN not in str(refused.value)


def test_download_resumes_with_the_real_service(client, tmp_path):
    """Cut by a relay in between, which the service knows nothing of."""
    soundfile.write(tmp_path / "song.wav", tone(1.0), RATE)
    task = client.convert(tmp_path / "song.wav", "koguchi")
    done = client._wait_for_conversion(task, 0.2, PATIENCE_S, None)
    url = done["output_audio_urls"][0]
    whole = client.download(url, tmp_path / "whole.wav").read_bytes()
    with httpx.stream("GET", url, timeout=PATIENCE_S) as response:
        etag = response.headers["ETag"]
    half = len(whole) // 2
    with (tmp_path / "rest.part").open("wb") as target, httpx.Client(timeout=PATIENCE_S) as http:
        target.write(whole[:half])
        fetch = _Download(http, httpx.URL(url), target, entity=etag, furthest=half)
        assert fetch.go_on()
    assert (tmp_path / "rest.part").read_bytes() == whole


def test_convert_and_wait_cancels_the_task_at_the_real_service(client, tmp_path):
    soundfile.write(tmp_path / "long.wav", tone(60.0), RATE)
    with pytest.raises(Cancelled):
        client.convert_and_wait(tmp_path / "long.wav", "koguchi", folder=tmp_path, report=cancelling)
    task = client.tasks()["tasks"][0]["id"]
    with pytest.raises(ServiceError) as cancelled:
        client._wait_for_conversion(task, 0.1, PATIENCE_S, None)
    assert cancelled.value.code == "cancelled"
    with pytest.raises(ServiceError) as ended:
        client.cancel(task)
    assert ended.value.status == 409


def test_train_and_wait_cancels_at_the_real_service_and_leaves_the_model_pending(client, tmp_path):
    mia = client.create_model(recordings(tmp_path))
    with pytest.raises(Cancelled):
        client.train_and_wait(mia, 100, report=cancelling)
    assert wait_until(lambda: (state := client.model(mia)["state"]) != "training" and state) == "pending"
    with pytest.raises(ServiceError) as pending:
        client.convert(tone_as_wav(), mia)
    assert pending.value.status == 409


def recordings(folder: Path) -> Path:
    """A zip that a voice can be made of."""
    with zipfile.ZipFile(folder / "mia.zip", "w") as archive:
        archive.writestr("model.json", json.dumps({"name": "Mia"}))
        for number in range(2):
            soundfile.write(folder / "one.wav", tone(6.0, 150.0 + 10 * number), RATE)
            archive.write(folder / "one.wav", f"audio/take {number}.wav")
    return folder / "mia.zip"


def tone_as_wav() -> bytes:
    file = io.BytesIO()
    soundfile.write(file, tone(1.0), RATE, format="WAV")
    return file.getvalue()


def tone(seconds: float, hertz: float = 150.0) -> np.ndarray:
    """A voice-like buzz with vibrato, float64 (samples,)."""
    time_s = np.arange(round(seconds * RATE)) / RATE
    cycles = hertz * time_s + 0.4 * np.sin(2 * np.pi * 5 * time_s)
    buzz = sum(np.cos(2 * np.pi * number * cycles) / number for number in range(1, 20))
    return 0.1 * buzz + 1e-4 * np.random.default_rng(0).standard_normal(len(time_s))
