"""Cycles that repeat, change their level or length, or their shape."""

import numpy as np
import pytest

from engine.analysis.cycles import measure_changes
from engine.units import SAMPLE_RATE

TIME_S = np.arange(4096) / SAMPLE_RATE


def harmonics(cycles: np.ndarray, count: int = 6) -> np.ndarray:
    return sum(np.sin(2 * np.pi * number * cycles + number) / number for number in range(1, count + 1))


def changes_db(samples: np.ndarray, hertz: float) -> float:
    return float(measure_changes(samples[None].astype(np.float32), np.array([hertz]))[0])


@pytest.mark.parametrize("hertz", [90.0, 220.0, 400.0])
def test_cycles_foretell_the_next_whatever_their_level_and_length(hertz):
    constant = harmonics(hertz * TIME_S)
    assert changes_db(constant, hertz) < -25
    assert changes_db(constant * (1 + 0.5 * np.sin(2 * np.pi * 70 * TIME_S)), hertz) < -15
    assert changes_db(harmonics(hertz * (TIME_S + 1e-4 * np.sin(2 * np.pi * 30 * TIME_S))), hertz) < -15


@pytest.mark.parametrize("hertz", [90.0, 220.0, 400.0])
def test_cycles_do_not_foretell_another_pitch_or_noise(hertz):
    constant = harmonics(hertz * TIME_S)
    other = harmonics(hertz * 2 ** (7 / 12) * TIME_S)
    assert changes_db(constant + 0.5 * other, hertz) > -11
    noise = np.random.default_rng(0).standard_normal(len(TIME_S))
    assert changes_db(noise, hertz) > -4


def test_cycles_of_silence_and_of_moments_too_short_are_no_numbers_to_trust():
    assert changes_db(np.zeros(4096), 200.0) == pytest.approx(0.0)
    assert np.isnan(changes_db(harmonics(40.0 * TIME_S)[:2048], 40.0))
    assert measure_changes(np.zeros((0, 4096), np.float32), np.zeros(0)).shape == (0,)
