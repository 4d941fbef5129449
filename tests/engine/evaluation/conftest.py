"""Recordings of known pitch and silence, and the networks that score."""

import numpy as np
import pytest

from engine.audio.files import Audio
from engine.evaluation.evaluator import Evaluator

RATE = 44_100


def sung(semitones: float = 0.0, seconds: float = 3.0, silence_level: float = 0.0) -> np.ndarray:
    """A vowel-like tone with vibrato around 220 Hz, with a silence of a third in its middle, float32 (samples,)."""
    time = np.arange(round(seconds * RATE)) / RATE
    hertz = 220.0 * 2 ** ((semitones + 0.8 * np.sin(2 * np.pi * 5 * time)) / 12)
    phase = 2 * np.pi * np.cumsum(hertz) / RATE
    tone = 0.2 * sum(np.sin(k * phase) / k for k in range(1, 12))
    tone[(time > seconds / 3) & (time < seconds * 2 / 3)] = 0.0
    noise = np.random.default_rng(0).standard_normal(len(time))
    return (tone + silence_level * noise).astype(np.float32)


def audio(samples: np.ndarray, rate: int = RATE) -> Audio:
    return Audio(samples[None], rate)


@pytest.fixture(scope="package")
def evaluator() -> Evaluator:
    return Evaluator()
