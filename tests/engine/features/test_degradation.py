import numpy as np
import pytest

from engine.features import degradation as module
from engine.features.degradation import degrade
from engine.units import HOP, SAMPLE_RATE


def burst_at(second: float) -> np.ndarray:
    samples = np.zeros(SAMPLE_RATE, np.float32)
    first = int(second * SAMPLE_RATE)
    samples[first : first + 2000] = np.random.default_rng(0).standard_normal(2000).astype(np.float32) * 0.1
    return samples


@pytest.mark.parametrize("seed", range(12))
def test_degrade_keeps_the_length_of_a_recording(sing, seed):
    samples = sing(1.3)
    disturbed = degrade(samples, np.random.default_rng(seed))
    assert disturbed.shape == samples.shape
    assert disturbed.dtype == np.float32
    assert np.isfinite(disturbed).all()


@pytest.mark.parametrize("seed", range(12))
def test_degrade_keeps_the_onset_of_the_recording(seed):
    samples = burst_at(0.4)
    power = np.square(degrade(samples, np.random.default_rng(seed))).reshape(-1, 147).mean(1)  # 3.3 ms each
    before = np.median(power[:120])
    assert (power[:118] < 20 * before + 1e-8).all()
    assert power[120:126].max() > 3 * before + 1e-6


@pytest.mark.parametrize("seed", range(12))
def test_degrade_always_changes_the_recording_and_repeats_with_a_seed(sing, seed):
    samples = sing(0.7)
    assert np.abs(degrade(samples, np.random.default_rng(seed)) - samples).max() > 1e-3
    again = degrade(samples, np.random.default_rng(seed))
    np.testing.assert_array_equal(degrade(samples, np.random.default_rng(seed)), again)


@pytest.mark.parametrize("samples", [0, 1, 2, 440])
@pytest.mark.parametrize("seed", range(4))
def test_degrade_leaves_less_than_a_frame_unchanged(samples, seed):
    short = 0.1 * np.random.default_rng(0).standard_normal(samples).astype(np.float32)
    np.testing.assert_array_equal(degrade(short, np.random.default_rng(seed)), short, strict=True)


@pytest.mark.parametrize("seed", range(12))
def test_degrade_accepts_a_single_frame_and_digital_silence(seed):
    for samples in (burst_at(0.0)[:HOP], np.zeros(3 * HOP, np.float32)):
        disturbed = degrade(samples, np.random.default_rng(seed))
        assert disturbed.shape == samples.shape
        assert np.isfinite(disturbed).all()


def test_in_room_rings_on_after_the_sound_and_decays():
    samples = burst_at(0.2)
    tails = [module._in_room(samples, np.random.default_rng(seed)) for seed in range(20)]
    before, after = int(0.2 * SAMPLE_RATE), int(0.25 * SAMPLE_RATE) + 2000
    for heard in tails:
        assert not np.abs(heard[: before - 1]).max() > 1e-6
        first, second = (np.square(part).sum() for part in np.array_split(heard[after:], 2))
        assert second < first
    assert max(np.square(heard[after:]).sum() for heard in tails) > 1e-3


@pytest.mark.parametrize("seed", range(5))
def test_background_lies_3_to_37_db_below_the_voice(sing, seed):
    samples = sing(1.0)
    noise = module._background(samples, np.random.default_rng(seed))
    below_db = 20 * np.log10(samples.std() / noise.std())
    assert 3 < below_db < 37


def test_through_line_attenuates_low_and_high_frequencies():
    noise = np.random.default_rng(0).standard_normal(SAMPLE_RATE)
    for seed in range(5):
        power = np.abs(np.fft.rfft(module._through_line(noise, np.random.default_rng(seed)))) ** 2
        assert power[600:3000].mean() > 10 * power[:30].mean()
        assert power[600:3000].mean() > 10 * power[15_000:].mean()
