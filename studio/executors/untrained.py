"""A voice before it is trained, as a worker makes it: ahead, when its recordings are examined, or when it converts."""

from pathlib import Path

from engine.errors import DatasetError, TrainingError
from studio.errors import NotFound
from studio.executors.job import Job
from studio.store.catalogue import Model
from studio.store.workspaces import Workspace, untrained_folder, untrained_place


def untrained_voice_folder(job: Job, model: Model) -> Path:
    """The folder of the untrained voice, which is made where it is not there; what is made of one that was deleted
    meanwhile is deleted too. Raises NotFound then, and as `untrained_folder` does."""

    def report(fraction: float, message: str) -> None:
        job.heart.report(0.0, message)  # what was asked for has not begun yet

    folder = untrained_folder(job.bench.storage, job.account, model, report, job.bench.device)
    try:
        job.model()
    except NotFound:
        job.bench.storage.delete_below(untrained_place(model))
        raise
    return folder


def make_ahead(job: Job, workspace: Workspace) -> None:
    """Make the untrained voice of recordings that have just been analysed, where there is enough voice in them."""
    try:
        workspace.make_untrained(job.heart.report, job.bench.device)
    except (DatasetError, TrainingError) as reason:  # which the data report tells, and whoever converts with it is told
        job.log.info("no_untrained_voice", reason=str(reason))
