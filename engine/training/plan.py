"""Settings of a voice's training, with their ranges and meanings."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields

from engine.settings import check_settings, from_values, setting, with_ranges
from engine.texts import tr

MAY_CHANGE = ("epochs", "patience", "evaluate_epochs", "save_s")  # when a training is resumed


@with_ranges
@dataclass(frozen=True)
class TrainingPlan:
    """How to train. Raises SettingsError for a value outside its range.

    Examples
    --------
    >>> TrainingPlan(epochs=50).patience
    10
    >>> TrainingPlan(epochs=0)
    Traceback (most recent call last):
    engine.errors.SettingsError: epochs must be a whole number from 1 to 100000, not 0.
    """

    epochs: int = setting(
        100, 1, 100_000, tr("Maximum number of passes over the recordings. The best checkpoint is kept.")
    )
    batch: int = setting(16, 1, 256, tr("Segments of 1.6 seconds per step. Fewer need less memory but take longer."))
    learning_rate: float = setting(
        3e-4, 1e-6, 1e-2, tr("Size of each step. Higher learns the voice faster but loses clarity of words.")
    )
    foreign: int = setting(6, 1, 64, tr("Segments of other speakers per step, which keep the words clear."))
    evaluate_epochs: int = setting(
        0, 0, 100_000, tr("Epochs between evaluations. 0 depends on the length of the recordings.")
    )
    patience: int = setting(
        10, 0, 100_000, tr("Evaluations without improvement before training stops early. 0 never stops early.")
    )
    save_s: float = setting(
        30.0, 0.0, 3600.0, tr("Seconds between saved checkpoints: the most that an interruption loses.")
    )
    seed: int = setting(0, 0, 2**31 - 1, tr("The same seed and recordings give the same voice."))

    def __post_init__(self) -> None:
        check_settings(self)

    @classmethod
    def known(cls, settings: Mapping[str, object]) -> "TrainingPlan":
        """Return the plan with these settings, without those that only earlier versions had."""
        return from_values(cls, {one.name: settings[one.name] for one in fields(cls) if one.name in settings})

    def differences(self, begun_with: Mapping[str, object]) -> list[str]:
        """Return the names of settings that differ from those that a training started with, and may not."""
        own = asdict(self)
        return [name for name in own if name not in MAY_CHANGE and own[name] != begun_with.get(name)]

    def continuing(self, begun_with: Mapping[str, object], chosen: Collection[str]) -> "TrainingPlan":
        """Return the plan for going on with a training: settings that may not change are as it started, except those
        `chosen` now, which it then refuses by name."""
        kept = [name for name in self.differences(begun_with) if name in begun_with and name not in chosen]
        return from_values(TrainingPlan, asdict(self) | {name: begun_with[name] for name in kept})
