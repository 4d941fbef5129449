"""The settings of a conversion, their ranges, and what one hears of each: page, service, command line and notebooks are
made from these fields."""

from dataclasses import dataclass, field, fields
from math import isfinite
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

from engine.errors import SettingsError
from engine.shaping import LARGEST_TRANSPOSE

AUTO = "auto"


def _setting(default: Any, minimum: float, maximum: float, meaning: str) -> Any:
    return field(default=default, metadata={"minimum": minimum, "maximum": maximum, "meaning": meaning})


@dataclass(frozen=True)
class ConversionSettings:
    """How to convert. Each field's metadata holds its range and what one hears of it."""

    presets: ClassVar[dict[str, "ConversionSettings"]]

    transpose: int | Literal["auto"] = _setting(
        0, -LARGEST_TRANSPOSE, LARGEST_TRANSPOSE,
        "Semitones up or down; auto moves the recording to where the voice lives, by whole octaves for singing.",
    )  # fmt: skip
    takes: int = _setting(
        1, 1, 10, "How many performances to make; the first is the plain best, the others vary a little."
    )
    seed: int = _setting(0, 0, 2**31 - 1, "The same number gives exactly the same takes again.")
    likeness: float = _setting(
        0.9, 0.0, 1.0, "Higher sounds more like the voice, lower keeps more of the recording's own articulation."
    )
    consonant_protection: float = _setting(
        0.4, 0.0, 1.0, "How much of the recording's own breaths and unvoiced consonants is kept."
    )
    formant_shift_semitones: float = _setting(
        0.0, -6.0, 6.0, "Makes the voice sound smaller (up) or larger (down) without changing the notes."
    )
    pitch_smoothing_ms: float = _setting(
        0.0, 0.0, 300.0, "Evens out wobble in the pitch; much of it also takes out vibrato."
    )
    pitch_snap: float = _setting(0.0, 0.0, 1.0, "Pulls held notes to the nearest semitone.")

    def __post_init__(self) -> None:
        """Raises SettingsError, naming the setting and its range, for any value outside it."""
        for setting in fields(self):
            _check(setting.name, getattr(self, setting.name), setting.metadata)


def _check(name: str, value: Any, metadata: Any) -> None:
    if name == "transpose" and value == AUTO:
        return
    lowest, highest = metadata["minimum"], metadata["maximum"]
    whole = isinstance(lowest, int)
    right_kind = isinstance(value, Integral if whole else Real)
    if isinstance(value, bool) or not right_kind or not isfinite(value) or not lowest <= value <= highest:
        number = "a whole number" if whole else "a number"
        other = ", or the word auto" if name == "transpose" else ""
        raise SettingsError(f"{name} must be {number} from {lowest} to {highest}{other}, not {value}.")


ConversionSettings.presets = {
    "melodic": ConversionSettings(),
    "rhythmic": ConversionSettings(likeness=0.8, consonant_protection=0.6),
    "spoken": ConversionSettings(likeness=0.85, consonant_protection=0.4),
}
