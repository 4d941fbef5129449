"""A client of the service: each of its calls as a method, and whole conversions and trainings in one call.

    with Client("http://127.0.0.1:7860", token) as client:
        takes = client.convert_and_wait("vocal.wav", "koguchi", transpose="auto", folder="converted")

Every POST carries an Idempotency-Key, so a call that was refused under load, or whose answer was lost, is repeated and
starts nothing twice. Only the service receives the token: links to audio are fetched without it.
"""

import json
import math
import secrets
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self, TypedDict, TypeVar, Unpack
from urllib.parse import quote, urlsplit

import httpx

from engine.errors import Cancelled, EngineError, SettingsError
from engine.files import fitting_name, replacing
from engine.progress import Report

T = TypeVar("T")
Sendable = Path | str | bytes  # a file, or its content
Answer = dict[str, Any]  # of the service, as its reference describes it

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0  # between attempts without a Retry-After
CONNECT_S = 10.0
_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")
LARGEST_ANSWER = 64 << 20  # bytes of JSON, unpacked
_LATER = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_FILES = ("backing", "stem")  # of a song
_UNREACHABLE, _NOT_SENDABLE = "unreachable", "not_sendable"


class ServiceError(EngineError):
    """An error reported by the service, or a failure to reach it.

    status: of HTTP, None without an answer. code: stable, for programs. detail: for people. errors: (field, message)
    for each invalid field. retry_after_s: when to try again, if the service states it.
    """

    def __init__(
        self,
        status: int | None,
        code: str,
        detail: str,
        errors: tuple[tuple[str, str], ...] = (),
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = errors
        self.retry_after_s = retry_after_s


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
        self._http = _http_client(_address(base_url), httpx.Timeout(timeout_s, connect=CONNECT_S))
        self._bearer = _Bearer(_checked_token(token))
        self._timeout_s, self._retry_s = timeout_s, retry_s

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
        return str(self._start("/convert", "task_id", fields, files, idempotency_key)["task_id"])

    def check_task(self, task_id: str, wait_s: int | None = None) -> Answer:
        """Return the `status` of a conversion, and once it is completed its links and output settings.

        wait_s: let the service wait for its end, up to 60 s.
        """
        return self._call("GET", f"/check-task/{_segment(task_id)}", expected="status", headers=_waiting(wait_s))

    def verify(self, audio: Sendable) -> Answer:
        """Return what the content credentials of an audio file prove: `state`, `sentence`, and more."""
        return self._start("/verify", "state", {}, {"audio": audio}, None)

    # ---- tasks

    def tasks(self, **filters: str | int) -> Answer:
        """Return `tasks`, newest first, and the `next_cursor`; filters: state, kind, limit, cursor."""
        return self._call("GET", "/tasks", expected="tasks", params=filters)

    def task(self, task_id: str, wait_s: int | None = None) -> Answer:
        """Return all that is known about a task: progress, message, error, times, scores. wait_s: as in check_task."""
        return self._call("GET", f"/tasks/{_segment(task_id)}", expected="state", headers=_waiting(wait_s))

    def events(self, task_id: str) -> Iterator[Event]:
        """Yield what happens to a task until it has ended, through lost connections and restarts of the service."""
        end_s = time.monotonic() + self._retry_s
        while True:
            try:
                for event in self._events(f"/tasks/{_segment(task_id)}/events"):
                    yield event
                    if event.is_last:
                        return
                    end_s = time.monotonic() + self._retry_s
            except ServiceError as failure:
                if not _may_be_repeated(failure) or time.monotonic() > end_s:
                    raise
            time.sleep(FIRST_PAUSE_S)

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
        return str(self._start(f"/tasks/{_segment(task_id)}/comp", "task_id", fields, {}, key)["task_id"])

    def label_take(
        self, task_id: str, number: int, name: str | None = None, starred: bool | None = None
    ) -> Answer:
        """Name or star a take; what is left out stays. Return its number, name and star."""
        path = f"/tasks/{_segment(task_id)}/takes/{number}"
        return self._change(path, "starred", {"name": name, "starred": starred})

    # ---- callbacks

    def callbacks(self, **filters: str | int) -> Answer:
        """Return `callbacks`, newest first, and the `next_cursor`; filters: task_id, state, limit, cursor."""
        return self._call("GET", "/callbacks", expected="callbacks", params=filters)

    def callback(self, callback_id: str) -> Answer:
        """Return a callback: its state, attempts and the last answer."""
        return self._call("GET", f"/callbacks/{_segment(callback_id)}", expected="state")

    def repeat_callback(self, callback_id: str, url: str | None = None) -> Answer:
        """Send a callback again; url: to another address."""
        path = f"/callbacks/{_segment(callback_id)}/repeat"
        return self._start(path, "state", {"callback_url": url}, {}, None)

    def callback_secret(self) -> str:
        """Return the secret that callbacks are signed with, as libraries of Standard Webhooks take it."""
        return str(self._call("GET", "/callbacks/secret", expected="secret")["secret"])

    # ---- voices

    def models(self, **filters: str | int) -> list[Answer]:
        """Return all usable voices, or those that match the filters (genre, gender, voice_type, q, ...)."""
        return list(self._call("GET", "/models", expected="models", params=filters)["models"])

    def model(self, model_id: str) -> Answer:
        """Return all that is known about a voice: its state, its training, its data report."""
        return self._call("GET", f"/models/{_segment(model_id)}", expected="state")

    def create_model(
        self, archive: Sendable, idempotency_key: str | None = None, **stated: Unpack[StatedProfile]
    ) -> str:
        """Create an untrained voice from a zip with the folder audio, and model.json unless the name is stated here;
        return its id. stated: replaces what model.json says."""
        files = {"training_audio_files": archive}
        return str(self._start("/models/create", "model_id", stated, files, idempotency_key)["model_id"])

    def train(self, model_id: str, epochs: int, **options: Unpack[StartOptions]) -> Answer:
        """Train until the voice has `epochs` in total; return `status` and `current_epoch`. Repeated calls start
        nothing twice, but continue a failed training."""
        key = options.pop("idempotency_key", None)
        return self._start(f"/models/{_segment(model_id)}/train", "status", {"epochs": epochs, **options}, {}, key)

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
        return str(self._start(f"/models/{_segment(model_id)}/teach", "task_id", fields, files, key)["task_id"])

    def import_model(
        self, package: Path | str, index: Path | str | None = None, speaker: int = 0, idempotency_key: str | None = None
    ) -> str:
        """Import a voice package, or a model of RVC (.pth, .onnx) with its index; return the voice's id."""
        files: dict[str, Sendable | None] = {"package": package, "index": index}
        return str(self._start("/models/import", "model_id", {"speaker": speaker}, files, idempotency_key)["model_id"])

    def export_model(self, model_id: str, path: Path | str) -> Path:
        """Fetch a voice as one file, to import elsewhere. Raises as `download`."""
        return self._fetch(self._http.base_url.join(f"models/{_segment(model_id)}/package"), Path(path), self._bearer)

    def delete_model(self, model_id: str) -> None:
        """Delete a voice with its recordings."""
        self._call("DELETE", f"/models/{_segment(model_id)}", expected=None)

    # ---- projects

    def projects(self, **filters: str | int) -> Answer:
        """Return `projects`, the last changed first, and the `next_cursor`; filters: q, limit, cursor."""
        return self._call("GET", "/projects", expected="projects", params=filters)

    def project(self, project_id: str) -> Answer:
        """Return a project with its conversions, the newest first."""
        return self._call("GET", f"/projects/{_segment(project_id)}", expected="conversions")

    def change_project(self, project_id: str, **changes: object) -> Answer:
        """Change the name, tempo_bpm, beats_per_bar or start_s of a project; return it."""
        return self._change(f"/projects/{_segment(project_id)}", "conversions", changes)

    def export_project(self, project_id: str, path: Path | str, dry: bool = False) -> Path:
        """Fetch a project as a zip for a DAW; dry: its takes without effects. Raises as `download`."""
        query = {"dry": "true"} if dry else {}
        made = self._call("GET", f"/projects/{_segment(project_id)}/export", expected="url", params=query)
        return self.download(made["url"], path)

    def delete_project(self, project_id: str) -> None:
        """Delete all conversions of a project with their recordings and takes."""
        self._call("DELETE", f"/projects/{_segment(project_id)}", expected=None)

    # ---- the service

    def health(self) -> Answer:
        """Return `status` and the number of workers. Raises ServiceError if the service is not usable."""
        return self._call("GET", "/health", expected="status")

    def metrics(self) -> str:
        """Return the metrics in Prometheus' text format."""
        return self._patiently(lambda: self._answered("GET", "/metrics")).text

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
            self._cancel_if_possible(self.model(model_id)["training"]["task_id"])
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

    def _wait_for_conversion(
        self, task_id: str, poll_s: float, timeout_s: float, report: Report | None
    ) -> Answer:
        def look() -> Answer | None:
            published = self.check_task(task_id)
            if published["status"] == "completed":
                return published
            if published["status"] == "failed":
                raise self._why_conversion_failed(task_id)
            if report is not None:
                task = self.task(task_id)
                report(task["progress"], task["message"])
            return None

        return _until(look, f"The conversion {task_id}", poll_s, timeout_s)

    def _wait_for_training(
        self, model_id: str, poll_s: float, timeout_s: float, report: Report | None
    ) -> Answer:
        def look() -> Answer | None:
            model = self.model(model_id)
            if model["state"] == "completed":
                return model
            if model["state"] != "training":
                raise self._why_training_ended(model)
            if report is not None:
                report(model["training"]["progress"] or 0.0, model["training"]["message"])
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
        expected: str,
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

    def _change(self, path: str, expected: str, fields: Mapping[str, object]) -> Answer:
        return self._call("PUT", path, expected=expected, data=_texts(fields))

    def _call(self, method: str, path: str, *, expected: str | None, **content: Any) -> Answer:
        """Call the service; return its JSON, which must have the field `expected`, or {} if that is None."""
        response = self._patiently(lambda: self._answered(method, path, **content))
        return _answer(response, expected) if expected else {}

    def _answered(self, method: str, path: str, **content: Any) -> httpx.Response:
        """Return the answer to one call. Raises ServiceError, also for a refusal."""
        try:
            with self._http.stream(method, path, auth=self._bearer, **content) as coming:
                response = _whole(coming, time.monotonic() + self._timeout_s)
        except httpx.RequestError as cause:
            raise _lost(cause, self._http.base_url) from cause
        except (UnicodeError, httpx.InvalidURL) as cause:
            text = "A value is too long, or has characters that cannot be sent."
            raise ServiceError(None, _NOT_SENDABLE, text) from cause
        if not response.is_success:
            raise _refusal(response)
        return response

    def _events(self, path: str) -> Iterator[Event]:
        """Yield the events of one answer. Raises ServiceError."""
        try:
            with self._http.stream("GET", path, auth=self._bearer) as coming:
                if not coming.is_success:
                    raise _refusal(_whole(coming))
                name = ""
                for line in coming.iter_lines():
                    label, _, value = line.partition(": ")
                    name = value if label == "event" else name
                    if label == "data":
                        yield Event(name, json.loads(value))
        except httpx.RequestError as cause:
            raise _lost(cause, self._http.base_url) from cause
        except ValueError as cause:
            text = f"The server at {_shown(self._http.base_url)} is not Timbre Studio. Check the address."
            raise ServiceError(None, "not_understood", text) from cause

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
            with self.http.stream("GET", self.url, headers=self._headers(), auth=self.auth) as response:
                self._prepare(response)
                for block in response.iter_raw():
                    self.target.write(block)
            return True
        except httpx.RequestError as cause:
            reached, before = self.target.tell(), self.furthest
            self.furthest = max(reached, before)
            if reached > before:
                return False
            raise _lost(cause, self.url) from cause

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
            raise ServiceError(response.status_code, "not_understood", "The service sent a different range.")
        if not response.is_success:
            raise _refusal(_whole(response))
        if not goes_on:
            self.target.seek(0)
            self.target.truncate()
            entity = response.headers.get("ETag", "")
            self.entity = entity if entity.startswith('"') else None  # a weak one does not identify bytes


def _may_be_repeated(failure: ServiceError) -> bool:
    return failure.status in _LATER or failure.code == _UNREACHABLE


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
    except (httpx.InvalidURL, UnicodeError):
        return None
    return address if address.scheme in ("http", "https") and address.host else None


def _address(base_url: str) -> httpx.URL:
    address = _web_address(base_url)
    if address is None:
        raise SettingsError("The service's address must begin with http:// or https://, and name a host.")
    return address


def _http_client(address: httpx.URL, timeout: httpx.Timeout) -> httpx.Client:
    """Return a client with the environment's proxies and certificates, which a service on this machine needs not."""
    try:
        return httpx.Client(base_url=address, timeout=timeout, trust_env=address.host not in _THIS_MACHINE)
    except (ImportError, ValueError, OSError, httpx.InvalidURL) as cause:
        raise SettingsError(
            "The proxies or certificates that the environment names cannot be used: set ALL_PROXY, HTTP_PROXY and "
            "HTTPS_PROXY to ones that begin with http://, and look at NO_PROXY and SSL_CERT_FILE."
        ) from cause


def _link(url: str) -> httpx.URL:
    link = _web_address(url)
    if link is None:
        raise ServiceError(None, _NOT_SENDABLE, "The link to the audio must begin with http:// or https://.")
    return link


def _checked_token(token: str) -> str:
    """Return a token that is valid in a header; otherwise httpx would show it in its error."""
    token = token.strip()
    if not token or not all("!" <= letter <= "~" for letter in token):
        raise SettingsError("The token is empty or contains invalid characters. Copy it again.")
    return token


def _whole(response: httpx.Response, end_s: float = math.inf) -> httpx.Response:
    """Return an answer read to its end. Raises ServiceError if it has none, and httpx.ReadTimeout if it takes long."""
    content = bytearray()
    for piece in response.iter_bytes():
        content += piece
        if len(content) > LARGEST_ANSWER:
            text = f"{_shown(response.url)} sends more than an answer: is Timbre Studio running there?"
            raise ServiceError(response.status_code, "not_understood", text)
        if time.monotonic() > end_s:
            raise httpx.ReadTimeout("It goes on and on.", request=response.request)
    headers = {name: value for name, value in response.headers.items() if name != "content-encoding"}
    return httpx.Response(response.status_code, headers=headers, content=bytes(content), request=response.request)


def _answer(response: httpx.Response, expected: str) -> Answer:
    answer = _json(response)
    if expected not in answer:
        text = f"The server at {_shown(response.url)} is not Timbre Studio. Check the address."
        raise ServiceError(response.status_code, "not_understood", text)
    return answer


def _refusal(response: httpx.Response) -> ServiceError:
    problem = _json(response)
    fields = problem.get("errors")
    errors = tuple(
        (str(one.get("field", "")), str(one.get("message", "")))
        for one in (fields if isinstance(fields, list) else [])
        if isinstance(one, dict)
    )
    unsaid = f"The service answered with status {response.status_code}."
    detail = problem.get("detail") or problem.get("title") or unsaid
    code = str(problem.get("code") or f"http_{response.status_code}")
    return ServiceError(response.status_code, code, str(detail), errors, _retry_after_s(response))


def _lost(cause: httpx.RequestError, url: httpx.URL) -> ServiceError:
    if isinstance(cause, httpx.LocalProtocolError):
        return ServiceError(None, _NOT_SENDABLE, "The request was not sent completely: the file may have changed.")
    said = "did not answer in time" if isinstance(cause, httpx.TimeoutException) else "cannot be reached"
    return ServiceError(None, _UNREACHABLE, f"{_shown(url)} {said}: is the service running there?")


def _json(response: httpx.Response) -> Answer:
    try:
        answer = response.json()
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _retry_after_s(response: httpx.Response) -> float | None:
    """Return Retry-After in seconds, which may be a date; None if missing or invalid."""
    written = response.headers.get("Retry-After", "")
    try:
        seconds = float(written) if written[:1].isdigit() else parsedate_to_datetime(written).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return max(seconds, 0.0)


def _shown(url: httpx.URL) -> str:
    """Return an address without secrets."""
    return str(url.copy_with(username=None, password=None, query=None, fragment=None))


def _opened(path: Path) -> BinaryIO:
    """Open a file to send. Raises ServiceError for one that is none: a pipe would never end."""
    try:
        if path.is_file():
            return path.open("rb")
        reason = "not a file" if path.exists() else "no such file"
    except (OSError, ValueError) as cause:
        reason = getattr(cause, "strerror", None) or str(cause)
    raise ServiceError(None, _NOT_SENDABLE, f'"{path.name[:100]}" cannot be sent: {reason}.')


def _segment(identifier: str) -> str:
    """Return an id as a part of an address. Raises ServiceError for one that would lead to another address."""
    if not identifier.strip("."):
        raise ServiceError(None, _NOT_SENDABLE, f"An id must have letters or digits, not be '{identifier}'.")
    return quote(identifier, safe="", errors="replace")


def _take_name(stem: str, model: str, number: int, url: str) -> str:
    suffix = Path(urlsplit(url).path).suffix or ".wav"
    return fitting_name(stem, f".{model}{suffix}" if number == 1 else f".{model}.take{number}{suffix}")
