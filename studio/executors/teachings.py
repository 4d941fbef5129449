"""Let an imported voice teach one of this studio, in a worker: what it sings are the new voice's recordings."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from engine.voices.profile import profile_as_json
from studio.executors.job import Job
from studio.executors.retries import SHORT_PATIENCE_S, retry
from studio.store.catalogue import (
    DATASETS,
    PENDING,
    add_model,
    refuse_too_many,
    report_completed,
    set_keys,
    training_begun,
)
from studio.store.kinds import TRAINING
from studio.store.records.codec import written
from studio.store.records.voices import NewVoice, Teaching, Training
from studio.store.tasks import submit
from studio.store.voice_folders import arriving, voice_folder

if TYPE_CHECKING:
    from engine.datasets.dataset import Dataset
    from engine.datasets.report import DataReport


def teach(job: Job) -> None:
    """Make the data set and end the task with the new voice; queue its training if one was asked for."""
    from engine.datasets import teaching
    from engine.datasets.dataset import load_dataset
    from engine.datasets.left_out import write_left_out
    from engine.datasets.report import examined
    from engine.training.teaching import teach as taught

    context, asked = job.context, job.task.asked_as(Teaching)
    voice = context.voices.voice(retry(lambda: voice_folder(context.storage, job.model()), SHORT_PATIENCE_S))
    own = [teaching.TeachingSource(job.fetch_as(key, f"source-{at}")) for at, key in enumerate(asked.sources)]
    dataset = taught(
        voice,
        [*own, *teaching.bundled_sources()],
        job.folder / "dataset",
        asked.name,
        job.heartbeat.report,
        context.device,
        context.installation,
    )
    write_left_out(dataset.folder, asked.left_out)
    found = examined(load_dataset(dataset.folder))
    with arriving(context.storage, job.account, DATASETS, dataset.folder) as arrive:
        job.publish(lambda connection: _added(job, connection, dataset, found, arrive))
    for key in asked.sources:
        context.storage.delete(key)


def _added(
    job: Job, connection: Connection, dataset: "Dataset", found: "DataReport", arrive: Callable[[str], str]
) -> NewVoice:
    """Add the row of the new voice, and queue its training."""
    account, epochs = job.account, job.task.asked_as(Teaching).epochs
    refuse_too_many(connection, account.id, job.context.service)
    model = add_model(connection, job.context.storage, account, profile_as_json(dataset.profile), PENDING)
    report_completed(connection, account.id, model.id, found.as_json())
    if epochs:
        submit(connection, account.id, TRAINING, written(Training(epochs)), model_id=model.id)
        training_begun(connection, account.id, model.id)
    set_keys(connection, model, dataset_key=arrive(model.id))
    return NewVoice(model.id)
