"""Voices of an account: listed, made of a zip, trained, carried elsewhere and deleted."""

import json
import secrets
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from engine.audio import open_audio
from engine.card import CARD_FILE, DEMO_VOICES, card_text
from engine.dataset import TRAINING_FOLDER, Dataset, create_dataset
from engine.errors import ArchiveError, AudioError, DatasetError, EngineError, ProfileError, VoiceError
from engine.profile import profile_as_json
from engine.training_history import HISTORY_FILE
from studio.accounts import Account
from studio.actions.once import Idempotency, answered, once
from studio.catalogue import (
    COMPLETED,
    DATASETS,
    FAILED,
    PENDING,
    TRAINING,
    VOICES,
    Model,
    add_model,
    count_models,
    find_model,
    held_model,
    list_models,
    remove_model,
    set_keys,
    tell_failure,
    training_begun,
)
from studio.errors import NotFound, NotReadable, TooMany, WrongState
from studio.studio import Studio
from studio.tasks import ACTIVE, Task, latest, latest_in, submit, waiting_and_running
from studio.workspaces import arriving, refuse_in_training, voice_folder

LEAST_RECORDED_S = 10.0  # less is refused at once; how much of it is voice shows in the data report
_REPORT_PRIORITY = 1  # it is short, and somebody waits to read it
_LATER_S = 30.0
_LARGEST_HISTORY = 64 << 20  # bytes


# ---- looked at


def models_view(studio: Studio, account: Account, **narrowed: Any) -> dict[str, Any]:
    """Voices that can be used, as the published interface lists them; with `limit`, also where to go on."""
    models, following = list_models(studio.database, studio.storage, account, **narrowed)
    return {"models": models} | ({"next_cursor": following} if narrowed.get("limit") else {})


def model_view(studio: Studio, account: Account, model_id: str) -> dict[str, Any]:
    """All that is known of a voice: its state, its training with losses and scores, and its data report.

    Raises NotFound.
    """
    model = find_model(studio.database, studio.storage, account, model_id)
    task = None if model.is_demo else latest(studio.database, account.id, model_id, "training")
    active = task if task is not None and task.state in ACTIVE else None
    return {
        **model.published,
        "state": model.state,
        "demo": model.is_demo,
        "error": model.error,
        "licence": model.card.get("licence") or "",
        "source": model.card.get("source") or "",
        "consent": model.card.get("consent") or {},
        "training": {
            "current_epoch": model.epoch,
            "epochs": active.parameters["epochs"] if active else model.epochs,
            "task_id": task.id if task else None,
            "progress": active.progress if active else None,
            "message": active.message if active else "",
            "history": training_history(studio, model),
        },
        "data_report": model.data_report,
    }


def training_history(studio: Studio, model: Model) -> dict[str, Any] | None:
    """Losses and scores of a voice's training, as engine.training_history has them; None before there is one."""
    place = model.training_key or (f"{model.dataset_key}/{TRAINING_FOLDER}" if model.dataset_key else None)
    if place is None:
        return None
    try:
        history = json.loads(b"".join(studio.storage.read(f"{place}/{HISTORY_FILE}", 0, _LARGEST_HISTORY)))
    except (NotFound, ValueError):
        return None
    return history if isinstance(history, dict) else None


# ---- made


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
    if not zipfile.is_zipfile(archive):
        raise NotReadable("The file is no zip: put model.json and the folder audio into a zip.", "not_a_zip")
    with _workplace(studio) as place:
        with _called(archive, "The zip"):
            dataset = create_dataset(archive, place / "dataset")
        _refuse_too_little(dataset)

        with arriving(studio.storage, account, DATASETS, dataset.folder) as arrive:

            def act(connection: Connection) -> dict[str, Any]:
                _refuse_too_many(studio, connection, account)
                model = add_model(connection, studio.storage, account, profile_as_json(dataset.profile), PENDING)
                submit(
                    connection, account.id, "report", {},
                    model_id=model.id, priority=_REPORT_PRIORITY, request_id=request_id,
                )  # fmt: skip
                # late, so that little can go wrong once the recordings are in their place
                set_keys(connection, model, dataset_key=arrive(model.id))
                return {"model_id": model.id}

            answer, _ = once(studio, account, idempotency, act)
    studio.wake()
    return str(answer["model_id"])


def import_model(studio: Studio, account: Account, package: Path, idempotency: Idempotency | None = None) -> str:
    """Bring in a voice that was exported; gives the id it has here.

    Raises NotReadable for what is no zip, ArchiveError and VoiceError for what is no whole voice, TooMany, DiskFull.
    """
    from engine.package import import_voice  # it loads the networks, to see whether the weights are those of a voice

    if known := answered(studio, account, idempotency):
        return str(known["model_id"])
    if not zipfile.is_zipfile(package):
        raise NotReadable("The file is no voice package: export a voice, and import that file.", "not_a_zip")
    with _workplace(studio) as place:
        with _called(package, "The file"):
            card = import_voice(package, place / "voices")
        with arriving(studio.storage, account, VOICES, place / "voices" / card.id) as arrive:

            def act(connection: Connection) -> dict[str, Any]:
                _refuse_too_many(studio, connection, account)
                model = add_model(connection, studio.storage, account, asdict(card), COMPLETED)
                key = arrive(model.id)
                set_keys(connection, model, voice_key=key)
                studio.storage.put_bytes(card_text(replace(card, id=model.id)).encode(), f"{key}/{CARD_FILE}")
                return {"model_id": model.id}

            answer, _ = once(studio, account, idempotency, act)
    return str(answer["model_id"])


# ---- trained


def train_model(
    studio: Studio,
    account: Account,
    model_id: str,
    epochs: int,
    idempotency: Idempotency | None = None,
    request_id: str | None = None,
) -> dict[str, Any]:
    """Train a voice until it has `epochs` epochs in all; gives its status, as the published interface has it.

    For no more epochs than it has, and while it trains, nothing is started: so the call also tells how far it is. A
    failure is told once; the next call, or one for another total, goes on from the last checkpoint. Raises NotFound,
    WrongState for a voice that has no recordings here, TooMany.
    """
    found = find_model(studio.database, studio.storage, account, model_id)
    if found.is_demo or found.dataset_key is None:
        why = "comes with the program" if found.is_demo else "was brought in without its recordings"
        raise WrongState(f"The voice '{model_id}' {why}: it cannot be trained.", "no_recordings")

    def act(connection: Connection) -> dict[str, Any]:
        # this comes first: whoever calls at the same time waits here, and then sees what was done
        trainings = waiting_and_running(connection, account.id, "training")
        model = held_model(connection, account.id, model_id)  # its training may have come to its end since
        failure_is_new = tell_failure(connection, account.id, model_id)
        before = latest_in(connection, account.id, model_id, "training")
        status = _status(model, before, epochs, failure_is_new)
        if status is None:
            _refuse_too_many_trainings(studio, trainings)
            submit(connection, account.id, "training", {"epochs": epochs}, model_id=model_id, request_id=request_id)
            training_begun(connection, account.id, model_id)
            status = TRAINING
        return {"status": status, "model_id": model_id, "current_epoch": model.epoch}

    answer, _ = once(studio, account, idempotency, act)
    studio.wake()
    return answer


def _status(model: Model, before: Task | None, epochs: int, failure_is_new: bool) -> str | None:
    """How the training that was asked for before stands; None where one is to be started."""
    if before is not None and before.state in ACTIVE:
        return TRAINING
    if model.state == COMPLETED and epochs <= model.epochs:
        return COMPLETED
    is_poll = before is not None and before.parameters["epochs"] == epochs
    return FAILED if model.state == FAILED and failure_is_new and is_poll else None


def _refuse_too_many_trainings(studio: Studio, trainings: int) -> None:
    limit = studio.service.trainings_per_account
    if trainings >= limit:
        raise TooMany(f"{limit} trainings wait or run already: wait until one is done.", _LATER_S, "queue_full")


# ---- carried elsewhere, and deleted


def export_model(studio: Studio, account: Account, model_id: str, target: Path) -> None:
    """Write a voice as a package to `target`. Raises NotFound, WrongState for one that is not trained, DiskFull."""
    from engine.package import export_voice  # it loads the networks, to see whether the voice is whole

    model = find_model(studio.database, studio.storage, account, model_id)
    if model.is_demo:
        export_voice(DEMO_VOICES / model_id, target)
        return
    if model.voice_key is None:
        raise WrongState(f"The voice '{model_id}' is {model.state}: it can be exported once it is trained.")
    export_voice(voice_folder(studio.storage, model), target)


def delete_model(studio: Studio, account: Account, model_id: str) -> None:
    """Delete a voice with its recordings and its training. Raises NotFound, WrongState while it is being trained."""
    model = find_model(studio.database, studio.storage, account, model_id)
    if model.is_demo:
        raise WrongState(f"The voice '{model_id}' comes with the program and cannot be deleted.", "demo_voice")
    with studio.database.write() as connection:
        held_model(connection, account.id, model_id)  # whoever begins to train it waits here, and finds it gone
        for kind in ("training", "report"):
            task = latest_in(connection, account.id, model_id, kind)
            if task is not None and (task.state == "running" or (task.state == "queued" and kind == "training")):
                text = f"The voice '{model_id}' is being worked on: cancel that task first, or wait for it."
                raise WrongState(text, "model_busy")
        home = studio.storage.folder(model.dataset_key) if model.dataset_key else None
        if home is not None and home.is_dir():
            refuse_in_training(home)  # the command line has no task
        places = remove_model(connection, studio.storage, account, model)
    for place in places:
        studio.storage.delete_below(place)


# ---- what several of them need


@contextmanager
def _workplace(studio: Studio) -> Iterator[Path]:
    place = studio.settings.work / "incoming" / secrets.token_hex(8)
    place.mkdir(parents=True)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _called(upload: Path, name: str) -> Iterator[None]:
    """The engine's errors with this name for the file, which is called here as its owner has never seen it."""
    try:
        yield
    except ProfileError:
        raise  # it names fields
    except (ArchiveError, DatasetError, VoiceError) as cause:
        kind: type[EngineError] = type(cause)
        raise kind(str(cause).replace(f'"{upload.name}"', name)) from cause


def _refuse_too_many(studio: Studio, connection: Connection, account: Account) -> None:
    limit = studio.service.models_per_account
    if count_models(connection, account.id) >= limit:
        raise TooMany(f"There are {limit} voices already: delete one to make another.", _LATER_S, "too_many_models")


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
