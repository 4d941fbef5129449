"""Audio that is played back at a speed which varies: how the formants of imported voices move on some notes only."""

from functools import cached_property

import numpy as np
import soxr

from engine.units import FRAME_RATE, HOP, SAMPLE_RATE

_FINER = 4  # times the sampling rate, at which a cubic between samples is exact enough: its error is below -70 dB


class Speed:
    """A speed for each frame, float64 (frames,), by which what is rendered beforehand is played back."""

    def __init__(self, speed: np.ndarray) -> None:
        self._speed = speed
        self._places = np.append(0.0, np.cumsum(speed))  # of the frames, in what is rendered

    @property
    def frames(self) -> int:
        """How many are rendered."""
        return int(np.ceil(self._places[-1]))

    @cached_property
    def _origins(self) -> np.ndarray:
        """The frame, with fractions, that each rendered one will be, (rendered,)."""
        places = np.arange(self.frames, dtype=np.float64)
        return np.interp(places, self._places, np.arange(len(self._places))).clip(max=len(self._speed) - 1)

    def slowed(self, rows: np.ndarray) -> np.ndarray:
        """Return values of frames, (frames, n), for the rendered ones, float32 (rendered, n)."""
        left = self._origins.astype(int).clip(max=max(0, len(rows) - 2))
        share = (self._origins - left)[:, None]
        right = (left + 1).clip(max=len(rows) - 1)
        return ((1.0 - share) * rows[left] + share * rows[right]).astype(np.float32)

    def slowed_pitch(self, hertz: np.ndarray) -> np.ndarray:
        """Return the pitch (frames,) with which what is rendered has that pitch when it is played back."""
        at = self._origins.astype(int)
        return (hertz[at] / self._speed[at]).astype(np.float32)

    def played(self, samples: np.ndarray, rate: float) -> np.ndarray:
        """Return what was rendered, (n,), as it is played back: float32 (frames * HOP,) at SAMPLE_RATE."""
        fine = soxr.resample(samples, rate, _FINER * SAMPLE_RATE)
        count = len(self._speed) * HOP * _FINER
        times = np.arange(count) / (_FINER * SAMPLE_RATE) * FRAME_RATE
        places = np.interp(times, np.arange(len(self._places)), self._places) * HOP * _FINER
        played = soxr.resample(_between(fine, places), _FINER * SAMPLE_RATE, SAMPLE_RATE)[: len(self._speed) * HOP]
        return np.pad(played, (0, len(self._speed) * HOP - len(played))).astype(np.float32)


def _between(samples: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return samples (n,) between which there are cubics (Catmull and Rom, 1974) at places, float32 (places,)."""
    padded = np.pad(samples.astype(np.float64), (1, 3))
    at = places.astype(int).clip(0, len(samples) - 1)
    share = places - at
    before, left, right, after = (padded[at + step] for step in range(4))
    curve = 3.0 * (left - right) + after - before
    bend = 2.0 * before - 5.0 * left + 4.0 * right - after
    return (left + 0.5 * share * (right - before + share * (bend + share * curve))).astype(np.float32)
