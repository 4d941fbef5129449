"""Uploads: the body of a POST from the network to the disk, in memory that does not grow with it.

    async with received_form(request.stream(), content_type, UploadPlace(...), ("audio",)) as form:
        ...  # form.files["audio"].path; afterwards nothing of it is left

The bytes are handed over in blocks to threads of the uploads' own, so that whoever asks for something else does not
wait.
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
    """Where uploads go, what of them is taken, and the threads that write them."""

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
    """The form in a body, with its files on the disk until the block ends, whatever happens in it.

    Raises Invalid, NotReadable, TooLarge and DiskFull; HTTPException 408 where nothing came for `stalled_s`.
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
    """The same bytes in fewer and larger pieces: handing one over to a thread costs more than writing it."""
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
