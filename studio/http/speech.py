"""Speech from another service, which the host has chosen, to be converted: the studio itself speaks no text."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx
from anyio import to_thread

from engine.texts import tr
from studio.errors import NotFound, TooLarge, Unavailable
from studio.http.uploads import INCOMING
from studio.settings.service import MEGABYTE
from studio.store.folder_locks import make_locked
from studio.store.studio import Studio

_PATIENCE_S, _LONGEST_S = 120.0, 600.0  # for each part of the speech, and for all of it
_RETRY_S = 10.0
_NONE = tr("There is no text to speech here: send a recording to /v1/audio/conversions.")
_SILENT = tr("The speech service cannot be reached, or refuses. Check --speech-url and the log of that service.")


@asynccontextmanager
async def spoken(
    studio: Studio, text: str, speed: float, transport: httpx.AsyncBaseTransport | None = None
) -> AsyncIterator[Path]:
    """Yield a recording in which the speech service says the text; it exists until the block ends.
    Raises NotFound where there is no such service, Unavailable where it does not answer, TooLarge."""
    service = studio.service
    if not service.speech_url:
        raise NotFound(_NONE + _hint(studio), "no_speech_service")
    place = studio.settings.work / INCOMING / secrets.token_hex(12)
    release = await to_thread.run_sync(make_locked, place)
    try:
        recording = place / "speech.wav"
        asked = {"model": service.speech_model, "voice": service.speech_voice, "input": text, "speed": speed}
        await _fetch(studio, {**asked, "response_format": "wav"}, recording, transport)
        yield recording
    finally:
        with anyio.CancelScope(shield=True):
            recording.unlink(missing_ok=True)
            place.rmdir()
            release()


async def _fetch(
    studio: Studio, asked: dict[str, object], target: Path, transport: httpx.AsyncBaseTransport | None
) -> None:
    service = studio.service
    most = service.largest_upload_mb * MEGABYTE
    headers = {"Authorization": f"Bearer {service.speech_key}"} if service.speech_key else {}
    try:
        address = f"{service.speech_url.rstrip('/')}/audio/speech"
        with anyio.fail_after(_LONGEST_S):
            await _receive(address, asked, headers, target, most, transport)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, TimeoutError) as cause:  # UnicodeError: of a redirect
        raise Unavailable(_SILENT, _RETRY_S, "speech_service") from cause


async def _receive(
    address: str,
    asked: dict[str, object],
    headers: dict[str, str],
    target: Path,
    most: int,
    transport: httpx.AsyncBaseTransport | None,
) -> None:
    async with (
        httpx.AsyncClient(timeout=_PATIENCE_S, trust_env=False, transport=transport) as client,
        client.stream("POST", address, json=asked, headers=headers) as answer,
        await anyio.open_file(target, "wb") as file,
    ):
        answer.raise_for_status()
        async for block in answer.aiter_bytes():
            await file.write(block)
            if await file.tell() > most:
                raise TooLarge(tr("The speech is too long: send less text."), "too_large")


def _hint(studio: Studio) -> str:
    return "" if studio.service.is_demo else " " + tr("Its host can name a speech service with --speech-url.")
