"""The documentation as text: `/docs.md`, the reference as Markdown, and `/llms.txt`, where assistants look for it.

Both are made of the OpenAPI document, so that they say what it says. llms.txt: llmstxt.org.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import APIRouter
from starlette.responses import PlainTextResponse

from studio.http.routes.call import Call, Calling

TEXTS = ("/docs.md", "/llms.txt")
_MARKDOWN = "text/markdown"
_CELL = {"|": "\\|", "\n": " "}  # what would end a cell of a table

router = APIRouter(include_in_schema=False)


@router.get("/docs.md")
async def reference(call: Calling) -> PlainTextResponse:
    """Serve the reference as Markdown."""
    return PlainTextResponse(markdown_of(_document(call)), media_type=_MARKDOWN)


@router.get("/llms.txt")
async def overview(call: Calling) -> PlainTextResponse:
    """Serve what this is, and where its documentation is."""
    return PlainTextResponse(overview_of(_document(call), call.own_address), media_type=_MARKDOWN)


def markdown_of(document: Mapping[str, Any]) -> str:
    """Return an OpenAPI document as Markdown: a section for each call, with its fields and answers."""
    info = document["info"]
    lines = [f"# {info['title']} {info['version']}", "", info["description"], ""]
    for tag, calls in _by_tag(document).items():
        lines += [f"## {tag.capitalize()}", ""]
        for method, path, operation in calls:
            lines += [f"### {operation['summary']}", "", f"`{method.upper()} {path}`", "", operation["description"], ""]
            lines += _table("parameter", _parameters(operation))
            lines += _table("field", _fields(operation))
            lines += _answers(operation)
    return "\n".join(lines)


def overview_of(document: Mapping[str, Any], address: str) -> str:
    """Return the overview of an OpenAPI document for assistants; address: where its service is."""
    info = document["info"]
    summary, _, rest = info["description"].partition(". ")
    lines = [f"# {info['title']}", "", f"> {summary}.", "", rest, "", "## Documentation", ""]
    lines += [
        f"- [Reference]({address}/docs.md): each call with its fields and answers, as Markdown",
        f"- [OpenAPI]({address}/openapi.json): the same for programs",
        f"- [Reference with a form for each call]({address}/docs): for browsers",
    ]
    for tag, calls in _by_tag(document).items():
        lines += ["", f"## {tag.capitalize()}", ""]
        lines += [f"- `{method.upper()} {path}`: {one['summary']}" for method, path, one in calls]
    return "\n".join([*lines, ""])


def _document(call: Call) -> dict[str, Any]:
    document: dict[str, Any] = call.request.app.openapi()
    return document


def _by_tag(document: Mapping[str, Any]) -> dict[str, list[tuple[str, str, Mapping[str, Any]]]]:
    found: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            found.setdefault(operation["tags"][0], []).append((method, path, operation))
    return found


def _parameters(operation: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for one in operation.get("parameters", ()):
        name = one["name"] if one["in"] != "header" else f"{one['name']} (header)"
        meaning = one.get("description") or one["schema"].get("description", "")
        yield name + _mark(one.get("required", False)), _kind(one["schema"]), meaning


def _fields(operation: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    content = operation.get("requestBody", {}).get("content", {})
    schema = next(iter(content.values()))["schema"] if content else {}
    for name, one in schema.get("properties", {}).items():
        default = f" Default: {one['default']}." if "default" in one else ""
        yield name + _mark(name in schema["required"]), _kind(one), one.get("description", "") + default


def _answers(operation: Mapping[str, Any]) -> list[str]:
    """Return the answers that are no errors; those of errors are the same everywhere."""
    lines = []
    for status, answer in operation["responses"].items():
        if int(status) < 400:
            types = " or ".join(f"`{kind}`" for kind in answer.get("content", {}))
            lines.append(f"- {status}{f' {types}' if types else ''}: {_plain(answer['description'])}")
    return [*lines, ""]


def _table(title: str, rows: Iterator[tuple[str, str, str]]) -> list[str]:
    lines = ["| " + " | ".join(map(_plain, row)) + " |" for row in rows]
    return [f"| {title} | | |", "|---|---|---|", *lines, ""] if lines else []


def _kind(schema: Mapping[str, Any]) -> str:
    """Return the values that a schema allows, in short."""
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(kind for one in choices if (kind := _kind(one)) != "null"))
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if schema.get("format") == "binary":
        return "file"
    if "minimum" in schema and "maximum" in schema:
        return f"{schema['type']} {schema['minimum']} to {schema['maximum']}"
    return str(schema.get("type", "any"))


def _mark(required: bool) -> str:
    return " (required)" if required else ""


def _plain(text: str) -> str:
    for sign, written in _CELL.items():
        text = text.replace(sign, written)
    return text
