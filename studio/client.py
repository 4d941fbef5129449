"""A client of the service: each of its calls as a method, and whole conversions and trainings in one call.

    with Client("http://127.0.0.1:7860", token) as client:
        takes = client.convert_and_wait("vocal.wav", "koguchi", transpose="auto", folder="converted")

Every POST carries an Idempotency-Key, so a call that was refused under load, or whose answer was lost, is repeated and
starts nothing twice. Only the service receives the token: links to audio are fetched without it.
"""

import json
import math
import re
import secrets
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self, TypedDict, TypeVar, Unpack
from urllib.parse import quote

import httpx
from pydantic import BaseModel

from engine.errors import Cancelled, SettingsError
from engine.files import fitting_name, replacing
from engine.progress import Report
from studio.exchange import schemas
from studio.exchange.answers import (
    NOT_SENDABLE,
    NOT_UNDERSTOOD,
    UNREACHABLE,
    Answer,
    ServiceError,
    WholeAnswer,
    checked,
    not_understood,
    one_error,
    refusal,
    shown,
    understood,
    whole,
)
from studio.exchange.event_stream import EventStream, StreamEvent
from studio.exchange.timed_transport import TimedTransport, unlimited

__all__ = ["Client", "Event", "ServiceError", "StartOptions", "StatedProfile"]

T = TypeVar("T")
Sendable = Path | str | bytes  # a file, or its content

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0  # between attempts without a Retry-After
CONNECT_S = 10.0
_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")
LARGEST_SILENCE = 16 << 20  # bytes of a stream between two events: of comments, and of one event
LARGEST_FILE = 4 << 30  # bytes of a download whose length was not stated
_STEP = 1 << 16  # bytes by which a download has to get on before it is cut off again
_LATER = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_FILES = ("backing", "stem")  # of a song
_EVENTS_ONLY = {b"Accept": b"text/event-stream", b"Accept-Encoding": b"identity", b"Cache-Control": b"no-store"}
_EVENTS = frozenset({"progress", "completed", "failed", "cancelled"})
_IN_A_HEADER = re.compile(rb"[\t\x20-\x7e\x80-\xff]+")
_HOST = re.compile(r"[A-Za-z0-9._:-]+")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,5}")


class StartOptions(TypedDict, total=False):
    """Further options of calls that start something.

    idempotency_key: with one of your own, even a restarted program starts nothing twice. callback_url: receives a
    signed POST when the task has ended. cancel_after_s: the task's deadline.
    """

    idempotency_key: str | None
    callback_url: str | None
    cancel_after_s: int | None


class StatedProfile(TypedDict, total=False):
    """What `Client.create_model` says of a voice, as model.json does. consent: a statement; or statement, by, date.

    callback_url, cancel_after_s: of the report on its recordings, as in StartOptions.
    """

    callback_url: str | None
    cancel_after_s: int | None

    name: str
    gender: str
    age: str
    description: str
    base_language: str
    traits: Sequence[str]
    genre: str
    voice_type: str
    vocal_range: Mapping[str, str]
    licence: str
    source: str
    consent: str | Mapping[str, str]


@dataclass(frozen=True)
class Event:
    """What `Client.events` yields. name: progress, or how the task has ended: completed, failed, cancelled.

    data: state, progress and message; at the end all of `Client.task`.
    """

    name: str
    data: Mapping[str, object]

    @property
    def is_last(self) -> bool:
        """Whether the task has ended."""
        return self.name != "progress"


class Client:
    """The service at `base_url`, used with the account of `token`. Thread-safe; close it, or use `with`.

    timeout_s: limit for one answer. retry_s: how long to retry calls that the service refuses for now (429, 503), or
    that do not reach it. Raises SettingsError for an invalid address or token; all calls raise ServiceError.
    """

    def __init__(self, base_url: str, token: str, timeout_s: float = 120.0, retry_s: float = 60.0) -> None:
        self._http = _http_client(_address(base_url), timeout_s)
        self._bearer = _Bearer(_checked_token(token))
        self._retry_s = retry_s

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; tasks continue on the service."""
        self._http.close()

    # ---- conversions

    def convert(
        self,
        audio: Sendable,
        model: str,
        transpose: int | Literal["auto", "best"] = 0,
        generations_count: int = 1,
        idempotency_key: str | None = None,
        rate: Literal["source", 44100, 48000] | None = None,
        bits: Literal[24, 16] | None = None,
        **settings: Any,
    ) -> str:
        """Queue the conversion of a recording, a file or its bytes; return the task's id.

        transpose: semitones, auto or best. rate, bits: of the results; "source" is the recording's rate, but at least
        44100. settings: any other field of the call, such as preset, effects, likeness or untrained; of a song backing
        and stem, which are files; and callback_url and cancel_after_s of StartOptions.
        """
        fields = {"model": model, "transpose": transpose, "generations_count": generations_count, **settings}
        fields |= {name: str(word) for name, word in (("rate", rate), ("bits", bits)) if word is not None}
        files = {"audio": audio, **{name: fields.pop(name) for name in _FILES if name in fields}}
        return str(self._start("/convert", schemas.StartedTask, fields, files, idempotency_key)["task_id"])

    def check_task(self, task_id: str, wait_s: int | None = None) -> Answer:
        """Return the `status` of a conversion, and once it is completed its links and output settings.

        wait_s: let the service wait for its end, up to 60 s.
        """
        path = f"/check-task/{_segment(task_id)}"
        return self._call("GET", path, expected=schemas.CheckedTask, headers=_waiting(wait_s))

    def verify(self, audio: Sendable) -> Answer:
        """Return what the content credentials of an audio file prove: `state`, `sentence`, and more."""
        return self._start("/verify", schemas.Verdict, {}, {"audio": audio}, None)

    # ---- tasks

    def tasks(self, **filters: str | int) -> Answer:
        """Return `tasks`, newest first, and the `next_cursor`; filters: state, kind, limit, cursor."""
        return self._call("GET", "/tasks", expected=schemas.Tasks, params=filters)

    def task(self, task_id: str, wait_s: int | None = None) -> Answer:
        """Return all that is known about a task: progress, message, error, times, scores. wait_s: as in check_task."""
        return self._call("GET", f"/tasks/{_segment(task_id)}", expected=schemas.Task, headers=_waiting(wait_s))

    def events(self, task_id: str) -> Iterator[Event]:
        """Yield what happens to a task until it has ended, through lost connections and restarts of the service.

        Raises ServiceError where `retry_s` brings no further event.
        """
        path, stream = f"/tasks/{_segment(task_id)}/events", EventStream()
        end_s = time.monotonic() + self._retry_s
        while True:
            trouble = ServiceError(None, UNREACHABLE, f"The events of {task_id} ended before the task did.")
            try:
                for event in self._events(path, stream):
                    yield event
                    if event.is_last:
                        return
                    end_s = time.monotonic() + self._retry_s
            except ServiceError as failure:
                if not _may_be_repeated(failure):
                    raise
                trouble = failure
            pause_s = trouble.retry_after_s or min(max(stream.retry_s or 0.0, FIRST_PAUSE_S), LONGEST_PAUSE_S)
            if time.monotonic() + pause_s > end_s:
                raise trouble
            time.sleep(pause_s)

    def cancel(self, task_id: str) -> None:
        """Cancel a queued or running task; an ended one raises ServiceError (409)."""
        self._call("DELETE", f"/tasks/{_segment(task_id)}", expected=None)

    def delete_results(self, task_id: str) -> None:
        """Delete the recording and the takes of a conversion that has ended. Raises ServiceError."""
        self._call("DELETE", f"/tasks/{_segment(task_id)}/results", expected=None)

    def comp(self, task_id: str, takes: Sequence[int], **options: Unpack[StartOptions]) -> str:
        """Queue one take made of a conversion's takes, one number for each phrase; return its task's id."""
        key = options.pop("idempotency_key", None)
        fields = {"takes": ",".join(map(str, takes)), **options}
        return str(self._start(f"/tasks/{_segment(task_id)}/comp", schemas.StartedTask, fields, {}, key)["task_id"])

    def label_take(self, task_id: str, number: int, name: str | None = None, starred: bool | None = None) -> Answer:
        """Name or star a take; what is left out stays. Return its number, name and star."""
        path = f"/tasks/{_segment(task_id)}/takes/{number}"
        return self._change(path, schemas.LabelledTake, {"name": name, "starred": starred})

    # ---- callbacks

    def callbacks(self, **filters: str | int) -> Answer:
        """Return `callbacks`, newest first, and the `next_cursor`; filters: task_id, state, limit, cursor."""
        return self._call("GET", "/callbacks", expected=schemas.Callbacks, params=filters)

    def callback(self, callback_id: str) -> Answer:
        """Return a callback: its state, attempts and the last answer."""
        return self._call("GET", f"/callbacks/{_segment(callback_id)}", expected=schemas.Callback)

    def repeat_callback(self, callback_id: str, url: str | None = None) -> Answer:
        """Send a callback again; url: to another address."""
        path = f"/callbacks/{_segment(callback_id)}/repeat"
        return self._start(path, schemas.Callback, {"callback_url": url}, {}, None)

    def callback_secret(self) -> str:
        """Return the secret that callbacks are signed with, as libraries of Standard Webhooks take it."""
        return str(self._call("GET", "/callbacks/secret", expected=schemas.Secret)["secret"])

    # ---- voices

    def models(self, **filters: str | int) -> list[Answer]:
        """Return all usable voices, or those that match the filters (genre, gender, voice_type, q, ...)."""
        return list(self._call("GET", "/models", expected=schemas.Voices, params=filters)["models"])

    def model(self, model_id: str) -> Answer:
        """Return all that is known about a voice: its state, its training, its data report."""
        return self._call("GET", f"/models/{_segment(model_id)}", expected=schemas.Voice)

    def create_model(
        self, archive: Sendable, idempotency_key: str | None = None, **stated: Unpack[StatedProfile]
    ) -> str:
        """Create an untrained voice from a zip with the folder audio, and model.json unless the name is stated here;
        return its id. stated: replaces what model.json says."""
        files = {"training_audio_files": archive}
        return str(self._start("/models/create", schemas.CreatedVoice, stated, files, idempotency_key)["model_id"])

    def train(self, model_id: str, epochs: int, **options: Unpack[StartOptions]) -> Answer:
        """Train until the voice has `epochs` in total; return `status` and `current_epoch`. Repeated calls start
        nothing twice, but continue a failed training."""
        key = options.pop("idempotency_key", None)
        path, fields = f"/models/{_segment(model_id)}/train", {"epochs": epochs, **options}
        return self._start(path, schemas.TrainingStatus, fields, {}, key)

    def teach(
        self,
        model_id: str,
        recordings: Sendable | None = None,
        name: str | None = None,
        epochs: int = 0,
        **options: Unpack[StartOptions],
    ) -> str:
        """Let an imported model of RVC teach a voice of the studio; return the task's id.

        recordings: one, or a zip, to sing besides the bundled ones. epochs: of the training that follows; 0 for none.
        """
        key = options.pop("idempotency_key", None)
        fields, files = {"name": name, "epochs": epochs, **options}, {"recordings": recordings}
        path = f"/models/{_segment(model_id)}/teach"
        return str(self._start(path, schemas.StartedTask, fields, files, key)["task_id"])

    def import_model(
        self, package: Path | str, index: Path | str | None = None, speaker: int = 0, idempotency_key: str | None = None
    ) -> str:
        """Import a voice package, or a model of RVC (.pth, .onnx) with its index; return the voice's id."""
        files: dict[str, Sendable | None] = {"package": package, "index": index}
        fields = {"speaker": speaker}
        return str(self._start("/models/import", schemas.CreatedVoice, fields, files, idempotency_key)["model_id"])

    def export_model(self, model_id: str, path: Path | str) -> Path:
        """Fetch a voice as one file, to import elsewhere. Raises as `download`."""
        return self._fetch(self._http.base_url.join(f"models/{_segment(model_id)}/package"), Path(path), self._bearer)

    def delete_model(self, model_id: str) -> None:
        """Delete a voice with its recordings."""
        self._call("DELETE", f"/models/{_segment(model_id)}", expected=None)

    # ---- projects

    def projects(self, **filters: str | int) -> Answer:
        """Return `projects`, the last changed first, and the `next_cursor`; filters: q, limit, cursor."""
        return self._call("GET", "/projects", expected=schemas.Projects, params=filters)

    def project(self, project_id: str) -> Answer:
        """Return a project with its conversions, the newest first."""
        return self._call("GET", f"/projects/{_segment(project_id)}", expected=schemas.Project)

    def change_project(self, project_id: str, **changes: object) -> Answer:
        """Change the name, tempo_bpm, beats_per_bar or start_s of a project; return it."""
        return self._change(f"/projects/{_segment(project_id)}", schemas.Project, changes)

    def export_project(self, project_id: str, path: Path | str, dry: bool = False) -> Path:
        """Fetch a project as a zip for a DAW; dry: its takes without effects. Raises as `download`."""
        query = {"dry": "true"} if dry else {}
        made = self._call("GET", f"/projects/{_segment(project_id)}/export", expected=schemas.Link, params=query)
        return self.download(made["url"], path)

    def delete_project(self, project_id: str) -> None:
        """Delete all conversions of a project with their recordings and takes."""
        self._call("DELETE", f"/projects/{_segment(project_id)}", expected=None)

    # ---- the service

    def health(self) -> Answer:
        """Return `status` and the number of workers. Raises ServiceError if the service is not usable."""
        return self._call("GET", "/health", expected=schemas.Health)

    def metrics(self) -> str:
        """Return the metrics in Prometheus' text format."""
        return self._patiently(lambda: self._answered("GET", "/metrics")).content.decode("utf-8", "replace")

    # ---- start and wait

    def convert_and_wait(
        self,
        audio: Sendable,
        model: str,
        transpose: int | Literal["auto", "best"] = 0,
        generations_count: int = 1,
        *,
        folder: Path | str = ".",
        poll_s: float = 1.0,
        timeout_s: float = math.inf,
        report: Report | None = None,
        **options: Any,
    ) -> list[Path]:
        """Convert a recording and fetch the takes into `folder`: vocal.mia.wav, vocal.mia.take2.wav, ..., replacing
        files of these names.

        options: as in `convert`. poll_s: seconds between two requests for the task. timeout_s: how long to wait for
        the task, which continues after that. `report(fraction, message)` shows progress; if it raises Cancelled, the
        task is cancelled. Raises ServiceError, also for a conversion that failed, with the reason.
        """
        Path(folder).mkdir(parents=True, exist_ok=True)  # what cannot be made is known before the work
        task_id = self.convert(audio, model, transpose, generations_count, **options)
        try:
            done = self._wait_for_conversion(task_id, poll_s, timeout_s, report)
        except Cancelled:
            self._cancel_if_possible(task_id)
            raise
        stem = "audio" if isinstance(audio, bytes) else Path(audio).stem
        urls: list[str] = done["output_audio_urls"]
        return [self.download(url, Path(folder) / _take_name(stem, model, n, url)) for n, url in enumerate(urls, 1)]

    def train_and_wait(
        self,
        model_id: str,
        epochs: int,
        *,
        poll_s: float = 5.0,
        timeout_s: float = math.inf,
        report: Report | None = None,
    ) -> Answer:
        """Train a voice and wait until it is usable; return `model` of it. Parameters as above.

        Raises ServiceError for a training that failed, with its reason, or was stopped.
        """
        started = self.train(model_id, epochs)
        if started["status"] == "failed":  # an earlier failure not reported yet
            raise self._why_training_ended(self.model(model_id))
        try:
            return self._wait_for_training(model_id, poll_s, timeout_s, report)
        except Cancelled:
            self._cancel_if_possible(self.model(model_id).get("training", {}).get("task_id"))
            raise

    def download(self, url: str, path: Path | str) -> Path:
        """Fetch a link to audio into the file `path`, which appears only when complete.

        An interrupted download resumes if the file has not changed. Raises ServiceError, and OSError if the file cannot
        be written.
        """
        return self._fetch(_link(url), Path(path), None)

    def _fetch(self, url: httpx.URL, path: Path, auth: httpx.Auth | None) -> Path:
        with replacing(path) as unfinished, unfinished.open("wb") as target:
            fetch = _Download(self._http, url, target, auth)
            while not self._patiently(fetch.go_on):
                pass  # progress: start retrying afresh; it cannot progress without end
        return path

    # ---- waiting

    def _wait_for_conversion(self, task_id: str, poll_s: float, timeout_s: float, report: Report | None) -> Answer:
        def look() -> Answer | None:
            checked_task = self.check_task(task_id)
            if checked_task["status"] == "completed":
                return checked_task
            if checked_task["status"] == "failed":
                raise self._why_conversion_failed(task_id)
            if report is not None:
                task = self.task(task_id)
                report(task.get("progress", 0.0), task.get("message", ""))
            return None

        return _until(look, f"The conversion {task_id}", poll_s, timeout_s)

    def _wait_for_training(self, model_id: str, poll_s: float, timeout_s: float, report: Report | None) -> Answer:
        def look() -> Answer | None:
            model = self.model(model_id)
            if model["state"] == "completed":
                return model
            if model["state"] != "training":
                raise self._why_training_ended(model)
            if report is not None:
                training = model.get("training", {})
                report(training.get("progress") or 0.0, training.get("message", ""))
            return None

        return _until(look, f"The training of {model_id}", poll_s, timeout_s)

    def _why_conversion_failed(self, task_id: str) -> ServiceError:
        task = self.task(task_id)
        text = task.get("error") or f"The conversion {task_id} was {task['state']}."
        return ServiceError(None, task.get("error_code") or task["state"], text)

    def _why_training_ended(self, model: Answer) -> ServiceError:
        if model["state"] == "failed":
            return ServiceError(None, "failed", model.get("error") or "The training failed.")
        return ServiceError(None, "cancelled", "The training was stopped; the next training continues from there.")

    def _cancel_if_possible(self, task_id: str | None) -> None:
        with suppress(ServiceError):  # it may have ended
            if task_id is not None:
                self.cancel(task_id)

    # ---- calls

    def _start(
        self,
        path: str,
        expected: type[BaseModel],
        fields: Mapping[str, object],
        files: Mapping[str, Sendable | None],
        key: str | None,
    ) -> Answer:
        """POST a form; what is None is left out. The key makes it safe to repeat."""
        given = dict(fields)
        headers = {"Idempotency-Key": key or secrets.token_hex(16)}
        if (after_s := given.pop("cancel_after_s", None)) is not None:
            headers["Cancel-After"] = str(after_s)
        with ExitStack() as opened:
            sent = {name: _sent(name, one, opened) for name, one in files.items() if one is not None}
            data = _texts(given)
            return self._call("POST", path, expected=expected, headers=headers, data=data, files=sent or None)

    def _change(self, path: str, expected: type[BaseModel], fields: Mapping[str, object]) -> Answer:
        return self._call("PUT", path, expected=expected, data=_texts(fields))

    def _call(self, method: str, path: str, *, expected: type[BaseModel] | None, **content: Any) -> Answer:
        """Call the service; return its JSON, which must have the shape `expected`, or {} if that is None."""
        answer = self._patiently(lambda: self._answered(method, path, **content))
        return understood(answer, expected) if expected else {}

    def _answered(self, method: str, path: str, **content: Any) -> WholeAnswer:
        """Return the answer to one call. Raises ServiceError, also for a refusal."""
        with one_error(self._http.base_url), self._http.stream(method, path, auth=self._bearer, **content) as coming:
            answer = whole(coming)
        if not coming.is_success:
            raise refusal(answer)
        return answer

    def _events(self, path: str, stream: EventStream) -> Iterator[Event]:
        """Yield the events of one answer; those of names that nobody knows yet are none. Raises ServiceError."""
        headers = {**_EVENTS_ONLY, **_continued(stream)}
        url = self._http.base_url
        with one_error(url), self._http.stream("GET", path, auth=self._bearer, headers=headers) as coming:
            if not coming.is_success:
                raise refusal(whole(coming))
            kind = coming.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            if coming.status_code != HTTPStatus.OK or kind != "text/event-stream" or _is_packed(coming):
                not_understood(url, coming.status_code)
            unlimited(coming)
            stream.connect()
            silence = 0
            for piece in coming.iter_raw():
                silence += len(piece)
                if silence > LARGEST_SILENCE:
                    not_understood(url, coming.status_code)
                for one in stream.receive(piece):
                    if one.name in _EVENTS:
                        silence = 0
                        yield _event(one, url)

    def _patiently(self, attempt: Callable[[], T]) -> T:
        """Run `attempt`, retrying for `retry_s` while the service is unreachable or refuses for now."""
        end_s = time.monotonic() + self._retry_s
        usual_pause_s = FIRST_PAUSE_S
        while True:
            try:
                return attempt()
            except ServiceError as failure:
                if not _may_be_repeated(failure):
                    raise
                pause_s = usual_pause_s if failure.retry_after_s is None else failure.retry_after_s
                if time.monotonic() + pause_s > end_s:
                    raise
            time.sleep(pause_s)
            usual_pause_s = min(2 * usual_pause_s, LONGEST_PAUSE_S)


class _Bearer(httpx.Auth):
    """Sets the token on single calls, not on the client, so that no other host ever receives it."""

    def __init__(self, token: str) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


@dataclass
class _Download:
    """A download and its progress; `entity` identifies the file, so that parts of two files never mix."""

    http: httpx.Client
    url: httpx.URL
    target: BinaryIO
    auth: httpx.Auth | None = None
    entity: str | None = None
    furthest: int = 0

    def go_on(self) -> bool:
        """Fetch the rest; return whether it is complete, or progressed further than before. Raises ServiceError."""
        try:
            with (
                one_error(self.url),
                self.http.stream("GET", self.url, headers=self._headers(), auth=self.auth) as response,
            ):
                self._prepare(response)
                unlimited(response)
                for block in response.iter_raw():
                    self.target.write(block)
                    self._refuse_endless(response)
            return True
        except ServiceError as lost:
            reached, before = self.target.tell(), self.furthest
            self.furthest = max(reached, before)
            if lost.code == UNREACHABLE and reached >= before + _STEP:
                return False
            raise

    def _headers(self) -> dict[str, str]:
        whole = {"Accept-Encoding": "identity"}  # else positions would refer to compressed data
        if not self.target.tell() or self.entity is None:
            return whole
        return whole | {"Range": f"bytes={self.target.tell()}-", "If-Range": self.entity}

    def _prepare(self, response: httpx.Response) -> None:
        """Move to the position of the answer's range. Raises ServiceError."""
        here = f"bytes {self.target.tell()}-"
        goes_on = response.status_code == HTTPStatus.PARTIAL_CONTENT
        if goes_on and not response.headers.get("Content-Range", "").startswith(here):
            raise ServiceError(response.status_code, NOT_UNDERSTOOD, "The service sent a different range.")
        if not response.is_success:
            raise refusal(whole(response))
        if _is_packed(response):
            raise ServiceError(response.status_code, NOT_UNDERSTOOD, "The service sent a compressed file.")
        if not goes_on:
            self.target.seek(0)
            self.target.truncate()
            entity = response.headers.get("ETag", "")
            identifies = entity.startswith('"') and entity.isascii() and entity.isprintable()
            self.entity = entity if identifies else None  # a weak one does not identify bytes

    def _refuse_endless(self, response: httpx.Response) -> None:
        if self.target.tell() > LARGEST_FILE and "Content-Length" not in response.headers:
            text = f"{shown(self.url)} sends more than a file."
            raise ServiceError(response.status_code, NOT_UNDERSTOOD, text)


def _may_be_repeated(failure: ServiceError) -> bool:
    return failure.status in _LATER or failure.code == UNREACHABLE


def _waiting(wait_s: int | None) -> dict[str, str]:
    return {} if wait_s is None else {"Prefer": f"wait={wait_s}"}


def _texts(fields: Mapping[str, object]) -> dict[str, str]:
    """Return the fields of a form: records and lists as JSON, nothing for None."""
    return {name: _text(value) for name, value in fields.items() if value is not None}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _sent(name: str, file: Sendable, opened: ExitStack) -> tuple[str, bytes | BinaryIO]:
    """Return name and content of a file of a form. Raises ServiceError."""
    return (name, file) if isinstance(file, bytes) else (Path(file).name, opened.enter_context(_opened(Path(file))))


def _until(look: Callable[[], T | None], what: str, poll_s: float, timeout_s: float) -> T:
    """Call `look` until it returns a value. Raises ServiceError on timeout."""
    end_s = time.monotonic() + timeout_s
    while (found := look()) is None:
        if time.monotonic() + poll_s > end_s:
            raise ServiceError(None, "timeout", f"{what} has not finished after {timeout_s:g} s; it continues there.")
        time.sleep(poll_s)
    return found


def _web_address(text: str) -> httpx.URL | None:
    try:
        address = httpx.URL(text)
        has_port = address.port is None or 0 < address.port < 1 << 16
        has_name = address.host and _HOST.fullmatch(address.raw_host.decode("ascii"))
        return address if address.scheme in ("http", "https") and has_name and has_port else None
    except (httpx.InvalidURL, UnicodeError):  # the host's letters are decoded only when it is asked for
        return None


def _address(base_url: str) -> httpx.URL:
    address = _web_address(base_url)
    if address is None:
        raise SettingsError("The service's address must begin with http:// or https://, and name a host.")
    return address


def _http_client(address: httpx.URL, timeout_s: float) -> httpx.Client:
    """Return a client with the environment's proxies and certificates; a service on this machine needs no proxy."""
    try:
        transport = TimedTransport(timeout_s, address, takes_proxies=address.host not in _THIS_MACHINE)
    except (ImportError, RuntimeError, ValueError, OSError, httpx.InvalidURL) as cause:
        raise SettingsError(
            "The proxies or certificates that the environment names cannot be used: set ALL_PROXY, HTTP_PROXY and "
            "HTTPS_PROXY to ones that begin with http://, and look at NO_PROXY and SSL_CERT_FILE."
        ) from cause
    timeout, headers = httpx.Timeout(timeout_s, connect=CONNECT_S), {"Accept-Encoding": "gzip"}
    return httpx.Client(base_url=address, timeout=timeout, transport=transport, headers=headers)


def _link(url: str) -> httpx.URL:
    link = _web_address(url)
    if link is None:
        raise ServiceError(None, NOT_SENDABLE, "The link to the audio must begin with http:// or https://.")
    return link


def _checked_token(token: str) -> str:
    """Return a token that is valid in a header; otherwise httpx would show it in its error."""
    token = token.strip()
    if not token or not all("!" <= letter <= "~" for letter in token):
        raise SettingsError("The token is empty or contains invalid characters. Copy it again.")
    return token


def _continued(stream: EventStream) -> dict[bytes, bytes]:
    """Return the header that says which event was the last; none for an id that no header can hold."""
    last_id = stream.last_id.encode().strip()
    return {b"Last-Event-ID": last_id} if _IN_A_HEADER.fullmatch(last_id) else {}


def _event(sent: StreamEvent, url: httpx.URL) -> Event:
    """Return an event of a task as it was sent. Raises ServiceError for one that is none."""
    try:
        return Event(sent.name, checked(sent.data, schemas.Task))
    except ValueError as cause:
        not_understood(url, HTTPStatus.OK, cause)


def _is_packed(response: httpx.Response) -> bool:
    return response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity")


def _opened(path: Path) -> BinaryIO:
    """Open a file to send. Raises ServiceError for one that is none: a pipe would never end."""
    try:
        if path.is_file():
            return path.open("rb")
        reason = "not a file" if path.exists() else "no such file"
    except (OSError, ValueError) as cause:
        reason = getattr(cause, "strerror", None) or str(cause)
    raise ServiceError(None, NOT_SENDABLE, f'"{path.name[:100]}" cannot be sent: {reason}.')


def _segment(identifier: str) -> str:
    """Return an id as a part of an address. Raises ServiceError for one that would lead to another address."""
    if not identifier.strip("."):
        raise ServiceError(None, NOT_SENDABLE, f"An id must have letters or digits, not be '{identifier}'.")
    return quote(identifier, safe="", errors="replace")


def _take_name(stem: str, model: str, number: int, url: str) -> str:
    suffix = Path(_link(url).path).suffix
    suffix = suffix if _SUFFIX.fullmatch(suffix) else ".wav"
    return fitting_name(stem, f".{model}{suffix}" if number == 1 else f".{model}.take{number}{suffix}")
