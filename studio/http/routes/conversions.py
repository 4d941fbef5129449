"""Conversions: POST /convert and GET /check-task/{task_id}, as published."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import JSONResponse

from engine.conversion.settings import AUTO, ConversionSettings
from engine.effects.settings import OFF, EffectSettings, written_effects
from studio.actions.calls import PUBLISHED_SETTINGS
from studio.actions.conversions import ConversionRequest, conversion_view, start_conversion
from studio.actions.verification import verify_file
from studio.http.bodies import MULTIPART
from studio.http.routes.call import Calling
from studio.http.routes.checked import CheckedRoute
from studio.http.routes.documentation import OF_UPLOADS, also_named, body, file_field, problems
from studio.http.routes.fields import Fields
from studio.http.routes.identifiers import known_model_id, known_task_id
from studio.http.routes.schemas import CompletedConversion, TaskId, UnfinishedConversion, Verdict
from studio.http.routes.setting_fields import given_settings, setting_properties
from studio.http.routes.song_fields import SONG_FIELDS, given_song

PRESETS = (AUTO, *ConversionSettings.presets)
AUDIO_FIELDS = ("audio", "audio_file")  # both are published
_RECORDING = also_named(file_field("The recording: wav, flac, mp3, ogg, opus, m4a, aac or aiff."), "audio_file")
_FIELDS: dict[str, Any] = {
    "audio": _RECORDING,
    "model": {"type": "string", "description": "The id of a voice.", "examples": ["kathleen"]},
    "preset": {
        "type": "string", "enum": [*PRESETS], "default": AUTO,
        "description": "Settings for singing, rap or speech; auto chooses by the style of the recording.",
    },
    "untrained": {
        "type": "boolean", "default": False,
        "description": "Also accept a voice of your recordings that has not been trained yet.",
    },
    "effects": {
        "oneOf": [
            {"type": "string", "enum": list(EffectSettings.presets)},
            {"type": "object", "properties": setting_properties(EffectSettings, {}), "additionalProperties": False},
        ],
        "default": OFF,
        "description": "EQ, dynamics and reverb on the takes: a preset, or a JSON object of single values.",
    },
    **setting_properties(ConversionSettings, PUBLISHED_SETTINGS),
    **SONG_FIELDS,
}  # fmt: skip

router = APIRouter(tags=["conversions"], route_class=CheckedRoute)


@router.post(
    "/convert",
    response_model=TaskId,
    responses=problems(404, 409, *OF_UPLOADS),
    openapi_extra=body(_FIELDS, ("audio", "model"), MULTIPART),
)
async def convert(call: Calling) -> JSONResponse:
    """Convert a recording to another voice, or a song. The answer comes at once; `/check-task` reports the result."""
    async with call.form() as form:
        fields = Fields(form)
        audio = fields.file(*AUDIO_FIELDS)
        model = fields.text("model")
        preset = fields.choice("preset", PRESETS, AUTO)
        untrained = fields.flag("untrained", False)
        effects = fields.parsed("effects", written_effects, OFF)
        settings = given_settings(fields, ConversionSettings, PUBLISHED_SETTINGS)
        fields.check()
        song = given_song(fields, model)
        assert audio is not None
        task_id = await call.started(
            start_conversion,
            call.studio,
            call.account,
            audio.path,
            audio.name,
            ConversionRequest(known_model_id(model), settings, preset, untrained, effects, song),
            idempotency=call.idempotency("convert", form),
            request_id=call.request_id,
        )
    call.note(task_id=task_id, model_id=model)
    return JSONResponse({"task_id": task_id})


@router.post(
    "/verify",
    response_model=Verdict,
    responses=problems(*OF_UPLOADS),
    openapi_extra=body({"audio": _RECORDING}, ("audio",), MULTIPART),
)
async def verify(call: Calling) -> JSONResponse:
    """Tell where an audio file comes from, as far as its content credentials prove it. Nothing is kept."""
    async with call.form() as form:
        fields = Fields(form)
        audio = fields.file(*AUDIO_FIELDS)
        fields.check()
        assert audio is not None
        verdict = await call.apart(verify_file, audio.path, audio.name)
    return JSONResponse(verdict)


@router.get(
    "/check-task/{task_id}", response_model=CompletedConversion | UnfinishedConversion, responses=problems(404, 422)
)
async def check_task(call: Calling, task_id: str) -> JSONResponse:
    """Report the status of a conversion, and the links to its takes once it is completed."""
    task_id = known_task_id(task_id)
    return JSONResponse(
        await call.at_once(conversion_view, call.studio, call.account, task_id, call.base_url, call.now_s)
    )
