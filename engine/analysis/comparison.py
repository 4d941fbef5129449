"""Compare two recordings: how much later, higher and louder the second is, and whether it has the same melody.

They are aligned where their loudness and voicing agree best, at one tempo: a slower version of a performance counts as
a different one.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from engine.analysis.pitch import VOICED
from engine.units import hertz_to_semitones

SAME_NOTE_SEMITONES = 0.5
ALIGNED = 0.75  # a correlation: conversions reach 0.85 and more, unrelated recordings 0.7 at most
LIKELY_ALIGNED = 0.5  # enough where the melody also agrees
SAME_MELODY = 0.75  # share of the frames above which the melodies count as the same
_MOST_OFFSET_S = 60.0
_LEAST_SHARED = 0.3  # of the shorter recording
_LEAST_SHARED_S, _LEAST_SHARED_SHORT = 5.0, 0.6  # seconds, or a share of a short recording: less agrees by chance
_QUIET_DB = -60.0  # relative to the loudest; anything quieter counts as equal
_FEWEST_FRAMES = 20


@dataclass(frozen=True)
class Performed:
    """The curves of a recording that are compared, one value every `step_s`; hertz is 0 where no pitch is detected."""

    step_s: float
    hertz: np.ndarray
    confidence: np.ndarray
    loudness_db: np.ndarray

    @property
    def voiced(self) -> np.ndarray:
        """Where the recording is voiced, bool (points,)."""
        return (self.confidence > VOICED) & (self.hertz > 0)


@dataclass(frozen=True)
class Comparison:
    """The second recording relative to the first; None where they have too little in common."""

    offset_s: float  # how much later the second is; 0 if they are not aligned
    alignment: float  # correlation at that offset, up to 1
    semitones: float | None  # how much higher the second is, median
    same_notes: float | None  # share of the frames voiced in both on the same note, apart from whole semitones
    cents_apart: float | None  # distance from the first's note after that, median
    louder_db: float | None  # how much louder the second is where both are voiced

    @property
    def is_aligned(self) -> bool:
        """Whether they are the same performance, judged by its timing."""
        return self.alignment > (LIKELY_ALIGNED if self.is_same_melody else ALIGNED)

    @property
    def is_same_melody(self) -> bool:
        """Whether they have the same notes, apart from the key."""
        return self.same_notes is not None and self.same_notes > SAME_MELODY


def compare_recordings(first: Performed, second: Performed) -> Comparison:
    """Compare two recordings; if their steps differ, the coarser one is used."""
    step_s = max(first.step_s, second.step_s)
    one, other = _at_step(first, step_s), _at_step(second, step_s)
    lag, alignment = _best_lag(_activity(one), _activity(other), step_s)
    found = _compared(one, other, lag, alignment)
    return found if found.is_aligned or not lag else _compared(one, other, 0, alignment)


def _compared(one: Performed, other: Performed, lag: int, alignment: float) -> Comparison:
    """Compare the second with the first, `lag` points later."""
    start, stop = max(0, -lag), min(len(one.hertz), len(other.hertz) - lag)
    here, there = slice(start, stop), slice(start + lag, stop + lag)
    both = one.voiced[here] & other.voiced[there] if stop > start else np.zeros(0, bool)
    offset_s = lag * one.step_s
    if both.sum() < _FEWEST_FRAMES:
        return Comparison(offset_s, alignment, None, None, None, None)
    higher = hertz_to_semitones(other.hertz[there][both]) - hertz_to_semitones(one.hertz[here][both])
    semitones = float(np.median(higher))
    apart = np.abs(higher - round(semitones))
    return Comparison(
        offset_s=offset_s,
        alignment=alignment,
        semitones=semitones,
        same_notes=float((apart < SAME_NOTE_SEMITONES).mean()),
        cents_apart=100.0 * float(np.median(apart)),
        louder_db=float(np.mean(other.loudness_db[there][both] - one.loudness_db[here][both])),
    )


def _at_step(recording: Performed, step_s: float) -> Performed:
    """Resample a recording to another step, taking the nearest points."""
    if recording.step_s == step_s:
        return recording
    count = max(1, int(len(recording.hertz) * recording.step_s / step_s))
    at = np.minimum(np.round(np.arange(count) * step_s / recording.step_s).astype(int), len(recording.hertz) - 1)
    return Performed(step_s, recording.hertz[at], recording.confidence[at], recording.loudness_db[at])


def _activity(recording: Performed) -> np.ndarray:
    """Return when and how loudly something is sung, float (points,), with zero mean."""
    level = recording.loudness_db - recording.loudness_db.max(initial=-120.0)
    activity = np.maximum(level, _QUIET_DB) / -_QUIET_DB + recording.voiced
    return activity - activity.mean() if len(activity) else activity


def _best_lag(one: np.ndarray, other: np.ndarray, step_s: float) -> tuple[int, float]:
    """Return how many points later `other` is, and the correlation of the overlap."""
    if not (one.any() and other.any()):
        return 0, 0.0
    lags = np.arange(1 - len(one), len(other))
    shared = np.minimum(len(one), len(other) - lags) - np.maximum(0, -lags)
    shorter = min(len(one), len(other))
    least = max(_LEAST_SHARED * shorter, min(_LEAST_SHARED_SHORT * shorter, _LEAST_SHARED_S / step_s))
    likely = (np.abs(lags) <= _MOST_OFFSET_S / step_s) & (shared >= least)
    # normalised by the energy of the overlapping parts, so that a short overlap can score as well as a long one
    energy = _correlated(np.ones(len(other)), one**2) * _correlated(other**2, np.ones(len(one)))
    correlation = np.where(likely, _correlated(other, one) / np.sqrt(energy.clip(1e-12)), -1.0)
    best = int(correlation.argmax())
    return int(lags[best]), float(np.clip(correlation[best], -1.0, 1.0))


def _correlated(later: np.ndarray, earlier: np.ndarray) -> np.ndarray:
    """Return the cross-correlation at each lag from 1 - len(earlier) to len(later) - 1, float (lags,)."""
    return scipy.signal.correlate(later, earlier, method="fft")
