"""Start, watch and estimate trainings, and hear each evaluation."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import TypedDict

from engine.datasets.dataset import TRAINING_FOLDER
from engine.errors import EngineError
from engine.texts import tr
from engine.training.history import EVALUATIONS_FOLDER, ORIGINALS_FOLDER, Estimate
from engine.voices.card import WEIGHTS_FILE
from studio.actions.checkpoints import stored_card
from studio.actions.submission import Work, queue_task
from studio.actions.tasks import task_views
from studio.actions.voices import (
    EpochLine,
    EvaluationLine,
    HistoryLines,
    TimedTraining,
    checked_plan,
    train_model,
    training_history,
)
from studio.errors import WrongState
from studio.store.accounts import Account, account_prefix
from studio.store.catalogue import FAILED, TRAININGS, Model, all_models, find_model, held_model, training_forgotten
from studio.store.kinds import ESTIMATE, TRAINING
from studio.store.records.voices import EstimateAsked, Training
from studio.store.studio import Studio
from studio.store.task_filter import TaskFilter
from studio.store.tasks import ACTIVE, Task, latest, latest_in, places
from studio.store.workspaces import refuse_in_training, training_files

_SOUND = re.compile(rf"(?:{ORIGINALS_FOLDER}|{EVALUATIONS_FOLDER}/(\d+))/([a-z0-9-]+)\.flac")
_LABELS = {
    "singing-high": tr("Singing, high voice"),
    "singing-low": tr("Singing, low voice"),
    "speech-high": tr("Speech, high voice"),
    "speech-low": tr("Speech, low voice"),
}
_LATEST = 10  # epochs and evaluations that predict the next ones
_MOST_SHOWN = 200  # trainings in the queue


class Part(TypedDict):
    """A recording that each evaluation renders; url: of the original."""

    name: str
    label: str
    url: str


class Audition(EvaluationLine):
    """An evaluation. kept: whether it is the best so far; complete: whether it can become the voice; sounds: urls by
    part."""

    kept: bool
    complete: bool
    sounds: dict[str, str]


class Auditions(TypedDict):
    """The parts rendered at each evaluation, and all evaluations, oldest first."""

    parts: list[Part]
    evaluations: list[Audition]


class TrainableVoice(TypedDict):
    """A voice that has recordings here."""

    id: str
    name: str
    state: str
    epoch: int
    epochs: int


class PlacedTraining(TypedDict):
    """A training; place: in the queue while it waits, 1 for the next."""

    id: str
    state: str
    epochs: int
    place: int | None


class ShownEstimate(TypedDict):
    """A task that estimates the time of a training."""

    id: str
    state: str
    message: str
    error: str | None


class TrainingView(TrainableVoice, Auditions):
    """All that is known about a voice's training.

    task: its latest; chosen_epoch: the checkpoint that was chosen by hand, or None for the best one; estimating: the
    task that makes an estimate.
    """

    error: str | None
    chosen_epoch: int | None
    begun: bool
    task: PlacedTraining | None
    timed: TimedTraining | None
    estimating: ShownEstimate | None
    history: HistoryLines | None


def auditions_view(studio: Studio, account: Account, model_id: str, base_url: str, now_s: float) -> Auditions:
    """Return what can be heard of a training. Raises NotFound."""
    model = find_model(studio.database, account, model_id)
    return auditions_of(studio, model, training_history(studio, model), base_url, now_s)


def auditions_of(
    studio: Studio, model: Model, history: HistoryLines | None, base_url: str, now_s: float
) -> Auditions:
    """Return the same for a voice whose training history is already loaded."""
    if not history:
        return {"parts": [], "evaluations": []}
    files = training_files(studio.storage, model)
    originals: dict[str, str] = {}
    rendered: dict[str, dict[str, str]] = {}
    for path, key in sorted(files.items()):
        if found := _SOUND.fullmatch(path):
            folder, part = found.groups()
            place = originals if folder is None else rendered.setdefault(folder, {})
            place[part] = studio.link(key, base_url, now_s)
    return {
        "parts": [
            {"name": part, "label": _label(part), "url": originals[part]}
            for part in sorted(originals, key=_held_out_first)
        ],
        "evaluations": [
            {
                **line,
                "kept": line["epoch"] == history.get("best_epoch"),
                "complete": f"{EVALUATIONS_FOLDER}/{line['folder']}/{WEIGHTS_FILE}" in files,
                "sounds": rendered.get(line["folder"], {}),
            }
            for line in history["evaluations"]
        ],
    }


def _held_out_first(part: str) -> tuple[bool, str]:
    """Sort other singers first: they show the conversion best."""
    return part.startswith("held-out-"), part


def _label(part: str) -> str:
    """Name a part for people; held-out-2 is a recording of the voice itself that the training never used."""
    if part.startswith("held-out-"):
        return tr("Its own recording, not learned from ({value})", value=part.rpartition("-")[2])
    return _LABELS.get(part, part.replace("-", " ").capitalize())


# ---- views


def trainable_view(studio: Studio, account: Account) -> list[TrainableVoice]:
    """Return the voices that have recordings here, by name."""
    return [
        {"id": one.id, "name": one.name, "state": one.state, "epoch": one.epoch, "epochs": one.epochs}
        for one in all_models(studio.database, account)
        if one.dataset_key is not None
    ]


def training_view(studio: Studio, account: Account, model_id: str, base_url: str, now_s: float) -> TrainingView:
    """Return all that is known about a voice's training. Raises NotFound, and WrongState if it has no recordings."""
    model = _trainable(studio, account, model_id)
    history = training_history(studio, model)
    task, estimating = (latest(studio.database, account.id, model_id, kind) for kind in (TRAINING, ESTIMATE))
    if estimating is not None and estimating.created_at < model.created_at:  # belongs to an earlier voice with this id
        estimating = None
    if task is not None and task.created_at < model.created_at:
        task = None
    return {
        "id": model.id,
        "name": model.name,
        "state": model.state,
        "error": model.error,
        "epoch": model.epoch,
        "epochs": model.epochs,
        "chosen_epoch": _chosen_epoch(studio, model),
        "begun": history is not None,
        "task": None if task is None else _placed(studio, task),
        "timed": _timed(history, estimating),
        "estimating": None if estimating is None else _shown_estimate(estimating),
        "history": history,
        **auditions_of(studio, model, history, base_url, now_s),
    }


def queue_view(studio: Studio, account: Account, base_url: str, now_s: float) -> list[dict[str, Any]]:
    """Return the account's active trainings in the order they run, queued ones with a place."""
    found = [
        task
        for state in ACTIVE
        for task in task_views(studio, account, base_url, now_s, wanted=TaskFilter(state, TRAINING), limit=_MOST_SHOWN)[
            "tasks"
        ]
    ]
    placed = places(studio.database, TRAINING) if found else {}
    views = [task | {"place": placed.get(task["id"])} for task in found]
    return sorted(views, key=lambda task: (task["state"] != "running", task["place"] or 0, task["created_at"]))


def seconds_left(view: TrainingView, epochs: int, evaluate_epochs: int = 0) -> float | None:
    """Estimate how long a training still takes up to `epochs` if nothing ends it sooner; None if unknown.

    view: from `training_view`.
    """
    if view["timed"] is None:
        return None
    timed = Estimate(**view["timed"])
    done = min(view["epoch"], epochs)
    return timed.seconds_of(epochs, evaluate_epochs) - (timed.seconds_of(done, evaluate_epochs) if done else 0.0)


# ---- start and stop


def start_training(
    studio: Studio, account: Account, model_id: str, epochs: int, settings: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Train a voice, or continue its training, as `train_model`; after a failure it starts again at once, since the
    page has shown the failure."""
    answer = train_model(studio, account, model_id, epochs, settings=settings)
    if answer["status"] == FAILED:
        answer = train_model(studio, account, model_id, epochs, settings=settings)
    return answer


def start_estimate(studio: Studio, account: Account, model_id: str, settings: Mapping[str, Any] | None = None) -> str:
    """Measure how long an epoch and an evaluation take on a worker; return the task's id.

    An active estimate for the voice is reused. Raises NotFound, WrongState, SettingsError.
    """
    plan = checked_plan(1, settings or {})
    _trainable(studio, account, model_id)
    with studio.database.write() as connection:
        held_model(connection, account.id, model_id)  # concurrent calls wait here
        before = latest_in(connection, account.id, model_id, ESTIMATE)
        if before is not None and before.state in ACTIVE:
            return before.id
        task_id = queue_task(studio, connection, account.id, Work(ESTIMATE, EstimateAsked(plan.settings), model_id))
    studio.wake()
    return task_id


def forget_training(studio: Studio, account: Account, model_id: str) -> None:
    """Delete all progress of a training, so that the next one starts over; recordings and voice stay.

    Raises NotFound, and WrongState during training.
    """
    model = _trainable(studio, account, model_id)
    with studio.storage.deleting() as take_away, studio.database.write() as connection:
        held_model(connection, account.id, model_id)  # a training that starts now waits here
        task = latest_in(connection, account.id, model_id, TRAINING)
        if task is not None and task.state in ACTIVE:
            raise WrongState(tr("This voice is being trained: stop the training first."), "model_busy")
        home = studio.storage.folder(model.dataset_key or "")
        if home is not None and home.is_dir():
            refuse_in_training(home)  # the command line has no task
        training_forgotten(connection, account.id, model_id)
        take_away(f"{model.dataset_key}/{TRAINING_FOLDER}")
        take_away(f"{account_prefix(account)}{TRAININGS}/{model_id}")


# ---- shared


def _trainable(studio: Studio, account: Account, model_id: str) -> Model:
    model = find_model(studio.database, account, model_id)
    if model.dataset_key is None:
        raise WrongState(tr(
            "The voice '{name}' has no recordings here and cannot be trained.",
            name=model.name,
        ), "no_recordings")
    return model


def _chosen_epoch(studio: Studio, model: Model) -> int | None:
    try:
        card = stored_card(studio, model)
    except EngineError:  # it is being replaced
        return None
    return card.training.get("best_epoch") if card is not None and card.training.get("chosen") else None


def _placed(studio: Studio, task: Task) -> PlacedTraining:
    place = places(studio.database, TRAINING).get(task.id) if task.state == "queued" else None
    return {"id": task.id, "state": task.state, "epochs": task.asked_as(Training).epochs, "place": place}


def _shown_estimate(task: Task) -> ShownEstimate:
    return {"id": task.id, "state": task.state, "message": task.message, "error": task.error}


def _timed(history: HistoryLines | None, estimate: Task | None) -> TimedTraining | None:
    """Return the time measured by the training itself, else by the estimate, else by the training at its start."""
    begun = history.get("estimate") if history else None
    if history and history["epochs"] and history["evaluations"]:
        epochs, evaluations = history["epochs"][-_LATEST:], history["evaluations"][-_LATEST:]
        apart = begun.get("epochs_apart", 1) if begun else 1
        return _plain(Estimate(_mean_s(epochs), _mean_s(evaluations), 0.0, apart))
    if estimate is not None and estimate.state == "completed":
        return _plain(estimate.result_as(Estimate))
    return _plain(Estimate(**begun)) if begun else None


def _plain(estimate: Estimate) -> TimedTraining:
    return {
        "epoch_s": estimate.epoch_s,
        "evaluation_s": estimate.evaluation_s,
        "total_s": estimate.total_s,
        "epochs_apart": estimate.epochs_apart,
        "setup_s": estimate.setup_s,
    }


def _mean_s(lines: Sequence[EpochLine] | Sequence[EvaluationLine]) -> float:
    return sum(line["seconds"] for line in lines) / len(lines)
