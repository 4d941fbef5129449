"""Make an untrained voice in a worker: after examining its recordings, or when it first converts."""

from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import DatasetError, TrainingError, VoiceError
from studio.errors import NotFound
from studio.executors.job import Job
from studio.executors.retries import SHORT_PATIENCE_S, retry
from studio.store.catalogue import Model, find_model
from studio.store.voice_folders import untrained_folder, untrained_prefix, voice_folder
from studio.store.workspaces import Workspace

if TYPE_CHECKING:
    from engine.voices.imported import AnyVoice  # loads torch


def voice_for(job: Job, model_id: str, untrained: bool) -> "AnyVoice":
    """Return a voice to convert with; untrained: the untrained one, if it is still not trained."""
    context = job.context

    def loaded() -> "AnyVoice":
        model = find_model(context.database, job.account, model_id)
        is_untrained = model.is_untrained and untrained
        folder = untrained_voice_folder(job, model) if is_untrained else voice_folder(context.storage, model)
        return context.voices.voice(folder)

    try:
        return retry(loaded, SHORT_PATIENCE_S)
    except (NotFound, VoiceError):  # or it has just been trained, and is elsewhere now
        return retry(loaded, SHORT_PATIENCE_S)


def untrained_voice_folder(job: Job, model: Model) -> Path:
    """Return the folder of the untrained voice, making it if needed; if the voice was deleted meanwhile, delete the
    result. Raises NotFound then, and as `untrained_folder` does."""

    def report(fraction: float, message: str) -> None:
        job.heartbeat.report(0.0, message)  # the requested work has not started yet

    folder = untrained_folder(job.context.storage, job.account, model, report, job.context.device)
    try:
        job.model()
    except NotFound:
        job.context.storage.delete_below(untrained_prefix(model))
        raise
    return folder


def make_ahead(job: Job, workspace: Workspace) -> None:
    """Make the untrained voice of recordings just analysed, if they have enough voice."""
    try:
        workspace.make_untrained(job.heartbeat.report, job.context.device)
    except (DatasetError, TrainingError) as reason:  # shown in the data report and to a conversion with it
        job.log.info("no_untrained_voice", reason=str(reason))
