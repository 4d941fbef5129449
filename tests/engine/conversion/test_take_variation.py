import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.conversion.take_variation import LOUDNESS, PITCH, drift, timbre_offset


@given(st.integers(0, 100_000), st.integers(1, 300), st.integers(0, 2**31 + 8), st.data())
@settings(max_examples=25)
def test_drift_does_not_depend_on_the_windows(first, frames, seed, data):
    whole = drift(first, frames, seed, PITCH)
    assert whole.shape == (frames,)
    assert whole.dtype == np.float32
    split = data.draw(st.integers(0, frames - 1))
    joined = np.concatenate([drift(first, split, seed, PITCH), drift(first + split, frames - split, seed, PITCH)])
    np.testing.assert_array_equal(joined, whole)


def test_drift_is_slow_with_about_unit_variance():
    curve = drift(0, 40_000, 1, LOUDNESS)
    assert abs(curve.mean()) < 0.1
    assert 0.6 < curve.std() < 1.1
    assert np.abs(np.diff(curve)).max() < 0.4


@pytest.mark.parametrize(("seed", "curve"), [(1, LOUDNESS), (2, PITCH)])
def test_drift_is_uncorrelated_between_seeds_and_curves(seed, curve):
    assert abs(np.corrcoef(drift(0, 20_000, 1, PITCH), drift(0, 20_000, seed, curve))[0, 1]) < 0.15


def test_timbre_offset_is_deterministic_with_a_seed():
    np.testing.assert_array_equal(timbre_offset(5, 8), timbre_offset(5, 8))
    assert timbre_offset(5, 8).shape == (8,)
    assert timbre_offset(5, 8).dtype == np.float32
    assert (timbre_offset(5, 8) != timbre_offset(6, 8)).all()
    assert np.std([timbre_offset(seed, 8) for seed in range(200)]) == pytest.approx(1.0, abs=0.05)
