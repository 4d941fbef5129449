"""History of a training: losses by epoch, scores by evaluation, and events."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue

from engine.errors import TrainingError
from engine.files import write_atomically
from engine.reprs import Brief
from engine.texts import as_data, from_data, tr
from engine.training.evaluation_schedule import EvaluationSchedule

TRAINING_FORMAT = 4  # of checkpoints and history; raised whenever an earlier training could not resume unchanged
State = Literal["training", "completed"]
HISTORY_FILE = "history.json"
ORIGINALS_FOLDER, EVALUATIONS_FOLDER = "originals", "evaluations"
CURVES_FILE = "curves.png"  # drawn when the training is shown


@dataclass(frozen=True)
class Estimate:
    """How long a training takes on this machine, from timed steps, one timed evaluation and what precedes them.

    - epoch_s, evaluation_s: seconds of one
    - total_s: seconds of the whole plan, if it does not stop early
    - epochs_apart: between two evaluations at the beginning, by default
    - setup_s: seconds before the first step: networks, evaluation recordings, this estimate
    """

    epoch_s: float
    evaluation_s: float
    total_s: float
    epochs_apart: int = 1
    setup_s: float = 0.0

    def seconds_of(self, epochs: int, evaluate_epochs: int = 0) -> float:
        """Estimate a training from the beginning, in seconds, if it does not stop early.

        evaluate_epochs: epochs between evaluations; 0 as by default.
        """
        schedule = EvaluationSchedule(evaluate_epochs or max(1, self.epochs_apart), growing=not evaluate_epochs)
        return self.setup_s + epochs * self.epoch_s + schedule.count(epochs) * self.evaluation_s


@dataclass(frozen=True)
class TrainingEvent:
    """What happened after so many epochs, in a sentence for the user."""

    epoch: int
    text: str


@dataclass(frozen=True)
class TrainingSummary:
    """What the card of a trained voice says of its training.

    - minutes: of voice that it was trained on
    - epochs, best_epoch, steps: of the whole training, up to the voice, and the steps
    - scores: of the voice
    """

    minutes: float
    epochs: int
    best_epoch: int
    steps: int
    scores: Mapping[str, float]


@dataclass(repr=False)
class TrainingHistory(Brief):
    """What has happened in a training so far.

    - state: training or completed
    - ceiling: the epochs asked for
    - epochs: of each epoch: "epoch", "steps", "seconds", the mean losses
    - evaluations: of each evaluation: "epoch", "folder", the scores
    - events: shown to the user
    - estimate: how long it takes
    - format: of the file
    """

    state: State = "training"
    ceiling: int = 0
    epochs: list[dict[str, Any]] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    events: list[TrainingEvent] = field(default_factory=list)
    estimate: Estimate | None = None
    format: int = TRAINING_FORMAT

    @property
    def epoch(self) -> int:
        """Number of finished epochs."""
        return self.epochs[-1]["epoch"] if self.epochs else 0

    @property
    def best(self) -> dict[str, Any] | None:
        """The evaluation with the best score (the earliest if several are equal); None before the first."""
        return max(self.evaluations, key=lambda line: line["score"], default=None)

    @property
    def evaluations_since_best(self) -> int:
        """Number of evaluations since the best one."""
        best = self.best
        return len(self.evaluations) - 1 - self.evaluations.index(best) if best else 0

    def as_json(self) -> dict[str, JsonValue]:
        """Return plain values as in history.json, with the best epoch added for readers."""
        return asdict(self) | {"best_epoch": self.best["epoch"] if self.best else None}


def history_from_json(values: Mapping[str, Any]) -> TrainingHistory:
    """Rebuild a history from what `as_json` returned; TrainingError for anything else.

    >>> history_from_json(TrainingHistory(ceiling=50).as_json()).ceiling
    50
    """
    try:
        known = {name: from_data(values[name]) for name in ("state", "ceiling", "epochs", "evaluations", "events")}
        known["events"] = [TrainingEvent(**event) for event in known["events"]]
        timed = values.get("estimate")
        return TrainingHistory(**known, estimate=Estimate(**timed) if timed else None, format=values.get("format", 1))
    except (KeyError, TypeError) as cause:
        raise TrainingError(tr("The record of this training is damaged; train the voice again.")) from cause


def write_history(history: TrainingHistory, folder: Path) -> None:
    """Write `folder`/history.json atomically."""
    write_atomically(folder / HISTORY_FILE, json.dumps(as_data(history.as_json()), indent=1) + "\n")


def read_history(folder: Path | str) -> TrainingHistory | None:
    """Read the history of the training in a folder.

    Parameters
    ----------
    folder : Path or str
        Of the training.

    Returns
    -------
    TrainingHistory or None
        None if no training was started, or only with an earlier version.

    Raises
    ------
    TrainingError
        If it is damaged.

    Examples
    --------
    >>> read_history("no-training-here") is None
    True
    """
    try:
        values = json.loads((Path(folder) / HISTORY_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as cause:
        raise TrainingError(tr("The record of this training is damaged; train the voice again.")) from cause
    history = history_from_json(values if isinstance(values, dict) else {})
    return None if history.format < TRAINING_FORMAT else history
