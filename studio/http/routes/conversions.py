"""Conversions: POST /convert and GET /check-task/{task_id}, as published."""

from dataclasses import asdict
from dataclasses import fields as dataclass_fields

from fastapi import APIRouter
from starlette.responses import JSONResponse

from engine.audio.result_format import PUBLISHED, ResultFormat
from engine.audio.tracks import MOST_TRACKS
from engine.conversion.settings import AUTO, ConversionSettings
from engine.effects.settings import OFF, EffectSettings, written_effects
from engine.files import on_track
from studio.actions.calls import PUBLISHED_SETTINGS
from studio.actions.conversions.conversion import ConversionRequest, conversion_view, start_conversion
from studio.actions.conversions.views import CompletedConversion, UnfinishedConversion
from studio.actions.recordings import verify_file
from studio.http.bodies import MULTIPART, Form, UploadedFile
from studio.http.routes.answers import described
from studio.http.routes.call import Call, Calling
from studio.http.routes.checked_answers import CheckedRoute, Shown
from studio.http.routes.documentation import OF_UPLOADS, Described, also_named, body, file_field, problems
from studio.http.routes.fields import Fields
from studio.http.routes.identifiers import known_model_id, known_task_id
from studio.http.routes.schemas import StartedTask, Verdict
from studio.http.routes.setting_fields import parse_settings, setting_properties, setting_property
from studio.http.routes.song_fields import SONG_FIELDS, parse_song
from studio.http.routes.waits_deadlines_callbacks import (
    PREFERENCE,
    Promises,
    answers_of_start,
    looked,
    promises_of,
    starting,
    true_to_the_queue,
)
from studio.store.kinds import CONVERSION

PRESETS = (AUTO, *ConversionSettings.presets)
AUDIO_FIELDS = ("audio", "audio_file")  # both are published
_OF_FORMAT = dataclass_fields(ResultFormat)
_RECORDING = also_named(file_field("The recording: wav, flac, mp3, ogg, opus, m4a, aac or aiff."), "audio_file")
_VOICE = {"type": "string", "description": "The id of a voice.", "examples": ["kathleen"]}
FURTHER_FIELDS: Described = {
    "preset": {
        "type": "string",
        "enum": [*PRESETS],
        "default": AUTO,
        "description": "Settings for singing, rap or speech; auto chooses by the style of the recording.",
    },
    "untrained": {
        "type": "boolean",
        "default": False,
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
    **{one.name: {**setting_property(one), "default": getattr(PUBLISHED, one.name)} for one in _OF_FORMAT},
    "track": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_TRACKS,
        "description": "Which sound track of a film or a recording of the screen; by default the one players play.",
    },
    **SONG_FIELDS,
}
_FIELDS = {"audio": _RECORDING, "model": _VOICE, **FURTHER_FIELDS}

router = APIRouter(tags=["conversions"], route_class=CheckedRoute)


@router.post(
    "/convert",
    operation_id="convert",
    summary="Convert a recording or a song",
    response_model=StartedTask,
    responses=answers_of_start(StartedTask, 404, 409, *OF_UPLOADS),
    openapi_extra=starting(_FIELDS, ("audio", "model"), MULTIPART),
)
async def convert(call: Calling) -> JSONResponse:
    """Convert a recording to another voice, or a song. The answer comes at once; `/check-task` reports the result."""
    async with call.form() as form:
        fields = Fields(form)
        audio, model = fields.file(*AUDIO_FIELDS), fields.text("model")
        task_id, promises = await started_conversion(call, form, fields, audio, model)
    return await promises.answer(call, task_id, {"task_id": task_id})


async def started_conversion(
    call: Call, form: Form, fields: Fields, audio: UploadedFile | None, model: str
) -> tuple[str, Promises]:
    """Start what a form asks for beside the recording and the voice; return its task, and what else it asks for."""
    track = fields.maybe_whole("track", 1, MOST_TRACKS)
    promises = promises_of(call, fields)
    request = read_conversion(fields, model)
    assert audio is not None
    async with true_to_the_queue(call, CONVERSION):
        task_id = await call.do(
            promises.of(call).around(start_conversion),
            on_track(audio.path, track),
            audio.name,
            request,
            idempotency=call.idempotency("convert", form),
            request_id=call.request_id,
        )
    call.note(task_id=task_id, model_id=model)
    return task_id, promises


def read_conversion(fields: Fields, model: str) -> ConversionRequest:
    """Return what a form asks for beside the recording. Raises Invalid with all that is wrong in it, SettingsError."""
    preset = fields.choice("preset", PRESETS, AUTO)
    untrained = fields.flag("untrained", False)
    effects = fields.parsed("effects", written_effects, OFF)
    settings = parse_settings(fields, ConversionSettings, PUBLISHED_SETTINGS)
    form_words = {
        one.name: fields.choice(one.name, one.metadata["words"], getattr(PUBLISHED, one.name)) for one in _OF_FORMAT
    }
    fields.check()
    assert effects is not None
    song = parse_song(fields, model)
    return ConversionRequest(
        known_model_id(model), settings, preset, untrained, effects, song, ResultFormat(**form_words)
    )


@router.post(
    "/verify",
    operation_id="verify",
    summary="Verify where a file comes from",
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
        verdict = await call.do(verify_file, audio.path, audio.name)
    return Shown(asdict(verdict))


@router.get(
    "/check-task/{task_id}",
    **described(
        "check_task", "Check a conversion", CompletedConversion | UnfinishedConversion, problems(404, 422), PREFERENCE
    ),
)
async def check_task(call: Calling, task_id: str) -> JSONResponse:
    """Report the status of a conversion, and the links to its takes once it is completed."""
    task_id = known_task_id(task_id)
    return await looked(call, task_id, lambda: call.do(conversion_view, task_id, call.base_url, call.now_s))
