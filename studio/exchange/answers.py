"""Answers over HTTP, from whatever server: each is read whole, within limits, and understood; or it is a ServiceError.
What a server says is shown only as text of one line."""

import json
import re
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn

import httpx
from pydantic import BaseModel

from engine.errors import EngineError

Answer = dict[str, Any]  # of the service, as its reference describes it

LARGEST_ANSWER = 64 << 20  # bytes of JSON, unpacked
UNREACHABLE, NOT_SENDABLE, NOT_UNDERSTOOD = "unreachable", "not_sendable", "not_understood"
_LONGEST_SENTENCE = 2000  # characters
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_UNSHOWABLE = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff]+")  # would steer a terminal, or cannot be encoded
_PLAIN, _PACKED = ("", "identity"), ("gzip", "x-gzip")
_GZIP = 31  # zlib's wbits for it


class ServiceError(EngineError):
    """An error reported by the service, or a failure to reach it (status None). detail: for people.
    errors: (field, message) of each invalid field. retry_after_s: when to try again, if the service states it."""

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


@dataclass(frozen=True)
class WholeAnswer:
    """An answer that was read to its end and unpacked."""

    url: httpx.URL
    status: int
    headers: httpx.Headers
    content: bytes


@contextmanager
def one_error(url: httpx.URL) -> Iterator[None]:
    """Raise a ServiceError for whatever fails between here and a server, or cannot be sent to it."""
    try:
        yield
    except httpx.RequestError as cause:
        raise _lost(cause, url) from cause
    except (UnicodeError, httpx.InvalidURL) as cause:
        text = "A value or an address is too long, or has characters that cannot be sent."
        raise ServiceError(None, NOT_SENDABLE, text) from cause


def whole(response: httpx.Response) -> WholeAnswer:
    """Read an answer to its end. Raises ServiceError if it has none, and httpx.RequestError if it is cut off."""
    content = bytearray()
    for piece in _unpacked(response):
        content += piece
        _refuse_too_large(response, len(content))
    return WholeAnswer(response.url, response.status_code, response.headers, bytes(content))


def understood(answer: WholeAnswer, shape: type[BaseModel]) -> Answer:
    """Return a JSON answer that has this shape. Raises ServiceError for any other."""
    try:
        return checked(answer.content, shape)
    except ValueError as cause:
        not_understood(answer.url, answer.status, cause)


def checked(content: str | bytes, shape: type[BaseModel]) -> Answer:
    """Return a JSON object that has this shape. Raises ValueError for anything else."""
    read = _json(content)
    shape.model_validate(read)
    return read


def refusal(answer: WholeAnswer) -> ServiceError:
    """Return what an answer that is no success says: a problem as in RFC 9457, or the status if a proxy answered."""
    try:
        problem = _json(answer.content)
    except ValueError:
        problem = {}
    fields = problem.get("errors")
    errors = tuple(
        (_shown_text(one.get("field", "")), _shown_text(one.get("message", "")))
        for one in (fields if isinstance(fields, list) else [])
        if isinstance(one, dict)
    )
    said = (problem.get(name) for name in ("detail", "title"))
    unsaid = f"The service answered with status {answer.status}."
    detail = next((_shown_text(one) for one in said if one and isinstance(one, str)), unsaid)
    code = problem.get("code")
    known = code if isinstance(code, str) and _CODE.fullmatch(code) else f"http_{answer.status}"
    return ServiceError(answer.status, known, detail, errors, _retry_after_s(answer.headers))


def not_understood(url: httpx.URL, status: int, cause: Exception | None = None) -> NoReturn:
    """Raise ServiceError for an answer that is none of the service's."""
    text = f"The server at {shown(url)} does not answer as Timbre Studio does. Check the address."
    raise ServiceError(status, NOT_UNDERSTOOD, text) from cause


def shown(url: httpx.URL) -> str:
    """Return an address without secrets."""
    return str(url.copy_with(username=None, password=None, query=None, fragment=None))


def _unpacked(response: httpx.Response) -> Iterator[bytes]:
    """Yield the content of an answer. httpx would take half a gzip file for a whole one, and wait for it for ever."""
    packing = response.headers.get("Content-Encoding", "").strip().lower()
    if packing in _PLAIN:
        yield from response.iter_raw()
        return
    unpacking, received = zlib.decompressobj(_GZIP), 0
    try:
        for piece in response.iter_raw():
            received += len(piece)
            _refuse_too_large(response, received)
            yield unpacking.decompress(piece, LARGEST_ANSWER + 1)
    except zlib.error as cause:
        not_understood(response.url, response.status_code, cause)
    if received and (packing not in _PACKED or not unpacking.eof or unpacking.unused_data):
        not_understood(response.url, response.status_code)


def _refuse_too_large(response: httpx.Response, size: int) -> None:
    if size > LARGEST_ANSWER:
        text = f"{shown(response.url)} sends more than an answer: is Timbre Studio running there?"
        raise ServiceError(response.status_code, NOT_UNDERSTOOD, text)


def _lost(cause: httpx.RequestError, url: httpx.URL) -> ServiceError:
    if isinstance(cause, httpx.LocalProtocolError):
        return ServiceError(None, NOT_SENDABLE, "The request was not sent completely: the file may have changed.")
    said = "did not answer in time" if isinstance(cause, httpx.TimeoutException) else "cannot be reached"
    return ServiceError(None, UNREACHABLE, f"{shown(url)} {said}: is the service running there?")


def _json(content: str | bytes) -> Answer:
    """Return a JSON object. Raises ValueError for anything else, and for the constants that JSON does not have."""
    try:
        read = json.loads(content, parse_constant=_refuse_constant)
    except RecursionError as cause:
        raise ValueError("It is nested too deep.") from cause
    if not isinstance(read, dict):
        raise ValueError("It is no object.")
    return read


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}.")


def _retry_after_s(headers: httpx.Headers) -> float | None:
    """Return Retry-After in seconds, which may be a date; None if missing or invalid."""
    written = headers.get("Retry-After", "")
    try:
        seconds = float(written) if written[:1].isdigit() else parsedate_to_datetime(written).timestamp() - time.time()
    except (ValueError, OverflowError, OSError):
        return None
    return max(seconds, 0.0)


def _shown_text(value: object) -> str:
    return _UNSHOWABLE.sub(" ", str(value)[:_LONGEST_SENTENCE]).strip()
