import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.audio.channels import mid_of, place
from engine.units import SAMPLE_RATE


def noise(count: int = SAMPLE_RATE, seed: int = 0) -> np.ndarray:
    return (0.1 * np.random.default_rng(seed).standard_normal(count)).astype(np.float32)


VOICE, CONVERTED, AMBIENCE = noise(seed=1), noise(seed=2), noise(seed=3)


def test_mid_of_returns_the_mean_of_the_channels():
    np.testing.assert_allclose(mid_of(np.array([[1.0, 2.0], [3.0, -2.0]])), [2.0, 0.0])


def test_place_returns_the_converted_voice_for_one_channel():
    np.testing.assert_array_equal(place(CONVERTED, VOICE[None]), CONVERTED[None])


@pytest.mark.parametrize("gains", [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.8, 0.3), (1.0, 0.5, 0.0, 0.2, 0.0, 0.9)])
def test_place_keeps_the_panning_of_the_voice(gains):
    source = np.stack([gain * VOICE for gain in gains])
    wanted = np.stack([gain / np.mean(gains) * CONVERTED for gain in gains])
    placed = place(CONVERTED, source)
    assert placed.dtype == np.float32
    np.testing.assert_allclose(placed, wanted, atol=1e-5)


def test_place_keeps_the_width_of_a_wide_recording():
    source = np.stack([VOICE + AMBIENCE, VOICE - AMBIENCE])
    placed = place(CONVERTED, source)
    np.testing.assert_allclose(mid_of(placed), CONVERTED, atol=1e-6)
    side = (placed[0] - placed[1]) / 2
    assert np.corrcoef(side, AMBIENCE)[0, 1] > 0.99
    assert side.std() == pytest.approx(AMBIENCE.std(), rel=0.05)


def test_place_follows_a_moving_voice():
    position = np.linspace(0, 1, SAMPLE_RATE)
    placed = place(CONVERTED, np.stack([(1 - position) * VOICE, position * VOICE]))
    wanted = np.stack([2 * (1 - position) * CONVERTED, 2 * position * CONVERTED])
    assert np.abs(placed - wanted)[:, 4000:-4000].std() < 0.05 * CONVERTED.std()


@pytest.mark.parametrize("seconds", [0.1, 0.3, 0.39, 0.5, 1.0])
def test_place_keeps_gains_centred_in_short_recordings(seconds):
    count = int(seconds * SAMPLE_RATE)
    voice = np.where(np.arange(count) % 2, 0.1, -0.1)  # of steady power
    left = np.arange(count) < count // 2
    source = np.stack([left * voice, ~left * voice])
    gains = place(mid_of(source) + 1, source) - source
    np.testing.assert_allclose(gains[:, count // 2], 1.0, atol=0.1)


def test_place_leaves_channels_in_opposite_phase_unchanged():
    source = np.stack([VOICE, -VOICE])
    np.testing.assert_allclose(place(np.zeros_like(VOICE), source), source, atol=1e-6)


@given(st.integers(1, 30_000), st.integers(2, 8), st.integers(0, 1000), st.sampled_from([1e-6, 1e-3, 1.0]))
@settings(max_examples=25)
def test_place_restores_the_source_from_its_mid_and_keeps_the_converted_mid(count, channels, seed, level):
    random = np.random.default_rng(seed)
    source = (level * random.standard_normal((channels, count))).astype(np.float32)
    np.testing.assert_allclose(place(mid_of(source), source), source, atol=2e-5 * level * channels)
    converted = (level * random.standard_normal(count)).astype(np.float32)
    placed = place(converted, source)
    assert placed.shape == source.shape
    np.testing.assert_allclose(mid_of(placed), converted, atol=1e-3 * level)


def test_place_keeps_silence_silent():
    assert not place(np.zeros(1000, np.float32), np.zeros((2, 1000), np.float32)).any()
