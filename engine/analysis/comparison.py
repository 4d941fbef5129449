"""Two recordings side by side: how much later, higher and louder the second is, and whether it is the same melody.

They are laid over each other where their loudness and voicing agree best, at one tempo: a performance that is slower
than the other is told as another one.
"""

from dataclasses import dataclass

import numpy as np

from engine.units import hertz_to_semitones

SAME_NOTE_SEMITONES = 0.5
ALIGNED = 0.75  # a correlation: conversions agree by 0.85 and more, recordings of other things by 0.7 at most
LIKELY_ALIGNED = 0.5  # enough where the melody is the same, too
SAME_MELODY = 0.75  # share of the frames; above, it is one
_MOST_OFFSET_S = 60.0
_LEAST_SHARED = 0.3  # of the shorter recording
_LEAST_SHARED_S, _LEAST_SHARED_SHORT = 5.0, 0.6  # a few seconds, or of a short recording most: less agrees by chance
_VOICED = 0.6  # confidence
_QUIET_DB = -60.0  # below the loudest; all that is quieter is the same
_FEWEST_FRAMES = 20


@dataclass(frozen=True)
class Performed:
    """What is compared of a recording: one value every `step_s`; hertz is 0 where nothing is heard of a pitch."""

    step_s: float
    hertz: np.ndarray
    confidence: np.ndarray
    loudness_db: np.ndarray

    @property
    def voiced(self) -> np.ndarray:
        """bool (points,)"""
        return (self.confidence > _VOICED) & (self.hertz > 0)


@dataclass(frozen=True)
class Comparison:
    """The second against the first. None where there is too little that both have."""

    offset_s: float  # the second is so much later; 0 where they are not aligned
    alignment: float  # correlation there, up to 1
    semitones: float | None  # the second is so much higher, in the middle
    same_notes: (
        float | None
    )  # share of the frames voiced in both on which it is the same note, moved by whole semitones
    cents_apart: float | None  # how far it is from the first's note then, in the middle
    louder_db: float | None  # where both are voiced

    @property
    def is_aligned(self) -> bool:
        """Whether they are one performance, by when something is sung."""
        return self.alignment > (LIKELY_ALIGNED if self.is_same_melody else ALIGNED)

    @property
    def is_same_melody(self) -> bool:
        """Whether they are on the same notes, but for the key."""
        return self.same_notes is not None and self.same_notes > SAME_MELODY


def compare_recordings(first: Performed, second: Performed) -> Comparison:
    """See Comparison. The two may have other steps; the coarser one is taken."""
    step_s = max(first.step_s, second.step_s)
    one, other = _at_step(first, step_s), _at_step(second, step_s)
    lag, alignment = _best_lag(_activity(one), _activity(other), step_s)
    found = _compared(one, other, lag, alignment)
    return found if found.is_aligned or not lag else _compared(one, other, 0, alignment)


def _compared(one: Performed, other: Performed, lag: int, alignment: float) -> Comparison:
    """The second against the first where it is so many points later."""
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
    """The recording with the nearest of its points at each step."""
    if recording.step_s == step_s:
        return recording
    count = max(1, int(len(recording.hertz) * recording.step_s / step_s))
    at = np.minimum(np.round(np.arange(count) * step_s / recording.step_s).astype(int), len(recording.hertz) - 1)
    return Performed(step_s, recording.hertz[at], recording.confidence[at], recording.loudness_db[at])


def _activity(recording: Performed) -> np.ndarray:
    """When something is sung, and how loudly: float (points,), without an offset."""
    level = recording.loudness_db - recording.loudness_db.max(initial=-120.0)
    activity = np.maximum(level, _QUIET_DB) / -_QUIET_DB + recording.voiced
    return activity - activity.mean() if len(activity) else activity


def _best_lag(one: np.ndarray, other: np.ndarray, step_s: float) -> tuple[int, float]:
    """By how many points `other` is later, and the correlation of what they share then."""
    if not (one.any() and other.any()):
        return 0, 0.0
    lags = np.arange(1 - len(one), len(other))
    shared = np.minimum(len(one), len(other) - lags) - np.maximum(0, -lags)
    shorter = min(len(one), len(other))
    least = max(_LEAST_SHARED * shorter, min(_LEAST_SHARED_SHORT * shorter, _LEAST_SHARED_S / step_s))
    likely = (np.abs(lags) <= _MOST_OFFSET_S / step_s) & (shared >= least)
    # the energy of the parts that are over each other, so that a short overlap can be as good as a long one
    energy = _correlated(np.ones(len(other)), one**2) * _correlated(other**2, np.ones(len(one)))
    correlation = np.where(likely, _correlated(other, one) / np.sqrt(energy.clip(1e-12)), -1.0)
    best = int(correlation.argmax())
    return int(lags[best]), float(np.clip(correlation[best], -1.0, 1.0))


def _correlated(later: np.ndarray, earlier: np.ndarray) -> np.ndarray:
    """Sums of products at each lag from 1 - len(earlier) up to len(later) - 1, float (lags,)."""
    size = 1 << (len(later) + len(earlier) - 2).bit_length()
    products = np.fft.irfft(np.fft.rfft(later, size) * np.fft.rfft(earlier[::-1], size), size)
    return products[: len(later) + len(earlier) - 1]
