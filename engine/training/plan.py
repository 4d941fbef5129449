"""The settings of a voice's training, their ranges, and what each is for."""

from dataclasses import asdict, dataclass
from typing import Any

from engine.settings import check_settings, setting

MAY_CHANGE = ("epochs", "patience", "evaluate_epochs", "save_s")  # between one start of a training and the next


@dataclass(frozen=True)
class TrainingPlan:
    """How to train. Each field's metadata holds its range and its meaning; SettingsError for a value outside.

    >>> TrainingPlan(epochs=50).patience
    10
    >>> TrainingPlan(epochs=0)
    Traceback (most recent call last):
    engine.errors.SettingsError: epochs must be a whole number from 1 to 100000, not 0.
    """

    epochs: int = setting(
        100, 1, 100_000, "The most passes over the recordings; the best moment is kept, whenever it was."
    )
    batch: int = setting(
        16, 1, 256, "Pieces of 1.6 seconds learned from at a time; fewer need less memory and take longer."
    )
    learning_rate: float = setting(
        3e-4, 1e-6, 1e-2, "How far each step goes; higher learns the voice sooner and loses words sooner."
    )
    foreign: int = setting(
        6, 1, 64, "Pieces of other people's words in each step, on which the voice learns to be clear."
    )
    evaluate_epochs: int = setting(0, 0, 100_000, "Passes between two evaluations; 0 chooses by the amount of sound.")
    patience: int = setting(
        10, 0, 100_000, "Evaluations without a better one after which training ends early; 0 never does."
    )
    save_s: float = setting(30.0, 0.0, 3600.0, "Seconds between two checkpoints; a stop loses no more than that.")
    seed: int = setting(0, 0, 2**31 - 1, "The same number and recordings give the same voice again.")

    def __post_init__(self) -> None:
        check_settings(self)

    def differences(self, begun_with: dict[str, Any]) -> list[str]:
        """Names of the settings that cannot change once a training has begun, and are not as it was begun with."""
        own = asdict(self)
        return [name for name in own if name not in MAY_CHANGE and own[name] != begun_with.get(name)]
