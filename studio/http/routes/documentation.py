"""The documentation of the service: OpenAPI 3.1, and a self-contained page to read it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel, JsonValue
from starlette.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

from engine.version import __version__
from studio.http.errors import MEDIA_TYPE
from studio.http.field_names import ALSO, FILE
from studio.http.routes.schemas import Problem

TITLE = "Timbre Studio"
FILES = "/docs-files"
Described = Mapping[str, object]  # a part of an OpenAPI document
Extra = dict[str, Described | Sequence[Described]]  # of a call: what FastAPI does not find out by itself
Response = dict[str, Described | str | type[BaseModel]]
Responses = dict[int | str, Response]  # by status, as FastAPI takes them
_STATIC = Path(__file__).parents[1] / "static" / "swagger"
_BEARER = "token"
OPEN_PATHS = ("/health", "/files/{key}")
_MEANINGS = {
    401: "No token, or one that is unknown, expired or revoked.",
    404: "It does not exist, or it is not yours.",
    405: "The address does not accept this method; see the Allow header.",
    408: "The upload stalled for too long.",
    409: "Not possible in the present state of the voice or the task.",
    413: "The upload or a field is too large.",
    415: "The body or the file in it is not readable as audio, zip or form.",
    416: "The file has none of the requested bytes.",
    422: "A field is missing, invalid or unknown (`unknown_field`); `errors` lists each.",
    429: "A limit is exceeded; retry after the seconds in Retry-After.",
    500: "Internal error.",
    503: "Temporarily unavailable; retry after the seconds in Retry-After.",
    507: "The disk is full.",
}
ALWAYS = (401, 405, 429, 500, 503, 507)  # a full disk can make a database unreadable, too
OF_UPLOADS = (408, 413, 415, 422)
_RETRY = {429, 503}
_DESCRIPTION = """The same performance in another voice. Every call except `/health` and links to files needs the header
`Authorization: Bearer TOKEN`; `timbre-studio token create` creates a token.

All errors are problem documents (RFC 9457) with a stable `code`. The POST calls accept the header `Idempotency-Key`:
repeating a call with the same key and body within 24 hours returns the same answer and starts nothing twice. The
header `X-Request-ID` is returned, and appears in the service's log. Fields that a call does not have are refused; where
its host allows them they are ignored, and named in the header `Ignored-Fields` of the answer."""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'"
)

router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def documentation() -> HTMLResponse:
    """Serve the page of the documentation."""
    page = (_STATIC / "index.html").read_text(encoding="utf-8")
    return HTMLResponse(page, headers={"Content-Security-Policy": _POLICY})


def static_files() -> StaticFiles:
    return StaticFiles(directory=_STATIC)


def problems(*statuses: int) -> Responses:
    """Return problem documents with these statuses for FastAPI's `responses`."""
    return {status: _problem(status) for status in sorted({*ALWAYS, *statuses})}


def _problem(status: int) -> Response:
    response: Response = {
        "description": _MEANINGS[status],
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    if status in _RETRY:
        response["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 1}}}
    if status == 401:
        response["headers"] = {"WWW-Authenticate": {"description": "Bearer", "schema": {"type": "string"}}}
    return response


def body(
    properties: Described, required: tuple[str, ...], *media_types: str, headers: Sequence[Described] = ()
) -> Extra:
    """Return a form with these fields for `openapi_extra`, with the header that makes it safe to repeat, and others."""
    schema = {"type": "object", "properties": dict(properties), "required": list(required)}
    key = {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "description": "Repeating a call with the same key and body within 24 hours returns the same answer.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
        "example": "5d41402a-1",
    }
    content = {media_type: {"schema": schema} for media_type in media_types}
    return {"parameters": [key, *headers], "requestBody": {"required": True, "content": content}}


def file_field(meaning: str) -> Described:
    return {"type": "string", "format": FILE, "description": meaning}


def also_named(field: Described, *names: str) -> Described:
    """Return a field that has further names."""
    said = [str(field["description"]), *(f"`{name}` means the same." for name in names)]
    return {**field, "description": " ".join(said), ALSO: names}


def query_names(route: APIRoute) -> set[str]:
    """Return the names of the parameters that a route takes in its query string."""
    names: set[str] = set()
    for one in route.dependant.query_params:
        kind = one.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            names.update(kind.model_fields)
        else:
            names.add(one.alias)
    return names


def openapi_of(app: FastAPI, base_url: str) -> dict[str, JsonValue]:
    """Return the OpenAPI document of an app."""
    servers = [{"url": base_url}] if base_url else None
    document = get_openapi(
        title=TITLE, version=__version__, description=_DESCRIPTION, routes=app.routes, servers=servers
    )
    components = document.setdefault("components", {})
    components["securitySchemes"] = {_BEARER: {"type": "http", "scheme": "bearer"}}
    schemas = components.setdefault("schemas", {})
    described = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(described.pop("$defs", {}))
    schemas["Problem"] = described
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    document["security"] = [{_BEARER: []}]
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if path in OPEN_PATHS:
                operation["security"] = []
                operation["responses"].pop("401", None)
                operation["responses"].pop("429", None)
    return document
