import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.networks.excitation import cycles_per_frame, noise_at, pulse_train
from engine.units import HOP, SAMPLE_RATE


def curve(value: float, frames: int) -> np.ndarray:
    return np.full(frames, value, np.float32)


def pulses(hertz: np.ndarray, start: float = 0.0) -> np.ndarray:
    return pulse_train(torch.from_numpy(np.asarray(hertz, np.float32))[None], start)[0][0].numpy()


def power_db(samples: np.ndarray) -> np.ndarray:
    return 10 * np.log10(np.abs(np.fft.rfft(samples) / len(samples)) ** 2 + 1e-20)


# ---- pulses


@pytest.mark.parametrize("hertz", [47.0, 100.0, 261.63, 700.0, 1400.0])
def test_pulse_train_has_unit_power_at_every_pitch(hertz):
    assert np.square(pulses(curve(hertz, 101))).mean() == pytest.approx(1.0, abs=0.04)


def test_pulse_train_spaces_pulses_by_the_pitch_period():
    samples = pulses(curve(100.0, 101))  # a whole number of samples apart
    np.testing.assert_array_equal(np.diff(np.flatnonzero(samples > samples.max() / 2)), 441)


def test_pulse_train_is_band_limited():
    # 70.5 samples to a cycle: what was folded down from above half the rate would lie between the harmonics
    cycle = 70.5
    harmonics = round(2 * cycle) // 4  # whole ones below half the rate
    spectrum = power_db(pulses(curve(SAMPLE_RATE / cycle, 64))[1000 : 1000 + 141 * 100])
    on, between = spectrum[200::200], spectrum[100::200]
    assert np.ptp(on[: harmonics - 1]) < 0.1
    assert on[: harmonics - 1].mean() - between[: harmonics - 1].max() > 60


def test_pulse_train_of_a_glide_matches_a_sum_of_cosines_with_the_highest_faded():
    hertz = np.geomspace(300.0, 330.0, 11)
    frequency = np.exp2(np.interp(np.arange(10 * HOP) / HOP, np.arange(11), np.log2(hertz)))
    cycles = np.cumsum(frequency) / SAMPLE_RATE
    number = np.arange(1, 80)[:, None]
    amplitude = (SAMPLE_RATE / 2 / frequency - number + 1).clip(0, 1)  # from one to nothing over one pitch: no clicks
    wanted = (amplitude * np.cos(2 * np.pi * number * cycles)).sum(0) * np.sqrt(4 * frequency / SAMPLE_RATE)
    np.testing.assert_allclose(pulses(hertz), wanted, atol=0.02)


@given(st.integers(1, 19), st.floats(0, 1), st.integers(0, 1000))
@settings(max_examples=25)
def test_pulse_train_continues_across_a_split_with_carried_cycles(split, start, seed):
    hertz = torch.from_numpy(np.random.default_rng(seed).uniform(60, 900, (1, 21)).astype(np.float32))
    whole, end = pulse_train(hertz, start)
    first, carried = pulse_train(hertz[:, : split + 1], start)
    second, second_end = pulse_train(hertz[:, split:], carried)
    joined = torch.cat([first, second], 1)
    assert whole.shape == (1, 20 * HOP)
    torch.testing.assert_close(joined, whole, atol=0.02 * float(whole.abs().max()), rtol=0)
    torch.testing.assert_close((second_end - end + 0.5) % 1.0, torch.full((1,), 0.5, dtype=torch.float64))


@given(st.floats(0, 1), st.integers(0, 1000))
@settings(max_examples=10)
def test_cycles_per_frame_matches_the_cycles_of_pulse_train(start, seed):
    hertz = np.random.default_rng(seed).uniform(60, 900, 12).astype(np.float32)
    cycles = cycles_per_frame(hertz, start)
    assert cycles.shape == (12,)
    assert cycles[0] == start
    for frame in (1, 5, 11):
        _, end = pulse_train(torch.from_numpy(hertz[: frame + 1])[None], start)
        assert (cycles[frame] - float(end) + 0.5) % 1.0 == pytest.approx(0.5, abs=1e-6)


def test_pulse_train_starts_each_row_of_a_batch_at_its_own_cycle():
    hertz = torch.full((2, 5), 200.0)
    both, _ = pulse_train(hertz, torch.tensor([0.0, 0.25]))
    torch.testing.assert_close(both[1], pulse_train(hertz[:1], 0.25)[0][0])
    assert (both[0] - both[1]).abs().max() > 1


# ---- noise


@given(st.integers(0, 200_000), st.integers(0, 3000), st.integers(0, 2**31 + 8), st.data())
@settings(max_examples=25)
def test_noise_at_depends_only_on_seed_and_position(first, count, seed, data):
    whole = noise_at(first, count, seed)
    assert whole.shape == (count,)
    assert whole.dtype == np.float32
    split = data.draw(st.integers(0, count))
    joined = np.concatenate([noise_at(first, split, seed), noise_at(first + split, count - split, seed)])
    np.testing.assert_array_equal(joined, whole)


def test_noise_at_reads_across_blocks_and_blocks_are_uncorrelated():
    np.testing.assert_array_equal(noise_at(0, 140_000, 3)[65_000:67_000], noise_at(65_000, 2000, 3))
    assert np.abs(np.corrcoef(noise_at(0, 65_536, 3), noise_at(65_536, 65_536, 3))[0, 1]) < 0.02


def test_noise_at_has_unit_variance_and_differs_between_seeds():
    one, other = noise_at(0, 100_000, 0), noise_at(0, 100_000, 1)
    assert one.var() == pytest.approx(1.0, abs=0.02)
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.02
