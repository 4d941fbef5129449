"""Problem documents (RFC 9457): errors with a stable code and a list of invalid fields."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from fastapi.exceptions import RequestValidationError
from pydantic import JsonValue
from pydantic_core import ErrorDetails
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
from engine.texts import joined, ntr, tr
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
from studio.languages.known import ENGLISH, LANGUAGES, Language, accepted
from studio.languages.translation import translator

MEDIA_TYPE = "application/problem+json"
OPENAI = "/v1/"  # addresses as OpenAI's, for programs made for those
CHALLENGE = 'Bearer realm="Timbre Studio"'
INTERNAL = tr("An internal error. The service's log has the details under the X-Request-ID of this response.")
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
_PATTERNS = {"base_language": tr("{name} must be two lowercase letters, such as en.")}  # meaning of the patterns
_FIELD_TEXTS = {  # by pydantic's kinds, filled in with the field's name and the limits
    "missing": tr("{name} is missing."),
    "int_type": tr("{name} must be a whole number."),
    "int_parsing": tr("{name} must be a whole number."),
    "int_from_float": tr("{name} must be a whole number."),
    "float_type": tr("{name} must be a number."),
    "float_parsing": tr("{name} must be a number."),
    "finite_number": tr("{name} must be a number."),
    "bool_type": tr("{name} must be true or false."),
    "bool_parsing": tr("{name} must be true or false."),
    "string_type": tr("{name} must be text."),
    "greater_than": tr("{name} must be above {gt}."),
    "greater_than_equal": tr("{name} must be at least {ge}."),
    "less_than": tr("{name} must be below {lt}."),
    "less_than_equal": tr("{name} must be at most {le}."),
    "string_too_short": ntr(
        "{name} must have at least {min_length} character.", "{name} must have at least {min_length} characters."
    ),
    "string_too_long": ntr(
        "{name} must have at most {max_length} character.", "{name} must have at most {max_length} characters."
    ),
    "literal_error": tr("{name} must be {expected}."),
    "enum": tr("{name} must be {expected}."),
}
_OTHER_FIELD_TEXT = tr("{name} has the wrong format, see /docs.")
# what http.HTTPStatus calls the statuses that are sent, for the catalogues
TITLES = (
    *(tr("Unauthorized"), tr("Forbidden"), tr("Not Found"), tr("Method Not Allowed"), tr("Request Timeout")),
    *(tr("Conflict"), tr("Request Entity Too Large"), tr("Content Too Large"), tr("Unsupported Media Type")),
    *(tr("Requested Range Not Satisfiable"), tr("Range Not Satisfiable"), tr("Unprocessable Entity")),
    *(tr("Unprocessable Content"), tr("Too Many Requests"), tr("Bad Request"), tr("Internal Server Error")),
    *(tr("Service Unavailable"), tr("Insufficient Storage")),
)
_HTTP_CODES = {404: "no_such_path", 405: "method_not_allowed", 408: "too_slow", 416: "range_not_satisfiable"}


@dataclass(frozen=True)
class Problem:
    """An error as sent; `code` is for programs, `detail` for people."""

    status: int
    code: str
    detail: str
    errors: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    def as_json(self, language: Language = LANGUAGES[ENGLISH]) -> dict[str, JsonValue]:
        """Return the problem document; what is for people is in the language."""
        say = translator(language.code).say
        messages = [(name, say(message)) for name, message in self.errors]
        document: dict[str, JsonValue] = {
            "type": f"/docs#{self.code}",
            "title": say(tr(HTTPStatus(self.status).phrase)),
            "status": self.status,
            "detail": " ".join(message for _, message in messages) or say(self.detail),
            "code": self.code,
        }
        if messages:
            document["errors"] = [{"field": name, "message": message} for name, message in messages]
        return document

    def response(self, accept_language: str | None = None, path: str = "") -> JSONResponse:
        """Return the document as a response, in the language that the client's Accept-Language prefers.
        path: of the call; below OPENAI the same stands a second time where clients of that interface look for it."""
        language = accepted(accept_language)
        said = {"Content-Language": language.code, "Vary": "Accept-Language"}
        document = self.as_json(language)
        if path.startswith(OPENAI):
            kind = "invalid_request_error" if self.status < HTTPStatus.INTERNAL_SERVER_ERROR else "server_error"
            field = self.errors[0][0] if self.errors else None
            document["error"] = {"message": document["detail"], "type": kind, "param": field, "code": self.code}
        return JSONResponse(document, self.status, {**self.headers, **said}, MEDIA_TYPE)


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
        return tr("Nothing exists at this address. /docs lists all addresses.")
    if error.status_code == 405:
        return tr("This address does not accept this method. See the Allow header.")
    return str(error.detail)


def _of_fields(error: RequestValidationError) -> Problem:
    problems = []
    for one in error.errors():
        name = ".".join(str(part) for part in one["loc"][1:]) or "body"
        problems.append((name, field_text(name, one)))
    return Problem(422, "invalid", joined(" ", [message for _, message in problems]), tuple(problems))


def field_text(name: str, error: ErrorDetails) -> str:
    """Return the sentence about a field for an error of pydantic's."""
    pattern = _PATTERNS.get(name) if error["type"] == "string_pattern_mismatch" else None
    text = pattern or _FIELD_TEXTS.get(error["type"], _OTHER_FIELD_TEXT)
    return text.format(**{**error.get("ctx", {}), "name": name})
