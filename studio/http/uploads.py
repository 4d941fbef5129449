"""Uploads: write the body of a POST from the network to the disk, in bounded memory.

    async with received_form(request.stream(), content_type, UploadPlace(...), FieldNames(files=("audio",))) as form:
        ...  # form.files["audio"].path; its files are deleted afterwards

Blocks are written by threads of the uploads' own, so that other calls do not wait.
"""

import secrets
import shutil
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import anyio
from anyio import CapacityLimiter, to_thread
from starlette.exceptions import HTTPException

from engine.texts import ntr, numeral, tr
from studio.http.bodies import BodyLimits, BodyReader, Form
from studio.http.field_names import ANY_TEXTS, FieldNames

T = TypeVar("T")
BLOCK = 1 << 20
STALLED_S = 60.0
PACE_S = 30.0
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
    names: FieldNames = ANY_TEXTS,
    stalled_s: float = STALLED_S,
) -> AsyncIterator[Form]:
    """Yield the form in a body; its files exist until the block ends. Raises Invalid, NotReadable, TooLarge, DiskFull.
    HTTPException 408 after `stalled_s` without data, or where it comes too slowly."""
    folder = place.folder / secrets.token_hex(12)
    reader = BodyReader(content_type, folder, names, place.limits)
    try:
        arrival = Arrival(place.limits.least_rate, stalled_s)
        async with aclosing(_in_blocks(chunks, arrival)) as blocks:
            async for block in blocks:
                await to_thread.run_sync(reader.feed, block, limiter=place.threads)
        yield await to_thread.run_sync(reader.finish, limiter=place.threads)
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(_remove, reader, folder)


class Arrival:
    """How fast a body arrives, by the time spent waiting for the client alone.
    least_rate: bytes a second, over each PACE_S of waiting; stalled_s: the longest single wait."""

    def __init__(self, least_rate: int, stalled_s: float = STALLED_S) -> None:
        self._least_rate, self._stalled_s = least_rate, stalled_s
        self._waited_s, self._received = 0.0, 0

    async def wait(self, piece: Awaitable[T], size_of: Callable[[T], int]) -> T:
        """Return the next piece. Raises HTTPException 408 for one that does not come, or comes too slowly."""
        started_s = time.monotonic()
        try:
            with anyio.fail_after(self._stalled_s):
                came = await piece
        except TimeoutError as cause:
            raise HTTPException(
                408,
                ntr(
                    "The upload stalled for {stalled_s} second. Send it again.",
                    "The upload stalled for {stalled_s} seconds. Send it again.",
                    stalled_s=numeral(self._stalled_s, "g"),
                ),
            ) from cause
        self._waited_s += time.monotonic() - started_s
        self._received += size_of(came)
        if self._waited_s > PACE_S:
            if self._received < self._least_rate * self._waited_s:
                least = tr("{least_rate} kB a second", least_rate=numeral(self._least_rate / 1000, "g"))
                raise HTTPException(
                    408, tr("The upload is slower than {least}. Send it over a faster connection.", least=least)
                )
            self._waited_s, self._received = 0.0, 0
        return came


async def _in_blocks(chunks: AsyncIterator[bytes], arrival: Arrival) -> AsyncGenerator[bytes]:
    """Yield the same bytes in larger blocks: passing one to a thread costs more than writing it."""
    block = bytearray()
    try:
        while True:
            chunk = await arrival.wait(anext(chunks), len)
            block += chunk
            if len(block) >= BLOCK:
                yield bytes(block)
                block.clear()
    except StopAsyncIteration:
        pass
    if block:
        yield bytes(block)


def _remove(reader: BodyReader, folder: Path) -> None:
    reader.close()
    shutil.rmtree(folder, ignore_errors=True)
