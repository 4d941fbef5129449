"""A client of the service: the published calls, and whole conversions and trainings in one call.

    with Client("http://127.0.0.1:7860", token) as client:
        takes = client.convert_and_wait("vocal.wav", "koguchi", transpose="auto", folder="converted")

Every POST carries an Idempotency-Key, so a call that was refused under load, or whose answer was lost, is repeated and
starts nothing twice. Only the service receives the token: links to audio are fetched without it.
"""

import json
import math
import secrets
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import nullcontext, suppress
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

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0  # between attempts without a Retry-After
CONNECT_S = 10.0
LARGEST_ANSWER = 64 << 20  # bytes of JSON, unpacked
_LATER = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
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


class ConversionOptions(TypedDict, total=False):
    """Further options of `Client.convert`."""

    idempotency_key: str | None
    untrained: bool


class StatedProfile(TypedDict, total=False):
    """What `Client.create_model` says of a voice, as model.json does. consent: a statement; or statement, by, date."""

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


class Client:
    """The service at `base_url`, used with the account of `token`. Thread-safe; close it, or use `with`.

    timeout_s: limit for one answer. retry_s: how long to retry calls that the service refuses for now (429, 503), or
    that do not reach it. Raises SettingsError for an invalid address or token; all calls raise ServiceError.
    """

    def __init__(self, base_url: str, token: str, timeout_s: float = 120.0, retry_s: float = 60.0) -> None:
        self._http = httpx.Client(base_url=_address(base_url), timeout=httpx.Timeout(timeout_s, connect=CONNECT_S))
        self._bearer = _Bearer(_checked_token(token))
        self._timeout_s, self._retry_s = timeout_s, retry_s

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; tasks continue on the service."""
        self._http.close()

    # ---- the published calls

    def convert(
        self,
        audio: Path | str | bytes,
        model: str,
        transpose: int | Literal["auto", "best"] = 0,
        generations_count: int = 1,
        idempotency_key: str | None = None,
        *,
        untrained: bool = False,
    ) -> str:
        """Queue the conversion of a recording, a file or its bytes; return the task's id.

        transpose: semitones, auto or best. untrained: accept a voice that has not been trained yet. With your own
        `idempotency_key` even a restarted program starts nothing twice.
        """
        fields = {"model": model, "transpose": str(transpose), "generations_count": str(generations_count)}
        fields |= {"untrained": "true"} if untrained else {}  # unknown to an earlier service
        return self._post_file("/convert", "audio", audio, fields, "task_id", idempotency_key)

    def check_task(self, task_id: str) -> dict[str, Any]:
        """Return the `status` of a conversion, and once it is completed its links and output settings."""
        return self._call("GET", f"/check-task/{_segment(task_id)}", expected="status")

    def models(self, **filters: str | int) -> list[dict[str, Any]]:
        """Return all usable voices, or those that match the filters (genre, gender, voice_type, q, ...)."""
        return list(self._call("GET", "/models", expected="models", params=filters)["models"])

    def create_model(
        self, archive: Path | str | bytes, idempotency_key: str | None = None, **stated: Unpack[StatedProfile]
    ) -> str:
        """Create an untrained voice from a zip with the folder audio, and model.json unless the name is stated here;
        return its id. stated: replaces what model.json says."""
        fields = {name: said if isinstance(said, str) else json.dumps(said) for name, said in stated.items()}
        return self._post_file("/models/create", "training_audio_files", archive, fields, "model_id", idempotency_key)

    def train(self, model_id: str, epochs: int) -> dict[str, Any]:
        """Train until the voice has `epochs` in total; return `status` and `current_epoch`. Repeated calls start
        nothing twice, but continue a failed training."""
        return self._post(f"/models/{_segment(model_id)}/train", "status", None, data={"epochs": str(epochs)})

    # ---- the richer views

    def task(self, task_id: str) -> dict[str, Any]:
        """Return all that is known about a task: progress, message, error, times, scores."""
        return self._call("GET", f"/tasks/{_segment(task_id)}", expected="state")

    def delete_results(self, task_id: str) -> None:
        """Delete the recording and the takes of a conversion that has ended. Raises ServiceError."""
        self._call("DELETE", f"/tasks/{_segment(task_id)}/results", expected=None)

    def cancel(self, task_id: str) -> None:
        """Cancel a queued or running task; an ended one raises ServiceError (409)."""
        self._call("DELETE", f"/tasks/{_segment(task_id)}", expected=None)

    def model(self, model_id: str) -> dict[str, Any]:
        """Return all that is known about a voice: its state, its training, its data report."""
        return self._call("GET", f"/models/{_segment(model_id)}", expected="state")

    # ---- start and wait

    def convert_and_wait(
        self,
        audio: Path | str | bytes,
        model: str,
        transpose: int | Literal["auto", "best"] = 0,
        generations_count: int = 1,
        *,
        folder: Path | str = ".",
        poll_s: float = 1.0,
        timeout_s: float = math.inf,
        report: Report | None = None,
        **options: Unpack[ConversionOptions],
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
    ) -> dict[str, Any]:
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
        path = Path(path)
        with replacing(path) as unfinished, unfinished.open("wb") as target:
            fetch = _Download(self._http, _link(url), target)
            while not self._patiently(fetch.go_on):
                pass  # progress: start retrying afresh; it cannot progress without end
        return path

    # ---- waiting

    def _wait_for_conversion(
        self, task_id: str, poll_s: float, timeout_s: float, report: Report | None
    ) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
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
    ) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
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

    def _why_training_ended(self, model: Mapping[str, Any]) -> ServiceError:
        if model["state"] == "failed":
            return ServiceError(None, "failed", model.get("error") or "The training failed.")
        return ServiceError(None, "cancelled", "The training was stopped; the next training continues from there.")

    def _cancel_if_possible(self, task_id: str | None) -> None:
        with suppress(ServiceError):  # it may have ended
            if task_id is not None:
                self.cancel(task_id)

    # ---- calls

    def _post_file(
        self, path: str, field: str, file: Path | str | bytes, fields: Mapping[str, str], expected: str, key: str | None
    ) -> str:
        name = field if isinstance(file, bytes) else Path(file).name
        with nullcontext(file) if isinstance(file, bytes) else _opened(Path(file)) as content:
            answer = self._post(path, expected, key, data=dict(fields), files={field: (name, content)})
        return str(answer[expected])

    def _post(self, path: str, expected: str, key: str | None, **content: Any) -> dict[str, Any]:
        headers = {"Idempotency-Key": key or secrets.token_hex(16)}
        return self._call("POST", path, expected=expected, headers=headers, **content)

    def _call(self, method: str, path: str, *, expected: str | None, **content: Any) -> dict[str, Any]:
        """Call the service; return its JSON, which must have the field `expected`, or {} if that is None."""

        def attempt() -> dict[str, Any]:
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
            return _answer(response, expected) if expected else {}

        return self._patiently(attempt)

    def _patiently(self, attempt: Callable[[], T]) -> T:
        """Run `attempt`, retrying for `retry_s` while the service is unreachable or refuses for now."""
        end_s = time.monotonic() + self._retry_s
        usual_pause_s = FIRST_PAUSE_S
        while True:
            try:
                return attempt()
            except ServiceError as failure:
                if failure.status not in _LATER and failure.code != _UNREACHABLE:
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
    entity: str | None = None
    furthest: int = 0

    def go_on(self) -> bool:
        """Fetch the rest; return whether it is complete, or progressed further than before. Raises ServiceError."""
        try:
            with self.http.stream("GET", self.url, headers=self._headers(), auth=None) as response:
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


def _answer(response: httpx.Response, expected: str) -> dict[str, Any]:
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


def _json(response: httpx.Response) -> dict[str, Any]:
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
