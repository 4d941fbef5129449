"""Recordings that are not dry vocals, made from dry ones: with accompaniment, a second voice, noise or a room."""

import numpy as np
from scipy.signal import butter, fftconvolve, sosfilt

from engine.units import SAMPLE_RATE

_PROGRESSION = ((0, 4, 7), (9, 12, 16), (5, 9, 12), (7, 11, 14))  # I vi IV V, semitones above the key
_DIRECT_S = 0.005


def chords(length: int, drawn: np.random.Generator) -> np.ndarray:
    """Return a progression in a random key, four plucked or sustained chords with a bass, float64 (samples,)."""
    key, chord_s = 45 + int(drawn.integers(0, 12)), float(drawn.uniform(0.8, 2.0))
    decay_s = float(drawn.choice([0.5, 1.5, 8.0]))  # plucked, struck, held
    time_s = np.arange(length) / SAMPLE_RATE
    number, within_s = (time_s / chord_s).astype(int), time_s % chord_s
    edges = np.minimum(within_s / 0.01, 1.0) * np.clip((chord_s - within_s) / 0.02, 0, 1)
    made = np.zeros(length)
    for step, notes in enumerate(_PROGRESSION):
        here = number % len(_PROGRESSION) == step
        for note in (notes[0] - 12, *notes, notes[1] + 12):
            hertz = 440 * 2 ** ((key + note + drawn.normal(0, 0.03) - 69) / 12)
            for partial in range(1, 9):
                made[here] += np.sin(2 * np.pi * partial * hertz * time_s[here]) / partial**1.3
    return made * edges * np.exp(-within_s / decay_s)


def hiss(length: int, drawn: np.random.Generator) -> np.ndarray:
    """Return noise as of a preamplifier, float64 (samples,)."""
    return drawn.standard_normal(length)


def beside(vocal: np.ndarray, other: np.ndarray, level_db: float) -> np.ndarray:
    """Mix another sound to a vocal, at this level relative to the vocal's, both without their pauses."""
    return vocal + other * 10 ** (level_db / 20) * _sounding(vocal) / _sounding(other)


def in_a_room(vocal: np.ndarray, decay_s: float, drawn: np.random.Generator, wet_db: float) -> np.ndarray:
    """Put a vocal into a room that decays by 60 dB in so many seconds, its reverberation at this level."""
    time_s = np.arange(round(1.2 * decay_s * SAMPLE_RATE)) / SAMPLE_RATE
    answer = drawn.standard_normal(len(time_s)) * 10 ** (-3 * time_s / decay_s) * (time_s > _DIRECT_S)
    answer = sosfilt(butter(1, 5000, fs=SAMPLE_RATE, output="sos"), answer)  # air and walls take the top
    wet = fftconvolve(vocal, answer / np.sqrt(np.square(answer).sum()))[: len(vocal)]
    return vocal + wet * 10 ** (wet_db / 20)


def _sounding(samples: np.ndarray) -> float:
    """Return the root mean square of what is not a pause."""
    frames = np.square(samples[: len(samples) // 441 * 441].reshape(-1, 441)).mean(1)
    return float(np.sqrt(frames[frames > 1e-3 * frames.max()].mean())) + 1e-9
