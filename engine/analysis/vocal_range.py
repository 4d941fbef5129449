"""The vocal range in note names, and the matching voice type.

The range excludes errors of the detector: only voiced frames count, loud ones more than soft ones; short leaps of
about an octave (the typical error of pitch detectors) are left out, and so are the lowest and highest two percent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from engine.analysis.pitch import Pitch
from engine.filters import moving_median
from engine.units import note_name, note_number

VoiceType = Literal["soprano", "mezzo-soprano", "alto", "tenor", "baritone", "bass"]

FEMALE: tuple[VoiceType, ...] = ("soprano", "mezzo-soprano", "alto")
MALE: tuple[VoiceType, ...] = ("tenor", "baritone", "bass")
# The range a choir expects of each voice.
SINGING_RANGES: dict[VoiceType, tuple[str, str]] = {
    "soprano": ("C4", "C6"),
    "mezzo-soprano": ("A3", "A5"),
    "alto": ("F3", "F5"),
    "tenor": ("C3", "C5"),
    "baritone": ("A2", "A4"),
    "bass": ("E2", "E4"),
}
# The usual speaking pitch of the same voices: a rule of thumb, since speech uses only the low part of a voice.
SPEAKING_NOTES: dict[VoiceType, str] = {
    "soprano": "B3",
    "mezzo-soprano": "G#3",
    "alto": "F3",
    "tenor": "D3",
    "baritone": "A#2",
    "bass": "G2",
}

_LOW_SHARE, _HIGH_SHARE = 0.02, 0.98
_LOUD_DB = 30.0  # below the loudest voiced frames; softer frames do not count
_NEIGHBOURS = 51  # voiced frames; leaps shorter than half of this ...
_LEAP_SEMITONES = 9.0  # ... and wider than this are errors of the detector


@dataclass(frozen=True)
class VocalRange:
    """Lowest and highest note, such as A2 and C#4; `centre` is the median note number, if measured.

    Raises SettingsError for anything but note names, ValueError if they are in the wrong order.
    """

    min: str
    max: str
    centre: float | None = None

    def __post_init__(self) -> None:
        if self.lowest > self.highest:
            raise ValueError(f"the range {self.min} to {self.max} is in the wrong order")

    @property
    def lowest(self) -> int:
        """MIDI number of the lowest note."""
        return note_number(self.min)

    @property
    def highest(self) -> int:
        """MIDI number of the highest note."""
        return note_number(self.max)

    @property
    def middle(self) -> float:
        """The measured centre, or halfway between the ends."""
        return (self.lowest + self.highest) / 2 if self.centre is None else self.centre


def measure_range(pitch: Pitch, loudness_db: np.ndarray) -> VocalRange | None:
    """Measure the range of a voice; None if nothing is voiced.

    loudness_db: (frames,) as returned by measure_loudness, as long as `pitch`.
    """
    if loudness_db.shape != (len(pitch),):
        raise ValueError(f"{len(pitch)} frames of pitch, but loudness of shape {loudness_db.shape}")
    voiced = np.flatnonzero(pitch.voiced)
    if not len(voiced):
        return None
    semitones = pitch.semitones[voiced].astype(np.float64)
    above_db = loudness_db[voiced].astype(np.float64) - (np.percentile(loudness_db[voiced], 98) - _LOUD_DB)
    weights = np.clip(above_db / _LOUD_DB, 0.0, 1.0) * believable(semitones)
    if not weights.any():
        return None
    low, centre, high = _weighted_quantiles(semitones, weights, (_LOW_SHARE, 0.5, _HIGH_SHARE))
    return VocalRange(note_name(low), note_name(high), centre)


def voice_type(
    vocal_range: VocalRange, gender: str | None = None, spoken: bool = False, among: Sequence[VoiceType] = ()
) -> VoiceType:
    """Return the best matching voice type of a voice; `gender` (male, female) narrows the choice, anything else leaves
    it open, and `among` (from high to low) narrows it first.

    One recording does not tell: only part of a voice is in it, and a low alto sings the notes of a bass.
    Singing: the choir range that shares the most notes with the measured one; among equals, the one whose middle is
    nearest to the centre of the voice. Speech (`spoken`): the type with the nearest usual speaking note.
    """
    among = among or FEMALE + MALE
    choices = [name for name in among if name in {"female": FEMALE, "male": MALE}.get(gender or "", among)] or among
    if spoken:
        return min(choices, key=lambda name: abs(note_number(SPEAKING_NOTES[name]) - vocal_range.middle))

    def fit(name: VoiceType) -> tuple[int, float]:
        low, high = map(note_number, SINGING_RANGES[name])
        shared = min(high, vocal_range.highest) - max(low, vocal_range.lowest)
        return shared, -abs((low + high) / 2 - vocal_range.middle)

    return max(choices, key=fit)


def believable(semitones: np.ndarray) -> np.ndarray:
    """Return which voiced frames are not part of a short leap away from their surroundings, bool (voiced frames,)."""
    around = moving_median(semitones, _NEIGHBOURS)
    return np.abs(semitones - around) < _LEAP_SEMITONES


def _weighted_quantiles(values: np.ndarray, weights: np.ndarray, shares: tuple[float, ...]) -> list[float]:
    """Return the values below which the given shares of the total weight lie."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    places = np.searchsorted(reached, np.array(shares) * reached[-1])
    return [float(values[order][min(place, len(values) - 1)]) for place in places]
