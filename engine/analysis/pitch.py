"""Pitch: the fundamental frequency of a voice and the confidence in it, per frame.

Detected by SwiftF0 (Nieradzik, 2025), a small network included in its package, and then refined
(engine/analysis/pitch_refinement.py). Its confidence is kept as a continuous voicing value, since an early hard
decision would cost quality later.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import soxr

from engine.analysis.pitch_refinement import refine_pitch
from engine.units import FRAME_RATE, SAMPLE_RATE, frame_count, hertz_to_semitones, semitones_to_hertz

DETECTOR_RATE = 16_000
VOICED = 0.6  # frames above this confidence count as voiced in statistics
TRUSTED = 0.3  # below this confidence the frequency is interpolated instead of used
DEFAULT_HERTZ = 150.0  # for recordings without any voiced frame
LOWEST_HERTZ, HIGHEST_HERTZ = 46.9, 1400.0
_SHORTEST_S = 0.3  # shorter input to the detector is padded with silence


@dataclass(frozen=True)
class Pitch:
    """hertz: float32 (frames,), above zero, interpolated where unvoiced; voicing: float32 (frames,), 0..1."""

    hertz: np.ndarray
    voicing: np.ndarray

    def __post_init__(self) -> None:
        if self.hertz.shape != self.voicing.shape or self.hertz.ndim != 1:
            raise ValueError(f"hertz {self.hertz.shape} and voicing {self.voicing.shape} must be equal and flat")

    def __len__(self) -> int:
        return len(self.hertz)

    def __getitem__(self, frames: slice) -> "Pitch":
        return Pitch(self.hertz[frames], self.voicing[frames])

    @property
    def semitones(self) -> np.ndarray:
        """MIDI note numbers, float32 (frames,)."""
        return hertz_to_semitones(self.hertz).astype(np.float32)

    @property
    def voiced(self) -> np.ndarray:
        """Where the voicing is high enough for statistics, bool (frames,)."""
        return self.voicing > VOICED

    @property
    def voiced_semitones(self) -> np.ndarray:
        """MIDI note numbers of the voiced frames only, float32 (voiced frames,)."""
        return hertz_to_semitones(self.hertz[self.voiced])

    @staticmethod
    def joined(pitches: Iterable["Pitch"]) -> "Pitch":
        """Return the curves one after the other."""
        held = list(pitches)
        return Pitch(np.concatenate([one.hertz for one in held]), np.concatenate([one.voicing for one in held]))

    def one_frame_longer(self) -> "Pitch":
        """Return the curve with its last frame repeated, so that the samples after its centre are covered."""
        return Pitch(np.pad(self.hertz, (0, 1), "edge"), np.pad(self.voicing, (0, 1), "edge"))

    def transposed(self, semitones: float | np.ndarray) -> "Pitch":
        """Return the same pitch `semitones` higher; one number, or one per frame."""
        return Pitch((self.hertz * 2.0 ** (np.asarray(semitones) / 12.0)).astype(np.float32), self.voicing)


@lru_cache(maxsize=2)
def _detector(threads: int | None) -> Any:
    from swift_f0 import SwiftF0

    return SwiftF0(threads, spin=False)


def detect_pitch(samples: np.ndarray, rate: int, threads: int | None = None) -> Pitch:
    """Detect the pitch of mono `samples`, float (samples,), every 10 ms; silence and noise give voicing near 0.

    threads: of the detector; all cores if None.

    >>> from engine import read_audio
    >>> vocal = read_audio("vocal.flac")
    >>> pitch = detect_pitch(vocal.mono(), vocal.rate)
    >>> len(pitch), bool(100 < np.median(pitch.hertz[pitch.voiced]) < 1000)
    (301, True)
    """
    frames = frame_count(round(len(samples) * SAMPLE_RATE / rate))
    listened = samples if rate == DETECTOR_RATE else soxr.resample(samples, rate, DETECTOR_RATE)
    listened = np.asarray(listened, np.float32)
    shortest = int(_SHORTEST_S * DETECTOR_RATE)
    if len(listened) < shortest:
        listened = np.pad(listened, (0, shortest - len(listened)))
    if not listened.any():
        return Pitch(np.full(frames, DEFAULT_HERTZ, np.float32), np.zeros(frames, np.float32))
    track = _detector(threads).detect(listened, DETECTOR_RATE)
    pitch = _on_grid(track.timestamps, track.pitch_hz, track.confidence, frames)
    hertz = refine_pitch(listened, DETECTOR_RATE, pitch.hertz, pitch.voicing, FRAME_RATE)
    return Pitch(hertz.clip(LOWEST_HERTZ, HIGHEST_HERTZ), pitch.voicing)


def _on_grid(times_s: np.ndarray, hertz: np.ndarray, confidence: np.ndarray, frames: int) -> Pitch:
    grid_s = np.arange(frames) / FRAME_RATE
    voicing = np.interp(grid_s, times_s, np.nan_to_num(confidence)).clip(0.0, 1.0).astype(np.float32)
    trusted = (confidence > TRUSTED) & (hertz >= LOWEST_HERTZ) & (hertz <= HIGHEST_HERTZ)
    if not trusted.any():
        return Pitch(np.full(frames, DEFAULT_HERTZ, np.float32), voicing)
    semitones = np.interp(grid_s, times_s[trusted], hertz_to_semitones(hertz[trusted].astype(np.float64)))
    return Pitch(semitones_to_hertz(semitones).astype(np.float32), voicing)
