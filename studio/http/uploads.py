"""Uploads: write the body of a POST from the network to the disk, in bounded memory.

    async with received_form(request.stream(), content_type, UploadPlace(...), ("audio",)) as form:
        ...  # form.files["audio"].path; its files are deleted afterwards

Blocks are written by threads of the uploads' own, so that other calls do not wait.
"""

import secrets
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio import CapacityLimiter, to_thread
from starlette.exceptions import HTTPException

from studio.http.bodies import BodyLimits, BodyReader, Form

BLOCK = 1 << 20
STALLED_S = 60.0
INCOMING = "incoming"  # the folder in the studio's work folder


@dataclass(frozen=True)
class UploadPlace:
    """The folder for uploads, their limits, and the threads that write them."""

    folder: Path
    limits: BodyLimits
    threads: CapacityLimiter


@asynccontextmanager
async def received_form(
    chunks: AsyncIterator[bytes],
    content_type: str,
    place: UploadPlace,
    file_fields: Collection[str] = (),
    stalled_s: float = STALLED_S,
) -> AsyncIterator[Form]:
    """Yield the form in a body; its files exist until the block ends.

    Raises Invalid, NotReadable, TooLarge and DiskFull; HTTPException 408 after `stalled_s` without data.
    """
    folder = place.folder / secrets.token_hex(12)
    reader = BodyReader(content_type, folder, file_fields, place.limits)
    try:
        async with aclosing(_in_blocks(chunks, stalled_s)) as blocks:
            async for block in blocks:
                await to_thread.run_sync(reader.feed, block, limiter=place.threads)
        yield await to_thread.run_sync(reader.finish, limiter=place.threads)
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(_remove, reader, folder)


async def _in_blocks(chunks: AsyncIterator[bytes], stalled_s: float) -> AsyncGenerator[bytes]:
    """Yield the same bytes in larger blocks: passing one to a thread costs more than writing it."""
    block = bytearray()
    try:
        while True:
            with anyio.fail_after(stalled_s):
                chunk = await anext(chunks)
            block += chunk
            if len(block) >= BLOCK:
                yield bytes(block)
                block.clear()
    except StopAsyncIteration:
        pass
    except TimeoutError as cause:
        raise HTTPException(408, f"The upload stalled for {stalled_s:g} seconds. Send it again.") from cause
    if block:
        yield bytes(block)


def _remove(reader: BodyReader, folder: Path) -> None:
    reader.close()
    shutil.rmtree(folder, ignore_errors=True)
