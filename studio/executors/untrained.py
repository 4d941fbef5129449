"""Make an untrained voice in a worker: after examining its recordings, or when it first converts."""

from pathlib import Path

from engine.errors import DatasetError, TrainingError
from studio.errors import NotFound
from studio.executors.job import Job
from studio.store.catalogue import Model
from studio.store.workspaces import Workspace, untrained_folder, untrained_prefix


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
