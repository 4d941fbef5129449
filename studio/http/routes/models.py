"""Voices, which the published API calls models: list, create, train, export and import."""

import secrets
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

from anyio import CancelScope, to_thread
from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send

from engine.files import named
from engine.settings import Limits, limits_of
from engine.training.plan import TrainingPlan
from engine.voices.profile import LONGEST_NAME
from studio.actions.rvc_models import RvcFiles
from studio.actions.trainings.training import train_model
from studio.actions.voices.datasets import create_model
from studio.actions.voices.making import TeachingRequest, teach_from_upload
from studio.actions.voices.packages import export_model, import_upload
from studio.actions.voices.voice import Voices, VoiceView, delete_model, model_view, models_view
from studio.http.bodies import JSON, MULTIPART, URLENCODED
from studio.http.routes.answers import described
from studio.http.routes.call import Call, Calling
from studio.http.routes.checked_answers import CheckedRoute, Shown
from studio.http.routes.documentation import OF_UPLOADS, body, file_field, problems
from studio.http.routes.fields import WHOLE, Fields
from studio.http.routes.identifiers import known_model_id
from studio.http.routes.profile_fields import PROFILE_FIELDS, parse_profile
from studio.http.routes.schemas import CreatedVoice, ModelId, StartedTask, StartedTraining
from studio.http.routes.setting_fields import setting_named, setting_property
from studio.http.routes.tasks import Cursor
from studio.http.routes.waits_deadlines_callbacks import answers_of_start, promises_of, starting, true_to_the_queue
from studio.store.kinds import REPORT, TEACHING, TRAINING
from studio.store.records.cards import Age, Gender, Genre, VoiceType
from studio.store.tasks import latest

MOST_MODELS = 1000
OUTGOING = "outgoing"  # the folder in the studio's work folder where packages are made
_ZIP = "training_audio_files"
_PACKAGE, _INDEX, _RECORDINGS = "package", "index", "recordings"
_CREATED = {
    _ZIP: file_field("A .zip with a folder `audio`, and a model.json unless the fields here say what it would."),
    **PROFILE_FIELDS,
}

router = APIRouter(tags=["models"], route_class=CheckedRoute)


class _Wanted(BaseModel):
    """Filters for the list of voices."""

    genre: Genre | None = None
    gender: Gender | None = None
    age: Age | None = None
    voice_type: VoiceType | None = None
    base_language: Annotated[str | None, Field(pattern="^[a-z]{2}$")] = None
    q: Annotated[str | None, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$", description="Words to find.")] = None
    limit: Annotated[int | None, Field(ge=1, le=MOST_MODELS), WHOLE] = None
    cursor: Cursor = None


@router.get("/models", **described("list_models", "List voices", Voices, problems(422)))
async def list_models(call: Calling, wanted: Annotated[_Wanted, Query()]) -> JSONResponse:
    """List usable voices: the account's trained ones, and the demo voices."""
    return Shown(await call.do(models_view, **dict(wanted)))


@router.post(
    "/models/create",
    operation_id="create_model",
    summary="Create a voice",
    response_model=CreatedVoice,
    responses=answers_of_start(CreatedVoice, 409, *OF_UPLOADS),
    openapi_extra=starting(_CREATED, (_ZIP,), MULTIPART),
)
async def create(call: Calling) -> JSONResponse:
    """Create an untrained voice from recordings and what is said of it, in their model.json or here."""
    async with call.form() as form:
        fields = Fields(form)
        archive, given, promises = fields.file(_ZIP), parse_profile(fields), promises_of(call, fields)
        fields.check()
        assert archive is not None
        idempotency = call.idempotency("create", form)
        recordings, action = named(archive.path, archive.name), promises.of(call).around(create_model)
        model_id = await call.do(action, recordings, idempotency, call.request_id, given)
    call.note(model_id=model_id)
    return await promises.answer(call, await _latest_id(call, model_id, REPORT), {"model_id": model_id})


_SPEAKER = Limits(minimum=0, maximum=4095)
_IMPORTED = {
    _PACKAGE: file_field("A voice package, as exported; or an RVC model, whose name ends in .pth or .onnx."),
    _INDEX: file_field("The .index of an RVC model."),
    "speaker": {
        "type": "integer",
        "minimum": 0,
        "maximum": 4095,
        "default": 0,
        "description": "The speaker of an RVC model that has several.",
    },
}


@router.post(
    "/models/import",
    **described(
        "import_model", "Import a voice", ModelId, problems(409, *OF_UPLOADS), body(_IMPORTED, (_PACKAGE,), MULTIPART)
    ),
)
async def import_package(call: Calling) -> JSONResponse:
    """Import a voice that was exported here or elsewhere, or an RVC model."""
    async with call.form() as form:
        fields = Fields(form)
        package = fields.file(_PACKAGE)
        index = fields.maybe_file(_INDEX)
        speaker = int(fields.setting("speaker", _SPEAKER, 0))
        fields.check()
        assert package is not None
        files = RvcFiles(index.path if index else None, speaker)
        idempotency = call.idempotency("import", form)
        model_id = await call.do(import_upload, package.path, package.name, idempotency, files)
    call.note(model_id=model_id)
    return Shown({"model_id": model_id})


_EPOCHS = setting_named(TrainingPlan, "epochs")
_TRAINING_FIELDS = {
    "epochs": {
        **setting_property(_EPOCHS),
        "examples": [100],
        "description": "The total number of epochs to train; one epoch is one pass over the recordings.",
    }
}


@router.post(
    "/models/{model_id}/train",
    operation_id="train_model",
    summary="Train a voice",
    response_model=StartedTraining,
    responses=answers_of_start(StartedTraining, 404, 409, *OF_UPLOADS),
    openapi_extra=starting(_TRAINING_FIELDS, ("epochs",), MULTIPART, URLENCODED, JSON),
)
async def train(call: Calling, model_id: str) -> JSONResponse:
    """Train a voice, or continue its training. A call that repeats the same `epochs` starts nothing and reports the
    progress, so clients can poll it."""
    model_id = known_model_id(model_id)
    async with call.form() as form:
        fields = Fields(form)
        epochs, promises = int(fields.setting("epochs", limits_of(_EPOCHS))), promises_of(call, fields)
        fields.check()
        idempotency = call.idempotency(f"train {model_id}", form)
        async with true_to_the_queue(call, TRAINING):
            action = promises.of(call).around(train_model)
            answer = await call.do(action, model_id, epochs, idempotency, call.request_id)

    async def reached() -> Mapping[str, object]:
        view = await call.do(model_view, model_id)
        status = view.state if view.state in ("training", "completed") else "failed"
        return {"status": status, "current_epoch": view.training.current_epoch}

    return await promises.answer(call, await _latest_id(call, model_id, TRAINING), answer, reached)


_TEACHING_FIELDS = {
    "recordings": file_field("A recording, or a .zip of them, to sing besides the bundled ones."),
    "name": {"type": "string", "maxLength": LONGEST_NAME, "description": "Of the new voice; by default the same."},
    "epochs": {
        "type": "integer",
        "minimum": 0,
        "maximum": 100_000,
        "default": 0,
        "description": "Of the training that follows; 0 for none.",
    },
}


@router.post(
    "/models/{model_id}/teach",
    operation_id="teach_model",
    summary="Teach a voice by an imported one",
    response_model=StartedTask,
    responses=answers_of_start(StartedTask, 404, 409, *OF_UPLOADS),
    openapi_extra=starting(_TEACHING_FIELDS, (), MULTIPART),
)
async def teach(call: Calling, model_id: str) -> JSONResponse:
    """Let an imported voice teach a voice of this studio. The task's `model_id` is the new voice, once it is there."""
    model_id = known_model_id(model_id)
    async with call.form() as form:
        fields = Fields(form)
        sent = fields.maybe_file(_RECORDINGS)
        name = fields.maybe_text("name", LONGEST_NAME)
        epochs = int(fields.setting("epochs", Limits(minimum=0, maximum=100_000), 0))
        promises = promises_of(call, fields)
        fields.check()
        idempotency = call.idempotency(f"teach {model_id}", form)
        upload = (sent.path, sent.name) if sent else None
        asked = TeachingRequest(name, epochs)
        async with true_to_the_queue(call, TEACHING):
            action = promises.of(call).around(teach_from_upload)
            task_id = await call.do(action, model_id, upload, asked, idempotency, call.request_id)
    call.note(task_id=task_id)
    return await promises.answer(call, task_id, {"task_id": task_id})


@router.get("/models/{model_id}", **described("get_model", "Show a voice", VoiceView, problems(404, 422)))
async def one_model(call: Calling, model_id: str) -> JSONResponse:
    """Return a voice with its state, its training with losses and scores, and the report on its recordings."""
    return Shown(await call.do(model_view, known_model_id(model_id)))


@router.delete(
    "/models/{model_id}", status_code=204, **described("delete_model", "Delete a voice", None, problems(404, 409, 422))
)
async def delete(call: Calling, model_id: str) -> Response:
    """Delete a voice with its recordings."""
    await call.do(delete_model, known_model_id(model_id))
    return Response(status_code=204)


@router.get(
    "/models/{model_id}/package",
    operation_id="export_model",
    summary="Export a voice",
    response_class=FileResponse,
    responses={
        200: {
            "description": "The package.",
            "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
        },
        **problems(404, 409, 422),
    },
)
async def package(call: Calling, model_id: str) -> Response:
    """Export a voice as one file to import elsewhere. It contains no code."""
    model_id = known_model_id(model_id)
    folder = call.studio.settings.work / OUTGOING / secrets.token_hex(12)
    target = folder / f"{model_id}.voice.zip"
    try:
        await to_thread.run_sync(partial(folder.mkdir, parents=True))
        await call.do(export_model, model_id, target)
    except BaseException:
        await _remove(folder)
        raise
    return _PassingFile(target, media_type="application/zip", filename=target.name)


class _PassingFile(FileResponse):
    """A file deleted with its folder once it has been sent or the client has disconnected."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the whole file: each call exports it again, so ranges of two calls might not match."""
        headers = [one for one in scope["headers"] if one[0] not in (b"range", b"if-range")]
        try:
            await super().__call__({**scope, "headers": headers}, receive, send)
        finally:
            await _remove(Path(self.path).parent)


async def _latest_id(call: Call, model_id: str, kind: str) -> str | None:
    """Return the id of the newest task of this kind for a voice of the account."""
    task = await to_thread.run_sync(latest, call.studio.database, call.account.id, model_id, kind)
    return None if task is None else task.id


async def _remove(folder: Path) -> None:
    with CancelScope(shield=True):
        await to_thread.run_sync(lambda: shutil.rmtree(folder, ignore_errors=True))
