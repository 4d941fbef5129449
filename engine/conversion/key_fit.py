"""The key in which a recording fits a voice: nearest to where it sings, or with the fewest notes outside its range.

Neither moves a note beyond the range of notes that can be converted.
"""

from dataclasses import dataclass

import numpy as np

from engine.analysis.pitch_statistics import PitchStatistics
from engine.conversion.note_limits import SHORTEST_NOTE_S, nearest_within, notes_beyond
from engine.conversion.pitch_shaping import LARGEST_TRANSPOSE, OCTAVE, fitting_transpose
from engine.errors import SettingsError
from engine.texts import tr
from engine.units import note_number
from engine.voices.card import VoiceCard

_ALIKE = 0.005  # of the voiced time: keys that differ by less leave equally many notes outside


@dataclass(frozen=True)
class BestKey:
    """A transposition in semitones, and the shares of the voiced time, 0..1, that are outside the range with it."""

    semitones: int
    outside: float


def share_outside(seconds: np.ndarray, low: int, high: int, semitones: float = 0.0) -> float:
    """Return the share of the voiced time, 0..1, that a transposition leaves outside the notes `low` to `high`.

    seconds: of each semitone, (SEMITONES,) by MIDI number, as `measure_histogram` returns them.

    >>> seconds = np.zeros(128)
    >>> seconds[[60, 62, 64, 65]] = 1.0
    >>> share_outside(seconds, 60, 64), share_outside(seconds, 60, 64, -1)
    (0.25, 0.25)
    """
    total = float(seconds.sum())
    notes = np.arange(len(seconds)) + semitones
    outside = ((notes < low) | (notes > high)) & (seconds >= SHORTEST_NOTE_S)
    return float(seconds[outside].sum()) / total if total else 0.0


def best_key(seconds: np.ndarray, low: int, high: int, largest: int = LARGEST_TRANSPOSE) -> BestKey:
    """Return the transposition that leaves the fewest notes outside `low` to `high`, the smallest among equals.

    seconds: as for `share_outside`; largest: semitones up or down.

    >>> seconds = np.zeros(128)
    >>> seconds[[62, 64, 65, 67]] = 1.0
    >>> best_key(seconds, 55, 65)
    BestKey(semitones=-2, outside=0.0)
    """
    possible = [by for by in range(-largest, largest + 1) if not (by and notes_beyond(seconds, by).notes)]
    shares = {by: share_outside(seconds, low, high, by) for by in possible}
    fewest = min(shares.values())
    alike = [by for by, share in shares.items() if share <= fewest + _ALIKE]
    semitones = min(alike, key=lambda by: (abs(by), shares[by], by))
    return BestKey(semitones, shares[semitones])


def best_key_for(seconds: np.ndarray, voice: VoiceCard, sung: bool) -> BestKey:
    """Return the best key for the range in which a voice sings or speaks. Raises SettingsError if that is not known."""
    ends = [voice.range_where(sung).get(end) for end in ("min", "max")]
    if not all(ends):
        raise SettingsError(
            tr("The range of {name} is not known: give the transposition in semitones, or auto.", name=voice.name)
        )
    return best_key(seconds, *(note_number(str(end)) for end in ends))


def fitting_key(
    source: PitchStatistics, seconds: np.ndarray, voice: VoiceCard, sung: bool, kept: int | None = None
) -> int:
    """Return `fitting_transpose`, or less of it where that would move notes beyond the range of notes.

    seconds: as for `share_outside`; kept: as there.
    """
    return nearest_within(seconds, fitting_transpose(source, voice, sung, kept), OCTAVE if sung else 1)
