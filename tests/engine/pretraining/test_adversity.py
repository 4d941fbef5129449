import numpy as np
import pytest

from engine.base import load_base
from engine.envelope import measure_envelope
from engine.frames import HOP, SAMPLE_RATE
from engine.pitch import detect_pitch
from engine.pretraining import adversity as module
from engine.pretraining.adversity import disturb, sing_high


def burst_at(second: float) -> np.ndarray:
    samples = np.zeros(SAMPLE_RATE, np.float32)
    first = int(second * SAMPLE_RATE)
    samples[first : first + 2000] = np.random.default_rng(0).standard_normal(2000).astype(np.float32) * 0.1
    return samples


@pytest.mark.parametrize("seed", range(12))
def test_a_disturbed_recording_is_as_long_as_it_was(sing, seed):
    samples = sing(1.3)
    disturbed = disturb(samples, np.random.default_rng(seed))
    assert disturbed.shape == samples.shape
    assert disturbed.dtype == np.float32
    assert np.isfinite(disturbed).all()


@pytest.mark.parametrize("seed", range(12))
def test_it_begins_when_the_recording_does(seed):
    samples = burst_at(0.4)
    power = np.square(disturb(samples, np.random.default_rng(seed))).reshape(-1, 147).mean(1)  # 3.3 ms each
    before = np.median(power[:120])
    assert (power[:118] < 20 * before + 1e-8).all()
    assert power[120:126].max() > 3 * before + 1e-6


@pytest.mark.parametrize("seed", range(12))
def test_it_is_never_left_as_it_was(sing, seed):
    samples = sing(0.7)
    assert np.abs(disturb(samples, np.random.default_rng(seed)) - samples).max() > 1e-3
    again = disturb(samples, np.random.default_rng(seed))
    np.testing.assert_array_equal(disturb(samples, np.random.default_rng(seed)), again)


def test_a_room_goes_on_after_the_sound_and_falls_silent():
    samples = burst_at(0.2)
    tails = [module._in_room(samples, np.random.default_rng(seed)) for seed in range(20)]
    before, after = int(0.2 * SAMPLE_RATE), int(0.25 * SAMPLE_RATE) + 2000
    for heard in tails:
        assert not np.abs(heard[: before - 1]).max() > 1e-6
        first, second = (np.square(part).sum() for part in np.array_split(heard[after:], 2))
        assert second < first
    assert max(np.square(heard[after:]).sum() for heard in tails) > 1e-3


@pytest.mark.parametrize("seed", range(5))
def test_a_background_is_5_to_35_db_below_the_voice(sing, seed):
    samples = sing(1.0)
    noise = module._background(samples, np.random.default_rng(seed))
    below_db = 20 * np.log10(samples.std() / noise.std())
    assert 3 < below_db < 37


def test_a_line_takes_away_what_is_below_and_above_it():
    noise = np.random.default_rng(0).standard_normal(SAMPLE_RATE)
    for seed in range(5):
        power = np.abs(np.fft.rfft(module._through_line(noise, np.random.default_rng(seed)))) ** 2
        assert power[600:3000].mean() > 10 * power[:30].mean()
        assert power[600:3000].mean() > 10 * power[15_000:].mean()


def test_singing_is_high_and_says_what_the_recording_says(sing):
    samples = sing(2.0, hertz=120.0)
    pitch = detect_pitch(samples, SAMPLE_RATE)
    envelope = measure_envelope(samples, pitch)
    for seed in range(4):
        sung, position = sing_high(envelope, pitch, load_base(), np.random.default_rng(seed))
        assert len(sung) // HOP in (len(position) - 1, len(position))
        assert position[0] == 0
        assert (np.diff(position) > 0).all()
        assert position[-1] <= len(envelope) - 1
        found = detect_pitch(sung, SAMPLE_RATE)
        assert np.median(found.hertz[found.voiced]) > 195
        again = measure_envelope(sung, found)[20 : len(position) - 20]
        spoken = envelope[position.astype(int)][20:-20][: len(again)]
        # of harmonics so far apart the envelope is known from 500 Hz or so on average only
        assert np.abs(again.mean(0) - spoken.mean(0))[30:70].mean() < 1.0


def test_notes_stay_within_what_is_sung():
    for seed in range(20):
        hertz = module._notes(700, np.random.default_rng(seed))
        assert hertz.shape == (700,)
        assert hertz.min() > 200 * 2 ** (-0.8 / 12) - 1e-3
        assert hertz.max() < 1050 * 2 ** (0.8 / 12) + 1e-3
