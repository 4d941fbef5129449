"""Problem documents (RFC 9457): errors with a stable code and a list of invalid fields.

Only texts written for users are sent. An unforeseen error is reported without details.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from engine.errors import (
    ArchiveError,
    AudioError,
    DatasetError,
    EngineError,
    ProfileError,
    SettingsError,
    VoiceError,
    is_full_disk,
)
from studio.errors import (
    DiskFull,
    Invalid,
    NotFound,
    NotReadable,
    StudioError,
    TooLarge,
    TooMany,
    Unauthorised,
    Unavailable,
    WrongState,
)

MEDIA_TYPE = "application/problem+json"
CHALLENGE = 'Bearer realm="Timbre Studio"'
INTERNAL = "An internal error. The service's log has the details under the X-Request-ID of this response."
# the first match counts
_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (Unauthorised, 401),
    (NotFound, 404),
    (WrongState, 409),
    (TooLarge, 413),
    (NotReadable, 415),
    (Invalid, 422),
    (TooMany, 429),
    (Unavailable, 503),
    (DiskFull, 507),
    (AudioError, 415),
    (EngineError, 422),
)
_ENGINE_CODES: tuple[tuple[type[EngineError], str], ...] = (
    (AudioError, "audio_not_readable"),
    (ProfileError, "profile_invalid"),
    (DatasetError, "dataset_refused"),
    (ArchiveError, "archive_refused"),
    (SettingsError, "invalid"),
    (VoiceError, "voice_refused"),
    (EngineError, "refused"),
)
_PATTERNS = {"base_language": "must be two lowercase letters, such as en"}  # meaning of the patterns
_FIELD_TEXTS = {  # by pydantic's kinds, filled in with its limits
    "missing": "is missing",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "bool_parsing": "must be true or false",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "extra_forbidden": "is not a field of this call",
}
_OTHER_FIELD_TEXT = "has the wrong format, see /docs"
_HTTP_CODES = {404: "no_such_path", 405: "method_not_allowed", 408: "too_slow", 416: "range_not_satisfiable"}


@dataclass(frozen=True)
class Problem:
    """An error as sent; `code` is for programs, `detail` for people."""

    status: int
    code: str
    detail: str
    errors: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the problem document."""
        document: dict[str, Any] = {
            "type": f"/docs#{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
        }
        if self.errors:
            document["errors"] = [{"field": name, "message": message} for name, message in self.errors]
        return document

    def response(self) -> JSONResponse:
        """Return the problem document as a response."""
        return JSONResponse(self.as_json(), self.status, headers=dict(self.headers), media_type=MEDIA_TYPE)


def problem_of(error: Exception) -> Problem:
    """Return the problem document of an error; an unforeseen one gets no details."""
    if isinstance(error, RequestValidationError):
        return _of_fields(error)
    if isinstance(error, HTTPException):
        code = _HTTP_CODES.get(error.status_code, f"http_{error.status_code}")
        return Problem(error.status_code, code, _sentence(error), headers=error.headers or {})
    if is_full_disk(error) and not isinstance(error, StudioError):
        error = DiskFull()
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return Problem(status, _code(error), str(error), tuple(getattr(error, "problems", ())), _headers(error))
    return Problem(500, "internal", INTERNAL)


def _code(error: Exception) -> str:
    if isinstance(error, StudioError):
        return error.code
    return next(code for kind, code in _ENGINE_CODES if isinstance(error, kind))


def _headers(error: Exception) -> dict[str, str]:
    if isinstance(error, Unauthorised):
        # RFC 6750: without a token, a call gets no details
        wrong = "" if error.code == "token_missing" else ', error="invalid_token"'
        return {"WWW-Authenticate": CHALLENGE + wrong}
    if isinstance(error, TooMany | Unavailable):
        return {"Retry-After": str(max(1, math.ceil(error.retry_after_s)))}
    return {}


def _sentence(error: HTTPException) -> str:
    if error.status_code == 404:
        return "Nothing exists at this address. /docs lists all addresses."
    if error.status_code == 405:
        return "This address does not accept this method. See the Allow header."
    return str(error.detail)


def _of_fields(error: RequestValidationError) -> Problem:
    problems = []
    for one in error.errors():
        name = ".".join(str(part) for part in one["loc"][1:]) or "body"
        pattern = _PATTERNS.get(name) if one["type"] == "string_pattern_mismatch" else None
        text = pattern or _FIELD_TEXTS.get(one["type"], _OTHER_FIELD_TEXT).format_map(one.get("ctx", {}))
        problems.append((name, f"{name} {text}."))
    return Problem(422, "invalid", " ".join(message for _, message in problems), tuple(problems))
