"""The record of a training: losses by epoch, scores by evaluation, and whatever else happened, as data."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from engine.errors import TrainingError
from engine.files import write_atomically
from engine.training.evaluation_schedule import EvaluationSchedule

TRAINING_FORMAT = 4  # of checkpoints and their history; raised whenever what was begun could not go on as it would have
State = Literal["training", "completed"]
HISTORY_FILE = "history.json"
ORIGINALS_FOLDER, EVALUATIONS_FOLDER = "originals", "evaluations"
CURVES_FILE = "curves.png"  # drawn by whoever shows the training


@dataclass(frozen=True)
class Estimate:
    """How long a training takes on this machine, from steps and one evaluation that were timed."""

    epoch_s: float
    evaluation_s: float
    total_s: float
    epochs_apart: int = 1  # of two evaluations at the beginning, where nothing else is asked for

    def seconds_of(self, epochs: int, evaluate_epochs: int = 0) -> float:
        """How long a training of another number of epochs takes from the beginning, if nothing ends it sooner."""
        schedule = EvaluationSchedule(evaluate_epochs or max(1, self.epochs_apart), growing=not evaluate_epochs)
        return epochs * self.epoch_s + schedule.count(epochs) * self.evaluation_s


@dataclass
class TrainingHistory:
    """What has happened so far; grows as the training goes on.

    epochs: {"epoch", "steps", "seconds", the mean losses}; evaluations: {"epoch", "folder", the scores}; events:
    {"epoch", "text"}, what the user should know.
    """

    state: State = "training"
    ceiling: int = 0  # the epochs asked for
    epochs: list[dict[str, Any]] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    estimate: Estimate | None = None
    format: int = TRAINING_FORMAT

    @property
    def epoch(self) -> int:
        """Epochs that are done."""
        return self.epochs[-1]["epoch"] if self.epochs else 0

    @property
    def best(self) -> dict[str, Any] | None:
        """The evaluation with the best score, the earlier of equals; None before the first."""
        return max(self.evaluations, key=lambda line: line["score"], default=None)

    @property
    def evaluations_since_best(self) -> int:
        """How many evaluations have not been better than the best."""
        best = self.best
        return len(self.evaluations) - 1 - self.evaluations.index(best) if best else 0

    def as_json(self) -> dict[str, Any]:
        """Plain values; the best epoch is there too, for readers."""
        return asdict(self) | {"best_epoch": self.best["epoch"] if self.best else None}


def history_from_json(values: dict[str, Any]) -> TrainingHistory:
    """Rebuild a history from what `as_json` returned; TrainingError for anything else.

    >>> history_from_json(TrainingHistory(ceiling=50).as_json()).ceiling
    50
    """
    try:
        known = {name: values[name] for name in ("state", "ceiling", "epochs", "evaluations", "events")}
        timed = values.get("estimate")
        return TrainingHistory(**known, estimate=Estimate(**timed) if timed else None, format=values.get("format", 1))
    except (KeyError, TypeError) as cause:
        raise TrainingError("The record of this training is damaged; train the voice again.") from cause


def write_history(history: TrainingHistory, folder: Path) -> None:
    """Write `folder`/history.json, whole or not at all."""
    write_atomically(folder / HISTORY_FILE, json.dumps(history.as_json(), indent=1) + "\n")


def read_history(folder: Path) -> TrainingHistory | None:
    """The history of the training in a folder; None where none was begun, or only with an earlier version, so that it
    cannot go on. Raises TrainingError if it is damaged.

    >>> read_history(Path("no-training-here")) is None
    True
    """
    try:
        values = json.loads((folder / HISTORY_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as cause:
        raise TrainingError("The record of this training is damaged; train the voice again.") from cause
    history = history_from_json(values if isinstance(values, dict) else {})
    return None if history.format < TRAINING_FORMAT else history
