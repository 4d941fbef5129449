"""Voices made of recordings: brought in as a zip, still to be trained."""

from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from engine.audio.files import open_audio
from engine.datasets.dataset import Dataset, create_dataset
from engine.errors import AudioError, DatasetError
from engine.voices.profile import profile_as_json
from studio.actions.arrivals import called, seems_zip, workplace
from studio.errors import NotReadable, WrongState
from studio.store.accounts import Account
from studio.store.catalogue import DATASETS, PENDING, add_model, find_model, refuse_too_many, set_keys
from studio.store.idempotency import Idempotency, answered, once
from studio.store.studio import Studio
from studio.store.tasks import latest, submit, waiting_and_running
from studio.store.workspaces import arriving

LEAST_RECORDED_S = 10.0  # less is refused at once; how much of it is voice shows in the data report
REPORT = "report"
_MOST_REPORTS = 20  # of an account that wait or run: nobody asks for more by hand
_REPORT_PRIORITY = 1  # it is short, and somebody waits to read it


def create_model(
    studio: Studio,
    account: Account,
    archive: Path,
    idempotency: Idempotency | None = None,
    request_id: str | None = None,
) -> str:
    """A voice still to be trained, made of a zip with model.json and recordings; gives its id.

    Raises NotReadable for what is no zip, ArchiveError, DatasetError and ProfileError for one that no voice can be made
    of, TooMany, DiskFull, Unavailable; then nothing is left behind.
    """
    if known := answered(studio, account, idempotency):
        return str(known["model_id"])
    if not seems_zip(archive):
        raise NotReadable("The file is no zip: put model.json and the folder audio into a zip.", "not_a_zip")
    with workplace(studio) as place:
        with called(archive, "the zip"):
            dataset = create_dataset(archive, place / "dataset")
        return keep_dataset(studio, account, dataset, idempotency, request_id)


def keep_dataset(
    studio: Studio,
    account: Account,
    dataset: Dataset,
    idempotency: Idempotency | None = None,
    request_id: str | None = None,
) -> str:
    """Make a dataset, which is moved from where it lies, a voice still to be trained; gives its id.

    Its recordings are examined next. Raises DatasetError for too little, TooMany, DiskFull, Unavailable.
    """
    _refuse_too_little(dataset)
    with arriving(studio.storage, account, DATASETS, dataset.folder) as arrive:

        def act(connection: Connection) -> dict[str, Any]:
            refuse_too_many(connection, account.id, studio.service.models_per_account)
            model = add_model(connection, studio.storage, account, profile_as_json(dataset.profile), PENDING)
            submit(
                connection, account.id, REPORT, {},
                model_id=model.id, priority=_REPORT_PRIORITY, request_id=request_id,
            )  # fmt: skip
            # late, so that little can go wrong once the recordings are in their place
            set_keys(connection, model, dataset_key=arrive(model.id))
            return {"model_id": model.id}

        answer, _ = once(studio, account, idempotency, act)
    studio.wake()
    return str(answer["model_id"])


def examination_view(studio: Studio, account: Account, model_id: str) -> dict[str, Any]:
    """How the examination of a voice's recordings stands: `state` (of its task; completed where there is none any
    more), `progress`, `message` and `error`. Raises NotFound."""
    model = find_model(studio.database, account, model_id)
    task = latest(studio.database, account.id, model.id, REPORT)
    if task is None or task.created_at < model.created_at:  # that of an earlier voice of this id
        return {"state": "completed", "progress": 1.0, "message": "", "error": None}
    return {"state": task.state, "progress": task.progress, "message": task.message, "error": task.error}


def examine_again(studio: Studio, account: Account, model_id: str) -> None:
    """Examine the recordings of a voice once more, where that came to nothing. Raises NotFound, WrongState."""
    model = find_model(studio.database, account, model_id)
    if model.dataset_key is None:
        raise WrongState(f"The voice '{model_id}' has no recordings here.", "no_recordings")
    with studio.database.write() as connection:
        if waiting_and_running(connection, account.id, REPORT) < _MOST_REPORTS:
            submit(connection, account.id, REPORT, {}, model_id=model_id, priority=_REPORT_PRIORITY)
    studio.wake()


def _refuse_too_little(dataset: Dataset) -> None:
    """DatasetError where what can be read of the recordings is too short for any voice."""
    seconds = sum(map(_duration_s, dataset.recordings))
    if seconds < LEAST_RECORDED_S:
        raise DatasetError(
            f"There are {seconds:.1f} seconds of sound that can be read; at least {LEAST_RECORDED_S:.0f} are needed, "
            "five minutes are good."
        )


def _duration_s(recording: Path) -> float:
    """As its beginning says; one that does not say counts as long enough."""
    try:
        with open_audio(recording) as source:
            return LEAST_RECORDED_S if source.duration_s is None else source.duration_s
    except AudioError:
        return 0.0  # the data report tells which
