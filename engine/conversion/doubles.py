"""Doubles: a line that is sung once more in another channel, with an intonation of its own.

Two microphones, a room or a delay give one performance to both channels: over a third of a second its pitch is the same
in both, within a few cents. A line that is sung twice, or moved by an effect, is off by more for as long. Then each
channel is converted by itself; else it would become a copy of the other. What sings other notes is no double.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from engine.analysis.loudness import without_rumble
from engine.analysis.pitch import detect_pitch
from engine.analysis.windows import Window
from engine.audio.channels import Share, shares_of
from engine.units import FRAME_RATE, SAMPLE_RATE

Decided = Callable[[], frozenset[int]]  # called for one window after the other
Apart = Callable[[Window], Decided]  # which channels of a window are converted by themselves

_UNLIKE = 0.8  # correlation; above, it is one performance
_STRETCH_FRAMES, _VOICED_FRAMES, _STEP_FRAMES = 30, 14, 10
_FEWEST_STRETCHES = 5  # else it cannot be told
_SURE = 0.7  # voicing of the frames that count
_OFF_CENTS = 7.5  # median of the stretches; two microphones and rooms have less, but for some large rooms
_SAME_NOTE_CENTS, _SAME_NOTES = 100.0, 0.7  # of the frames of a double are so near to the other's note, in any octave


def no_doubles(window: Window) -> Decided:
    """Return what gives no channels."""
    return frozenset


class DetectedDoubles:
    """Finds the doubles of windows; where it cannot be told, what was found in the window before still holds."""

    def __init__(self) -> None:
        self._found: frozenset[int] = frozenset()

    def __call__(self, window: Window) -> Decided:
        """Return what gives the channels of a window that hold doubles of the one that leads."""
        if len(window.samples) == 1:
            return frozenset
        leading, shares = shares_of(window.samples, SAMPLE_RATE)
        told = {
            number: _is_double(window.samples[leading], window.samples[number], share)
            for number, share in shares.items()
            if abs(share.correlation) < _UNLIKE and window.samples[number].any()
        }
        return partial(self._decided, told)

    def _decided(self, told: dict[int, bool | None]) -> frozenset[int]:
        kept = {number for number, is_double in told.items() if is_double is None and number in self._found}
        self._found = frozenset(kept | {number for number, is_double in told.items() if is_double})
        return self._found


def _is_double(lead: np.ndarray, other: np.ndarray, share: Share) -> bool | None:
    """Return whether a channel (n,) holds the line of another one with another intonation; None if both hardly sing."""
    one, two = (detect_pitch(without_rumble(channel), SAMPLE_RATE) for channel in (lead, other))
    frames = np.arange(len(one))
    there = frames + share.delay * FRAME_RATE / SAMPLE_RATE
    both = (one.voicing > _SURE) & (np.interp(there, frames, two.voicing) > _SURE)
    cents = 100.0 * (np.interp(there, frames, two.semitones) - one.semitones)
    cents -= 1200.0 * np.round(cents / 1200.0)
    stretches = [
        float(np.median(cents[first : first + _STRETCH_FRAMES][sung]))
        for first in range(0, max(1, len(frames) - _STRETCH_FRAMES), _STEP_FRAMES)
        if (sung := both[first : first + _STRETCH_FRAMES]).sum() >= _VOICED_FRAMES
    ]
    if len(stretches) < _FEWEST_STRETCHES:
        return None
    is_same_line = np.mean(np.abs(cents[both]) < _SAME_NOTE_CENTS) > _SAME_NOTES
    return bool(is_same_line and np.median(np.abs(stretches)) > _OFF_CENTS)
