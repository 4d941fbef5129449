"""The history of a training as it is shown: losses, scores, events, and how long it takes."""

import json
from collections.abc import Mapping, Sequence
from typing import NotRequired

from typing_extensions import TypedDict

from engine.datasets.dataset import TRAINING_FOLDER
from engine.texts import from_data
from engine.training.history import HISTORY_FILE, TRAINING_FORMAT, Estimate
from studio.errors import NotFound
from studio.store.catalogue import Model
from studio.store.studio import Studio
from studio.store.tasks import Task

_LARGEST_HISTORY = 64 << 20  # bytes


class EpochLine(TypedDict):
    """An epoch of a training; the others of its fields are mean losses."""

    epoch: int
    seconds: float
    envelope: NotRequired[float | None]
    taken: NotRequired[float | None]
    kept: NotRequired[float | None]


class EvaluationLine(TypedDict):
    """An evaluation of a training, with its scores."""

    epoch: int
    folder: str
    seconds: float
    score: float
    likeness: NotRequired[float | None]
    content: NotRequired[float | None]
    mel_distance: NotRequired[float | None]
    pitch_error_cents: NotRequired[float | None]


class TrainingEvent(TypedDict):
    """Something that the user is told of a training."""

    epoch: int
    text: str


class HistoryLines(TypedDict):
    """A training as its history.json has it; see `engine.training.history.TrainingHistory`."""

    state: str
    ceiling: int
    epochs: list[EpochLine]
    evaluations: list[EvaluationLine]
    events: list[TrainingEvent]
    best_epoch: NotRequired[int | None]
    estimate: NotRequired[Mapping[str, float] | None]


def training_history(studio: Studio, model: Model) -> HistoryLines | None:
    """Return losses and scores of a voice's training, as engine.training.history has them; None before there are any,
    or if an earlier version began it, which cannot be continued."""
    place = model.training_key or (f"{model.dataset_key}/{TRAINING_FOLDER}" if model.dataset_key else None)
    if place is None:
        return None
    try:
        history = from_data(json.loads(b"".join(studio.storage.read(f"{place}/{HISTORY_FILE}", 0, _LARGEST_HISTORY))))
    except (NotFound, ValueError):
        return None
    is_ours = isinstance(history, dict) and history.get("format", 1) >= TRAINING_FORMAT
    lines: HistoryLines | None = history if is_ours else None
    return lines


_LATEST = 10  # epochs and evaluations that predict the next ones


def timed_training(history: HistoryLines | None, estimate: Task | None) -> Estimate | None:
    """Return the time measured by the training itself, else by the estimate, else by the training at its start."""
    begun = history.get("estimate") if history else None
    if history and history["epochs"] and history["evaluations"]:
        epochs, evaluations = history["epochs"][-_LATEST:], history["evaluations"][-_LATEST:]
        apart = begun.get("epochs_apart", 1) if begun else 1
        return Estimate(_mean_s(epochs), _mean_s(evaluations), 0.0, int(apart))
    if estimate is not None and estimate.state == "completed":
        return estimate.result_as(Estimate)
    return Estimate(**begun) if begun else None  # type: ignore[arg-type]


def _mean_s(lines: Sequence[EpochLine] | Sequence[EvaluationLine]) -> float:
    return sum(line["seconds"] for line in lines) / len(lines)
