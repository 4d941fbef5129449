"""Serve audio and pictures through signed links, whole or as ranges."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from email.utils import formatdate, parsedate_to_datetime
from pathlib import PurePosixPath
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Query, Request
from starlette.concurrency import iterate_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from engine.audio.containers import CONTAINERS
from engine.texts import tr
from studio.actions.recordings import open_file
from studio.http.routes.answers import described
from studio.http.routes.call import Calling
from studio.http.routes.documentation import Responses, problems
from studio.store.accounts import owner_of_key

_RANGE = re.compile(r"bytes=\s*(\d*)-(\d*)\s*", re.ASCII)
_LONGEST_NUMBER = 18  # digits
# Browsers display no other types, whatever was uploaded.
_SHOWN = {suffix: container.media_type for container in CONTAINERS for suffix in container.suffixes} | {
    ".png": "image/png",
    ".json": "application/json",
}  # made only by the studio, never uploads
_UNKNOWN = "application/octet-stream"
_POLICY = "default-src 'none'; sandbox"

router = APIRouter(tags=["files"])

Expires = Annotated[str, Query(max_length=20, description="Seconds since 1970.")]
Signature = Annotated[str, Query(max_length=200)]
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_RESPONSES: Responses = {
    200: {"description": "The file.", "content": {"audio/*": _BINARY, _UNKNOWN: _BINARY}},
    206: {"description": "The requested range.", "content": {"audio/*": _BINARY, _UNKNOWN: _BINARY}},
    304: {"description": "The client's copy is current."},
    **problems(404, 416, 422),
}


@dataclass(frozen=True)
class Part:
    """Bytes start..stop of a file, stop excluded."""

    start: int
    stop: int

    def content_range(self, size: int) -> str:
        return f"bytes {self.start}-{self.stop - 1}/{size}"


class Unsatisfiable(Exception):
    """The file has none of the requested bytes."""


def wanted_part(headers: Headers, size: int, etag: str, modified_s: float) -> Part | None:
    """Return the requested range; None for the whole file, also if several ranges are requested or the client's copy is
    outdated. Raises Unsatisfiable."""
    asked = _RANGE.fullmatch(headers.get("range", ""))
    if asked is None or not (asked[1] or asked[2]) or not _is_current(headers.get("if-range"), etag, modified_s):
        return None
    if len(asked[1]) > _LONGEST_NUMBER or len(asked[2]) > _LONGEST_NUMBER:
        raise Unsatisfiable
    if not asked[1]:
        part = Part(max(0, size - int(asked[2])), size)
    else:
        if asked[2] and int(asked[2]) < int(asked[1]):
            return None  # an invalid header is ignored
        part = Part(int(asked[1]), min(size, int(asked[2]) + 1) if asked[2] else size)
    if part.start >= part.stop:
        raise Unsatisfiable
    return part


def is_unchanged(headers: Headers, etag: str, modified_s: float) -> bool:
    """Return whether the client already has this version of the file."""
    if known := headers.get("if-none-match"):
        tags = {tag.strip().removeprefix("W/") for tag in known.split(",")}
        return "*" in tags or etag in tags
    since = _seconds(headers.get("if-modified-since"))
    return since is not None and int(modified_s) <= since


def http_date(time_s: float) -> str:
    return formatdate(time_s, usegmt=True)


def _is_current(condition: str | None, etag: str, modified_s: float) -> bool:
    if condition is None:
        return True
    if condition.startswith('"'):
        return condition == etag
    return _seconds(condition) == int(modified_s)


def _seconds(date: str | None) -> float | None:
    if not date:
        return None
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


@router.get(
    "/files/{key:path}", response_class=StreamingResponse, **described("get_file", "Fetch a file", None, _RESPONSES)
)
async def get_file(call: Calling, request: Request, key: str, expires: Expires, signature: Signature) -> Response:
    """Return a file by its signed link. No token is needed."""
    file = await to_thread.run_sync(open_file, call.studio, key, expires, signature)
    if (owner := owner_of_key(file.key)) is not None:
        call.right.holders.add(owner)
    etag = '"' + file.etag.removeprefix("W/").strip('"') + '"'
    headers = {
        "Accept-Ranges": "bytes",
        "ETag": etag,
        "Last-Modified": http_date(file.modified_s),
        "Cache-Control": "private, max-age=3600",
        "Content-Disposition": "inline",  # no name: it would override that of the page's link
        "Content-Security-Policy": _POLICY,
    }
    if is_unchanged(request.headers, etag, file.modified_s):
        return Response(status_code=304, headers=headers)
    try:
        part = wanted_part(request.headers, file.size, etag, file.modified_s)
    except Unsatisfiable as cause:
        text = tr("The file has {size} bytes, none of them in the requested range.", size=file.size)
        raise HTTPException(416, text, {"Content-Range": f"bytes */{file.size}"}) from cause
    start, stop = (part.start, part.stop) if part else (0, file.size)
    headers["Content-Length"] = str(stop - start)
    if part:
        headers["Content-Range"] = part.content_range(file.size)
    media_type = _SHOWN.get(PurePosixPath(key).suffix.lower(), _UNKNOWN)
    if request.method == "HEAD" or start == stop:
        return Response(status_code=206 if part else 200, headers=headers, media_type=media_type)
    blocks = iter(call.studio.storage.read(file.key, start, stop))
    first = await to_thread.run_sync(next, blocks, b"")  # an unreachable storage is reported, not an aborted answer
    return StreamingResponse(_blocks(first, blocks), 206 if part else 200, headers, media_type)


@router.head("/files/{key:path}", operation_id="head_file", summary="Look at a file", responses=_RESPONSES)
async def head_file(call: Calling, request: Request, key: str, expires: Expires, signature: Signature) -> Response:
    """Return the headers of `GET` without the file."""
    return await get_file(call, request, key, expires, signature)


async def _blocks(first: bytes, others: Iterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for block in iterate_in_threadpool(others):
        yield block
