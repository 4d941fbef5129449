import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import signal

from engine.audio.channels import delayed, fold
from engine.audio.placement import Placement, keep_silence
from engine.units import SAMPLE_RATE
from tests.engine.pretended_gpu import pretended_gpu


def place(converted: np.ndarray, source: np.ndarray) -> np.ndarray:
    return Placement(source, fold(source)).place(converted)


def noise(count: int = SAMPLE_RATE, seed: int = 0) -> np.ndarray:
    return (0.1 * np.random.default_rng(seed).standard_normal(count)).astype(np.float32)


VOICE, CONVERTED, AMBIENCE = noise(seed=1), noise(seed=2), noise(seed=3)


def decibels_apart(one: np.ndarray, other: np.ndarray) -> float:
    """The level of the difference below that of `other`."""
    return 10 * np.log10(float(((one - other) ** 2).sum()) / float((other**2).sum()) + 1e-12)


def test_place_returns_the_converted_voice_for_one_channel():
    np.testing.assert_array_equal(place(CONVERTED, VOICE[None]), CONVERTED[None])


@pytest.mark.parametrize(
    "gains", [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.8, 0.3), (1.0, -1.0), (1.0, 0.5, 0.0, 0.2, 0.0, -0.9)]
)
def test_place_keeps_panning_and_polarity_of_the_voice(gains):
    source = np.stack([np.float32(gain) * VOICE for gain in gains])
    leading = next(gain for gain in gains if gain**2 >= 0.5 * max(one**2 for one in gains))
    wanted = np.stack([gain / leading * CONVERTED for gain in gains])
    placed = place(CONVERTED, source)
    assert placed.dtype == np.float32
    np.testing.assert_allclose(placed, wanted, atol=1e-5)


@pytest.mark.parametrize("seconds", [0.0003, 0.001, 0.012, 0.025])
def test_place_keeps_the_delay_between_channels_and_nothing_of_the_old_voice(sing, seconds):
    voice, converted, count = sing(3.0), sing(3.0, 260.0, seed=4), round(seconds * SAMPLE_RATE)
    placed = place(converted, np.stack([voice, delayed(voice, count)]))
    assert decibels_apart(placed[0], converted) < -20
    assert decibels_apart(placed[1], delayed(converted, count)) < -20


def test_place_keeps_early_reflections():
    taps = np.zeros(1500)
    taps[[0, 400, 900, 1400]] = 1.0, 0.6, -0.4, 0.3
    voice, converted = noise(6 * SAMPLE_RATE, 1), noise(6 * SAMPLE_RATE, 2)
    placed = place(converted, np.stack([voice, signal.fftconvolve(voice, taps)[: len(voice)].astype(np.float32)]))
    assert decibels_apart(placed[1], signal.fftconvolve(placed[0], taps)[: len(voice)]) < -10


def test_place_keeps_the_width_of_a_wide_recording():
    wide = np.float32(0.4) * AMBIENCE
    placed = place(CONVERTED, np.stack([VOICE + wide, VOICE - wide]))
    assert decibels_apart((placed[0] + placed[1]) / 2, CONVERTED) < -15
    side = (placed[0] - placed[1]) / 2
    assert np.corrcoef(side, wide)[0, 1] > 0.9
    assert side.std() == pytest.approx(wide.std(), rel=0.1)


def test_place_follows_a_moving_voice():
    position = np.linspace(0, 1, SAMPLE_RATE).astype(np.float32)
    placed = place(CONVERTED, np.stack([(1 - position) * VOICE, position * VOICE]))
    # the voice is at its level in the channel that leads, so only the balance is known
    balance = (1 - position) / (1 - position + position)
    for channel, share in zip(placed, (balance, 1 - balance), strict=True):
        part = slice(4000, -4000)
        scale = float(placed.sum(0)[part] @ CONVERTED[part]) / float(CONVERTED[part] @ CONVERTED[part])
        assert np.abs(channel - scale * share * CONVERTED)[part].std() < 0.15 * scale * CONVERTED.std()


def test_place_leaves_a_channel_of_noise_as_it_is(sing):
    voice, converted = sing(3.0), sing(3.0, 260.0, seed=4)
    rumble = signal.lfilter(*signal.butter(2, 0.005), 10 * noise(len(voice), 5)).astype(np.float32)
    placed = place(converted, np.stack([np.zeros_like(voice), voice, rumble]))
    assert not placed[0].any()
    assert decibels_apart(placed[1], converted) < -40
    assert decibels_apart(placed[2], rumble) < -40


@given(st.integers(1, 30_000), st.integers(2, 8), st.integers(0, 1000), st.sampled_from([1e-6, 1e-3, 1.0]))
@settings(max_examples=25, derandomize=True)
def test_place_returns_finite_samples_for_any_channels(count, channels, seed, level):
    random = np.random.default_rng(seed)
    source = (level * random.standard_normal((channels, count))).astype(np.float32)
    placed = place((level * random.standard_normal(count)).astype(np.float32), source)
    assert placed.shape == source.shape
    assert np.isfinite(placed).all()
    assert np.abs(placed).max() <= 40 * level


def test_place_keeps_silence_silent():
    assert not place(np.zeros(1000, np.float32), np.zeros((2, 1000), np.float32)).any()


def test_keep_silence_is_exact_in_a_channel_that_rests_and_changes_nothing_else():
    random = np.random.default_rng(0)
    samples = random.uniform(-0.5, 0.5, (2, SAMPLE_RATE)).astype(np.float32)
    samples[1, 10_000:20_000] = 0.0
    samples[1, 30_000:30_500] = 0.0  # 11 ms: no rest
    placed = random.uniform(-0.5, 0.5, samples.shape).astype(np.float32)
    kept = keep_silence(placed, samples)
    assert not kept[1, 10_000:20_000].any()
    np.testing.assert_array_equal(kept[0], placed[0])
    np.testing.assert_allclose(kept[1, 21_000:], placed[1, 21_000:], atol=1e-6)
    np.testing.assert_array_equal(keep_silence(placed[:1], samples[1:]), placed[:1])


def in_two_rooms() -> tuple[np.ndarray, np.ndarray]:
    """A voice of noise in bursts, there and with two kinds of room in another channel; and another voice."""
    generator = np.random.default_rng(0)
    voice, other = (
        (generator.standard_normal(3 * SAMPLE_RATE) * (np.arange(3 * SAMPLE_RATE) // 9000 % 2)).astype(np.float32)
        for _ in range(2)
    )
    count = SAMPLE_RATE // 2
    response = 0.02 * generator.standard_normal(count) * 10 ** (-3 * np.arange(count) / count)
    response[80] += 1.0
    return np.stack([voice, signal.fftconvolve(voice, response)[: len(voice)].astype(np.float32)]), other


def test_place_gives_the_same_bytes_for_any_number_of_threads():
    samples, other = in_two_rooms()
    before = torch.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(Placement(samples, samples[0]).place(other).tobytes())
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_place_there_places_on_the_device_of_the_voice():
    samples, other = in_two_rooms()
    placement = Placement(samples, samples[0])
    here = placement.place(other)
    with pretended_gpu() as device, torch.inference_mode():
        there = placement.place_there(torch.from_numpy(other).to(device)).cpu().numpy()
    assert np.abs(there - here).max() < 1e-4 * np.abs(here).max()


def test_keep_silence_costs_nothing_where_single_samples_are_zero():
    samples = np.random.default_rng(0).standard_normal((2, 20_000)).astype(np.float32)
    samples[:, ::50] = 0.0
    placed = samples[::-1].copy()
    assert keep_silence(placed, samples) is placed
