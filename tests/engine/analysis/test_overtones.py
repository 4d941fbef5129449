"""A raised harmonic is not the note, and a high note over nothing is."""

import numpy as np
import pytest
from scipy import signal

from engine.analysis.pitch import detect_pitch
from engine.units import SAMPLE_RATE


def resonance(samples: np.ndarray, hertz: float, width: float) -> np.ndarray:
    radius, angle = np.exp(-np.pi * width / SAMPLE_RATE), 2 * np.pi * hertz / SAMPLE_RATE
    return loudest(signal.lfilter([1.0], [1, -2 * radius * np.cos(angle), radius**2], samples))


def loudest(samples: np.ndarray) -> np.ndarray:
    return samples / np.abs(samples).max()


def overtone_singing(hertz: float, number: int, share: float = 0.5) -> np.ndarray:
    """A second of a drone whose harmonic of this number is raised."""
    pulses = np.diff(np.floor(np.arange(SAMPLE_RATE + 1) * hertz / SAMPLE_RATE))
    glottis = signal.lfilter(*signal.butter(1, 300, fs=SAMPLE_RATE), pulses)
    raised = resonance(resonance(glottis, number * hertz, 25), number * hertz, 25)
    return loudest((1 - share) * resonance(glottis, 400, 80) + share * raised).astype(np.float32)


def high(hertz: float, partials: int) -> np.ndarray:
    time_s = np.arange(SAMPLE_RATE) / SAMPLE_RATE
    return sum(np.sin(2 * np.pi * number * hertz * time_s) / number**1.5 for number in range(1, partials + 1))


def share_near(samples: np.ndarray, hertz: float) -> float:
    """Share of the frames that are voiced within 50 cents, without the ends."""
    pitch = detect_pitch(loudest(samples).astype(np.float32), SAMPLE_RATE)[slice(10, 90)]
    return float(np.mean(pitch.voiced & (np.abs(1200 * np.log2(pitch.hertz / hertz)) < 50)))


@pytest.mark.parametrize("number", [6, 8, 10, 12])
@pytest.mark.parametrize("hertz", [98.0, 130.8, 165.0, 220.0])
@pytest.mark.parametrize("share", [0.5, 0.7])
def test_detect_pitch_keeps_the_drone_of_overtone_singing(hertz, number, share):
    if number * hertz > 2000.0:
        pytest.skip("nobody raises harmonics so high")
    assert share_near(overtone_singing(hertz, number, share), hertz) > 0.9


@pytest.mark.parametrize("hertz", [523.0, 698.0, 880.0, 1047.0, 1568.0, 2093.0])
@pytest.mark.parametrize("partials", [1, 4])
@pytest.mark.parametrize("beside", ["nothing", "noise", "softer low notes"])
def test_detect_pitch_keeps_high_notes_and_whistles(hertz, partials, beside):
    note = loudest(high(hertz, partials))
    if beside == "noise":
        note = note + 0.03 * np.random.default_rng(0).standard_normal(len(note))
    if beside == "softer low notes":  # of headphones, exactly three octaves below
        note = note + 0.01 * loudest(high(hertz / 8, 8))
    assert share_near(note, hertz) > 0.9
