"""Addresses as OpenAI's, for programs that are made for those; conversions, which OpenAI lacks, named as it would.
Each call that makes sound answers with it, and cancels its task if the client leaves."""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Annotated, TypeVar

import anyio
import httpx
from anyio import CancelScope, to_thread
from fastapi import APIRouter
from fastapi import Path as InPath
from starlette.concurrency import iterate_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse

from engine.audio.containers import CONTAINERS
from engine.texts import tr
from studio.actions.account import FORMATS
from studio.actions.conversions.conversion import ConversionRequest, refuse_in_vain, start_conversion
from studio.actions.conversions.downloads import first_take
from studio.actions.tasks import cancel_task
from studio.actions.voices.voice import models_view
from studio.errors import NotFound, StudioError, TooLarge, TooMany, Unauthorised, Unavailable
from studio.http.bodies import JSON, MULTIPART, URLENCODED
from studio.http.routes.answers import described
from studio.http.routes.call import Call, Calling
from studio.http.routes.conversions import FURTHER_FIELDS, started_conversion
from studio.http.routes.documentation import OF_UPLOADS, Described, Responses, also_named, body, file_field, problems
from studio.http.routes.fields import Fields
from studio.http.routes.identifiers import known_model_id
from studio.http.routes.schemas import NamedVoices, OpenaiModel, OpenaiModels
from studio.http.routes.waits_deadlines_callbacks import starting, true_to_the_queue, while_connected
from studio.http.uploads import INCOMING
from studio.settings.service import MEGABYTE
from studio.store.folder_locks import make_locked
from studio.store.kinds import CONVERSION
from studio.store.records.cards import Voice
from studio.store.studio import Studio

T = TypeVar("T")
PREFIX = "/v1"
LONGEST_TEXT = 4096
LONGEST_WORK_S = 600.0  # as clients of OpenAI's wait
_TURN_S = 1.0  # between two attempts to have a turn
_OWNER = "timbre-studio"
_MEDIA_TYPES = {suffix.lstrip("."): one.media_type for one in CONTAINERS for suffix in one.suffixes}
_VOICE = {"type": "string", "maxLength": 64, "examples": ["kathleen"]}
_FORMAT = {"type": "string", "enum": list(FORMATS), "description": "The format of the answer."}
_CONVERTED = {
    "file": also_named(file_field("The recording: wav, flac, mp3, ogg, opus, m4a, aac or aiff."), "audio"),
    "voice": _VOICE | {"description": "The id of a voice."},
    "model": _VOICE | {"description": "The id of a voice, where `voice` is left out."},
    "response_format": _FORMAT | {"default": "wav"},
    **FURTHER_FIELDS,
}
_SPOKEN: Described = {
    "input": {"type": "string", "maxLength": LONGEST_TEXT, "description": "The text."},
    "voice": _VOICE | {"description": "The id of a voice."},
    "model": {"type": "string", "description": "Ignored: the host chooses what speaks the text."},
    "response_format": _FORMAT | {"default": "mp3"},
    "speed": {"type": "number", "minimum": 0.25, "maximum": 4, "default": 1, "description": "Of the speech."},
    "instructions": {"type": "string", "description": "Ignored."},
    "stream_format": {"type": "string", "enum": ["audio"], "default": "audio"},
}
_SOUND: Responses = {
    200: {
        "description": "The sound.",
        "content": {_MEDIA_TYPES[one]: {"schema": {"type": "string", "format": "binary"}} for one in FORMATS},
    }
}

router = APIRouter(prefix=PREFIX, tags=["openai"])
_PATIENCE_S, _LONGEST_S = 120.0, 600.0  # for each part of the speech, and for all of it
_RETRY_S = 10.0
_NONE = tr("There is no text to speech here: send a recording to /v1/audio/conversions.")
_SILENT = tr("The speech service cannot be reached, or refuses. Check --speech-url and the log of that service.")


@router.get(
    "/models", **described("openai_list_models", "List voices as OpenAI lists models", OpenaiModels, problems(422))
)
async def list_openai_models(call: Calling) -> JSONResponse:
    """List usable voices as OpenAI's services list models."""
    return JSONResponse({"object": "list", "data": [_model(one.id) for one in await _voices(call)]})


@router.get(
    "/models/{model_id}",
    **described("openai_get_model", "Show a voice as OpenAI shows models", OpenaiModel, problems(404, 422)),
)
async def show_openai_model(call: Calling, model_id: Annotated[str, InPath(max_length=64)]) -> JSONResponse:
    """Show a usable voice as OpenAI's services show models."""
    if known_model_id(model_id) not in {one.id for one in await _voices(call)}:
        raise NotFound(tr("There is no such voice. GET /v1/models lists the voices you can use."), "model_not_found")
    return JSONResponse(_model(model_id))


@router.get(
    "/audio/voices", **described("openai_list_voices", "List voices to choose from", NamedVoices, problems(422))
)
async def list_openai_voices(call: Calling) -> JSONResponse:
    """List usable voices by id and name, for programs that let their users choose one."""
    return JSONResponse({"voices": [{"id": one.id, "name": one.name} for one in await _voices(call)]})


@router.post(
    "/audio/conversions",
    operation_id="openai_convert",
    summary="Return a recording in another voice",
    response_class=Response,
    responses={**_SOUND, **problems(404, 409, *OF_UPLOADS)},
    openapi_extra=starting(_CONVERTED, ("file",), MULTIPART),
)
async def convert_speech(call: Calling) -> Response:
    """Return a recording in another voice."""
    with call.watch.place(call.account.id):  # refused before anything is queued
        async with call.form() as form:
            fields = Fields(form)
            recording = fields.file("file", "audio")
            voice = fields.text("voice" if fields.has("voice") else "model")
            kind = fields.choice("response_format", FORMATS, "wav")
            task_id, promises = await started_conversion(call, form, fields, recording, voice)
        await promises.keep(call, task_id)
        return await _sound_of(call, task_id, kind)


@router.post(
    "/audio/speech",
    operation_id="openai_speak",
    summary="Return text in a voice",
    response_class=Response,
    responses={**_SOUND, **problems(404, 409, *OF_UPLOADS)},
    openapi_extra=body(_SPOKEN, ("input", "voice"), JSON, MULTIPART, URLENCODED),
)
async def speak(call: Calling) -> Response:
    """Return text spoken in a voice: a speech service that the host has named speaks it, and that is converted."""
    async with call.form() as form:
        fields = Fields(form)
        text, voice = fields.text("input", LONGEST_TEXT), fields.text("voice")
        kind = fields.choice("response_format", FORMATS, "mp3")
        speed = fields.number("speed", 0.25, 4.0)
        fields.choice("stream_format", ("audio",), "audio")
        fields.check()
    asked = ConversionRequest(known_model_id(voice), {})
    with call.watch.place(call.account.id):  # refused before anything is spoken or queued
        async with true_to_the_queue(call, CONVERSION):
            await call.do(refuse_in_vain, asked)
            async with spoken(call.studio, text, 1.0 if speed is None else speed) as recording:
                task_id = await call.do(start_conversion, recording, recording.name, asked, request_id=call.request_id)
        call.note(task_id=task_id, model_id=voice)
        return await _sound_of(call, task_id, kind)


async def _voices(call: Call) -> list[Voice]:
    return (await call.do(models_view)).models


def _model(voice_id: str) -> Mapping[str, str | int]:
    return {"id": voice_id, "object": "model", "created": 0, "owned_by": _OWNER}


async def _sound_of(call: Call, task_id: str, kind: str) -> Response:
    """Wait, in a place that the caller has taken, for a conversion and return its first take.
    Raises TooLarge if it takes too long, Invalid if it fails: statuses after which clients do not begin again."""
    try:
        call.leave_room()
        has_ended = await while_connected(call, task_id, LONGEST_WORK_S)
    except (ClientDisconnect, Unauthorised):
        with CancelScope(shield=True):
            await _cancel(call, task_id)
        raise
    if not has_ended:
        await _cancel(call, task_id)
        raise TooLarge(tr("The recording is too long for this call: use /convert."), "too_long")
    take = await _in_some_turn(lambda: call.do(first_take, task_id, kind))
    headers = {"Content-Length": str(take.size), "X-Task-ID": task_id}
    blocks: AsyncIterator[bytes] = iterate_in_threadpool(call.studio.storage.read(take.key, 0, take.size))
    return StreamingResponse(blocks, headers=headers, media_type=_MEDIA_TYPES[kind])


async def _in_some_turn(ask: Callable[[], Awaitable[T]]) -> T:
    """Return what is asked for once the work has been done: where all turns are taken, it waits for one."""
    while True:
        try:
            return await ask()
        except TooMany:
            await anyio.sleep(_TURN_S)


async def _cancel(call: Call, task_id: str) -> None:
    with suppress(StudioError):  # it has ended meanwhile
        await call.do(cancel_task, task_id, call.base_url, call.now_s)


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
        chosen = {"model": service.speech_model, "voice": service.speech_voice, "response_format": "wav"}
        await _fetch(studio, {**chosen, "input": text, "speed": speed}, recording, transport)
        yield recording
    finally:
        with anyio.CancelScope(shield=True):
            recording.unlink(missing_ok=True)
            place.rmdir()
            release()


async def _fetch(
    studio: Studio, asked: Mapping[str, str | float], target: Path, transport: httpx.AsyncBaseTransport | None
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
    asked: Mapping[str, str | float],
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
