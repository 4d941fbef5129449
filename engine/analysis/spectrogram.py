"""Spectrograms as plain images without axes: levels on a note, mel or linear scale, one column per point in time.

A row shows the strongest level within its range, interpolated between bins where it is narrower than one. So a partial
is equally dark on every scale, and the partials of a low voice stay apart.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import fft

from engine.units import HOP, SAMPLE_RATE, decibels, hertz_to_mel, hertz_to_semitones, mel_to_hertz, semitones_to_hertz

ScaleName = Literal["note", "mel", "linear"]
Shades = npt.NDArray[np.uint8]  # (rows, columns), 0 quiet to 255 loud; row 0 is the lowest

LONGEST_WINDOW = 4096  # samples
STEP_DB = 0.5  # resolution of levels stored as bytes
SHADES_DB = 70.0  # range from the quietest level shown to the loudest
_LOWEST_DB = -120.0
_AT_ONCE = 128  # columns
_Curve = Callable[[np.ndarray], np.ndarray]
_CONVERSIONS: dict[ScaleName, tuple[_Curve, _Curve]] = {  # from hertz and back
    "note": (hertz_to_semitones, semitones_to_hertz),
    "mel": (hertz_to_mel, mel_to_hertz),
    "linear": (np.asarray, np.asarray),
}


@dataclass(frozen=True)
class Scale:
    """A frequency axis. window: samples per column; more resolve low partials, fewer resolve time."""

    name: ScaleName
    lowest_hertz: float
    highest_hertz: float
    rows: int
    window: int

    @property
    def edges_hertz(self) -> npt.NDArray[np.float64]:
        """Edges of the rows in hertz, (rows + 1,), ascending."""
        return self._at(np.arange(self.rows + 1.0))

    @property
    def centres_hertz(self) -> npt.NDArray[np.float64]:
        """Centre of each row on the scale in hertz, (rows,), ascending."""
        return self._at(np.arange(self.rows) + 0.5)

    def _at(self, rows: np.ndarray) -> npt.NDArray[np.float64]:
        to_scale, to_hertz = _CONVERSIONS[self.name]
        low, high = to_scale(np.asarray(self.lowest_hertz)), to_scale(np.asarray(self.highest_hertz))
        return to_hertz(low + (high - low) * rows / self.rows)


_C2, _C8 = 36.0, 108.0
NOTE = Scale("note", float(semitones_to_hertz(_C2)), float(semitones_to_hertz(_C8)), 72 * 3, LONGEST_WINDOW)
MEL = Scale("mel", 0.0, 20_000.0, 256, LONGEST_WINDOW // 2)
LINEAR = Scale("linear", 0.0, 20_000.0, 320, LONGEST_WINDOW // 2)
SCALES = (NOTE, MEL, LINEAR)


def levels_of(windows: npt.NDArray[np.float32], scale: Scale) -> npt.NDArray[np.float32]:
    """Measure levels in dB (columns, rows) of windows (columns, LONGEST_WINDOW); a full-scale sine is near 0."""
    aside = (LONGEST_WINDOW - scale.window) // 2
    windowed = windows[:, aside : aside + scale.window] * np.hanning(scale.window).astype(np.float32)
    spectrum = np.abs(fft.rfft(windowed, axis=1)) * np.float32(4.0 / scale.window)
    edges = scale.edges_hertz * scale.window / SAMPLE_RATE
    centres = np.minimum((edges[:-1] + edges[1:]) / 2, spectrum.shape[1] - 1.001)
    below = centres.astype(int)
    share = (centres - below).astype(np.float32)
    between_bins = spectrum[:, below] * (1 - share) + spectrum[:, below + 1] * share
    first, last = np.ceil(edges[:-1]).astype(int), np.ceil(edges[1:]).astype(int)
    inside = np.maximum.reduceat(spectrum, np.minimum(first, spectrum.shape[1] - 1), axis=1)
    strongest = np.where(last > first, np.maximum(inside, between_bins), between_bins)
    return decibels(strongest, _LOWEST_DB).astype(np.float32)


def windows_around(pieces: Iterable[np.ndarray], frames: Iterable[int]) -> Iterator[np.ndarray]:
    """Yield LONGEST_WINDOW samples around each of the (ascending) frames, with silence outside the recording.

    pieces: the recording as mono samples at SAMPLE_RATE; it need not be in memory at once.
    """
    held, held_from = np.zeros(LONGEST_WINDOW // 2, np.float32), -LONGEST_WINDOW // 2
    pieces = iter(pieces)
    for frame in frames:
        start = frame * HOP - LONGEST_WINDOW // 2
        while held_from + len(held) < start + LONGEST_WINDOW:
            piece = next(pieces, np.zeros(LONGEST_WINDOW, np.float32))
            keep = min(start - held_from, len(held))
            held, held_from = np.concatenate((held[keep:], piece)), held_from + keep
        yield held[start - held_from : start - held_from + LONGEST_WINDOW]


def measure_spectrograms(
    pieces: Iterable[np.ndarray],
    frames: Sequence[int],
    scales: Sequence[Scale] = SCALES,
    report: Callable[[float], None] = lambda fraction: None,
) -> list[Shades]:
    """Measure a recording's spectrogram on each scale, one column for each of the (ascending) frames.

    pieces: as for `windows_around`. The loudest level is 255, SHADES_DB below it 0.
    """
    held = [np.zeros((len(frames), scale.rows), np.uint8) for scale in scales]
    windows = windows_around(pieces, frames)
    for start in range(0, len(frames), _AT_ONCE):
        some = np.stack(list(islice(windows, _AT_ONCE)))
        for levels, scale in zip(held, scales, strict=True):
            found = (levels_of(some, scale) - _LOWEST_DB) / STEP_DB
            levels[start : start + len(some)] = np.clip(np.round(found), 0, 255)
        report((start + len(some)) / len(frames))
    return [_shaded(levels) for levels in held]


def _shaded(levels: npt.NDArray[np.uint8]) -> Shades:
    """Convert levels (columns, rows) in steps above _LOWEST_DB to shades (rows, columns)."""
    top = max(float(np.percentile(levels, 99.9)), SHADES_DB / STEP_DB)  # silence stays blank
    steps = np.arange(256)
    shades = np.clip(255.0 * (1.0 - (top - steps) * STEP_DB / SHADES_DB), 0, 255).astype(np.uint8)
    return np.ascontiguousarray(shades[levels].T)
