"""Serve audio and pictures through signed links, whole or as ranges."""

from collections.abc import AsyncIterator, Iterator
from pathlib import PurePosixPath
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Query, Request
from starlette.concurrency import iterate_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from engine.audio.containers import CONTAINERS
from engine.texts import tr
from studio.actions.recordings import open_file
from studio.http.ranges import Unsatisfiable, http_date, is_unchanged, wanted_part
from studio.http.routes.call import Calling
from studio.http.routes.documentation import Responses, problems
from studio.store.accounts import owner_of_key

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


@router.get(
    "/files/{key:path}",
    operation_id="get_file",
    summary="Fetch a file",
    response_class=StreamingResponse,
    responses=_RESPONSES,
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
