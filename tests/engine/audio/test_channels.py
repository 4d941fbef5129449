import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import signal

from engine.audio.channels import delayed, fold
from engine.units import SAMPLE_RATE


def noise(count: int = SAMPLE_RATE, seed: int = 0) -> np.ndarray:
    return (0.1 * np.random.default_rng(seed).standard_normal(count)).astype(np.float32)


def later(samples: np.ndarray, seconds: float, rate: int = SAMPLE_RATE) -> np.ndarray:
    return delayed(samples, round(seconds * rate))


def hold_the_same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether the two are one sound at one level, but for 1 % of the power at the edges and in the bass."""
    return bool(((one - other) ** 2).sum() < 0.01 * (other**2).sum())


@pytest.fixture(scope="module")
def voice(sing) -> np.ndarray:
    return sing(2.0)


def test_fold_returns_a_single_channel_as_it_is(voice):
    assert np.array_equal(fold(voice[None]), voice)


def test_fold_returns_the_mean_of_equal_channels(voice):
    np.testing.assert_allclose(fold(np.stack([voice, voice])), voice, atol=1e-7)


@pytest.mark.parametrize("gains", [(1, -1), (-1, 1), (0.5, -0.9), (1, 0), (0, -1), (0, 0, 1, 0, 0, 0), (1, 1, -1, -1)])
def test_fold_keeps_a_voice_at_any_gains_and_polarities(voice, gains):
    found = fold(np.stack([np.float32(gain) * voice for gain in gains]))
    leading = next(gain for gain in gains if abs(gain) > 0.7 * max(map(abs, gains)))
    assert hold_the_same(found, leading * voice)


@pytest.mark.parametrize("rate", [8_000, 44_100, 96_000])
@pytest.mark.parametrize("seconds", [0.0003, 0.001, 0.012, 0.025, -0.012])
def test_fold_does_not_comb_a_voice_that_reaches_a_channel_later(sing, rate, seconds):
    voice = sing(2.0, rate=rate)
    for gain in (1.0, -0.8):
        assert hold_the_same(fold(np.stack([voice, gain * later(voice, seconds, rate)]), rate), voice)


def test_fold_leaves_out_channels_of_noise_however_loud(voice):
    hiss, rumble = 3 * noise(len(voice), 1), signal.lfilter(*signal.butter(2, 0.005), 30 * noise(len(voice), 2))
    found = fold(np.stack([hiss, rumble, voice, np.zeros_like(voice)]).astype(np.float32))
    assert hold_the_same(found, voice)


def test_fold_takes_one_of_several_unrelated_voices(sing):
    low, high = sing(2.0, 150.0), sing(2.0, 260.0, seed=1)
    found = fold(np.stack([low, high]))
    assert np.array_equal(found, low) or np.array_equal(found, high)


def test_fold_of_mid_and_side_keeps_the_mid(voice):
    side = 0.3 * noise(len(voice), 3) * np.abs(voice).max()
    assert hold_the_same(fold(np.stack([voice + side, voice - side])), voice)


def test_fold_has_the_same_sign_in_every_part_of_an_inverted_recording(voice):
    inverted = np.stack([voice, -voice])
    for start in range(0, len(voice) - 5000, 20_000):
        part = inverted[:, start : start + 20_000]
        assert float(fold(part) @ part[0]) > 0.0


@given(
    st.integers(1, 9_000),
    st.integers(1, 8),
    st.integers(0, 1000),
    st.sampled_from([0.0, 1e-6, 1.0]),
    st.sampled_from([8_000, 44_100, 192_000]),
)
@settings(max_examples=40, derandomize=True)
def test_fold_returns_finite_samples_for_any_channels(count, channels, seed, level, rate):
    samples = (level * np.random.default_rng(seed).standard_normal((channels, count))).astype(np.float32)
    found = fold(samples, rate)
    assert found.shape == (count,)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()


@pytest.mark.parametrize(
    ("delay", "wanted"), [(0, [1, 2, 3]), (1, [0, 1, 2]), (-2, [3, 0, 0]), (3, [0, 0, 0]), (-9, [0, 0, 0])]
)
def test_delayed_keeps_the_length(delay, wanted):
    np.testing.assert_array_equal(delayed(np.array([1.0, 2.0, 3.0]), delay), wanted)
