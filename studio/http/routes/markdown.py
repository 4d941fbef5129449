"""The documentation as text: `/docs.md`, the reference as Markdown, `/llms.txt`, where assistants look for it, and
`/SKILL.md`, which they keep to know when and how to use the studio.

The first two are made of the OpenAPI document, so that they say what it says. llms.txt: llmstxt.org; SKILL.md:
agentskills.io/specification.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from fastapi import APIRouter, FastAPI
from pydantic import AliasChoices, BaseModel, Field, JsonValue
from starlette.responses import PlainTextResponse

from studio.http.routes.call import Call, Calling

_MARKDOWN = "text/markdown"
_SKILL = Path(__file__).parents[1] / "static" / "SKILL.md"
_CELL = {"|": "\\|", "\n": " "}  # what would end a cell of a table

router = APIRouter(include_in_schema=False)


class _Schema(BaseModel):
    type: str = "any"
    format: str = ""
    enum: list[JsonValue] | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    description: str = ""
    default: JsonValue = None
    choices: "list[_Schema]" = Field(default=[], validation_alias=AliasChoices("anyOf", "oneOf"))
    properties: "dict[str, _Schema]" = {}
    required: list[str] = []


class _Part(BaseModel):
    """An operation, its parameters, its body, its answers and their contents: what is read of any of them."""

    tags: list[str] = []
    summary: str = ""
    description: str = ""
    name: str = ""
    place: str = Field(default="", alias="in")
    is_required: bool = Field(default=False, alias="required")
    kind: _Schema = Field(default=_Schema(), alias="schema")
    parameters: "list[_Part]" = []
    body: "_Part | None" = Field(default=None, alias="requestBody")
    responses: "dict[str, _Part]" = {}
    content: "dict[str, _Part]" = {}


class _Info(BaseModel):
    title: str
    version: str
    description: str


class _Document(BaseModel):
    """What is read of an OpenAPI document."""

    info: _Info
    paths: dict[str, dict[str, _Part]]


@router.get("/docs.md")
async def reference(call: Calling) -> PlainTextResponse:
    """Serve the reference as Markdown."""
    return PlainTextResponse(markdown_of(_openapi(call)), media_type=_MARKDOWN)


@router.get("/llms.txt")
async def overview(call: Calling) -> PlainTextResponse:
    """Serve what this is, and where its documentation is."""
    return PlainTextResponse(overview_of(_openapi(call), call.own_address), media_type=_MARKDOWN)


@router.get("/SKILL.md")
async def skill(call: Calling) -> PlainTextResponse:
    """Serve what an assistant keeps to know when and how to use this studio."""
    text = _SKILL.read_text(encoding="utf-8")
    return PlainTextResponse(text.format(address=call.own_address), media_type=_MARKDOWN)


def markdown_of(openapi: Mapping[str, object]) -> str:
    """Return an OpenAPI document as Markdown: a section for each call, with its fields and answers."""
    document = _Document.model_validate(openapi)
    lines = [f"# {document.info.title} {document.info.version}", "", document.info.description, ""]
    for tag, calls in _by_tag(document).items():
        lines += [f"## {tag.capitalize()}", ""]
        for method, path, operation in calls:
            lines += [f"### {operation.summary}", "", f"`{method.upper()} {path}`", "", operation.description, ""]
            lines += _table("parameter", _parameters(operation))
            lines += _table("field", _fields(operation))
            lines += _answers(operation)
    return "\n".join(lines)


def overview_of(openapi: Mapping[str, object], address: str) -> str:
    """Return the overview of an OpenAPI document for assistants; address: where its service is."""
    document = _Document.model_validate(openapi)
    summary, _, rest = document.info.description.partition(". ")
    lines = [f"# {document.info.title}", "", f"> {summary}.", "", rest, "", "## Documentation", ""]
    lines += [
        f"- [Reference]({address}/docs.md): each call with its fields and answers, as Markdown",
        f"- [OpenAPI]({address}/openapi.json): the same for programs",
        f"- [Reference with a form for each call]({address}/docs): for browsers",
    ]
    for tag, calls in _by_tag(document).items():
        lines += ["", f"## {tag.capitalize()}", ""]
        lines += [f"- `{method.upper()} {path}`: {one.summary}" for method, path, one in calls]
    return "\n".join([*lines, ""])


def _openapi(call: Call) -> Mapping[str, object]:
    app: FastAPI = call.request.app
    return app.openapi()


def _by_tag(document: _Document) -> dict[str, list[tuple[str, str, _Part]]]:
    found: dict[str, list[tuple[str, str, _Part]]] = {}
    for path, operations in document.paths.items():
        for method, operation in operations.items():
            found.setdefault(operation.tags[0], []).append((method, path, operation))
    return found


def _parameters(operation: _Part) -> Iterator[tuple[str, str, str]]:
    for one in operation.parameters:
        name = one.name if one.place != "header" else f"{one.name} (header)"
        yield name + _mark(one.is_required), _kind(one.kind), one.description or one.kind.description


def _fields(operation: _Part) -> Iterator[tuple[str, str, str]]:
    schema = next((one.kind for one in (operation.body or _Part()).content.values()), _Schema())
    for name, one in schema.properties.items():
        default = f" Default: {one.default}." if one.default is not None else ""
        yield name + _mark(name in schema.required), _kind(one), one.description + default


def _answers(operation: _Part) -> list[str]:
    """Return the answers that are no errors; those of errors are the same everywhere."""
    lines = []
    for status, answer in operation.responses.items():
        if int(status) < 400:
            types = " or ".join(f"`{kind}`" for kind in answer.content)
            lines.append(f"- {status}{f' {types}' if types else ''}: {_plain(answer.description)}")
    return [*lines, ""]


def _table(title: str, rows: Iterator[tuple[str, str, str]]) -> list[str]:
    lines = ["| " + " | ".join(map(_plain, row)) + " |" for row in rows]
    return [f"| {title} | | |", "|---|---|---|", *lines, ""] if lines else []


def _kind(schema: _Schema) -> str:
    """Return the values that a schema allows, in short."""
    if schema.choices:
        return " or ".join(dict.fromkeys(kind for one in schema.choices if (kind := _kind(one)) != "null"))
    if schema.enum is not None:
        return ", ".join(map(str, schema.enum))
    if schema.format == "binary":
        return "file"
    if schema.minimum is not None and schema.maximum is not None:
        return f"{schema.type} {schema.minimum} to {schema.maximum}"
    return schema.type


def _mark(required: bool) -> str:
    return " (required)" if required else ""


def _plain(text: str) -> str:
    for sign, written in _CELL.items():
        text = text.replace(sign, written)
    return text
