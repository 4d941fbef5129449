"""Against the cases of ITU-R BS.1770 and EBU Tech 3341, whose answers are known."""

import numpy as np
import pytest

from engine.analysis.programme_loudness import LoudnessMeter


def measured(samples: np.ndarray, rate: int, block: int = 10_000) -> float | None:
    samples = np.atleast_2d(samples)
    meter = LoudnessMeter(rate, len(samples))
    for start in range(0, samples.shape[1], block):
        meter.push(samples[:, start : start + block])
    return meter.lufs()


def sine(level_db: float, seconds: float, rate: int = 48_000, hertz: float = 997.0) -> np.ndarray:
    return 10 ** (level_db / 20) * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)


@pytest.mark.parametrize("rate", [16_000, 22_050, 44_100, 48_000, 96_000])
def test_loudness_meter_measures_a_full_scale_mono_sine_at_minus_3_lufs(rate):
    assert measured(sine(0.0, 5.0, rate), rate) == pytest.approx(-3.01, abs=0.05)


def test_loudness_meter_measures_stereo_as_in_ebu_case_1():
    assert measured(np.stack([sine(-23.0, 20.0)] * 2), 48_000) == pytest.approx(-23.0, abs=0.05)  # EBU case 1


def test_loudness_meter_ignores_soft_parts():
    parts = np.concatenate((sine(-36.0, 10.0), sine(-23.0, 60.0), sine(-36.0, 10.0)))  # EBU case 3
    assert measured(np.stack([parts] * 2), 48_000) == pytest.approx(-23.0, abs=0.1)


def test_loudness_meter_weights_low_tones_less_than_high_ones():
    low, high = measured(sine(-20.0, 3.0, hertz=40.0), 48_000), measured(sine(-20.0, 3.0, hertz=4000.0), 48_000)
    assert low < -27
    assert high > -20.5


@pytest.mark.parametrize("block", [1, 1000, 1_000_000])
def test_loudness_meter_is_independent_of_the_block_size(block):
    samples = np.random.default_rng(0).normal(0, 0.1, 3000)
    assert measured(samples, 8000, block) == pytest.approx(measured(samples, 8000, 777))


def test_loudness_meter_returns_none_for_silence_but_measures_short_tones():
    assert measured(np.zeros(48_000), 48_000) is None
    assert measured(np.zeros(0), 48_000) is None
    assert measured(sine(-10.0, 0.05), 48_000) == pytest.approx(-13.0, abs=0.3)
    assert measured(sine(-10.0, 0.25), 48_000) == pytest.approx(-13.0, abs=0.3)
