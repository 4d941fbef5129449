from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.audio.files import read_audio
from engine.audio.resampling import resample
from engine.features import augmentations as module
from engine.features.augmentations import AUGMENTATIONS, VOICE_AUGMENTATIONS, augmented_features, degrade
from engine.networks.listener import FEATURES, listen
from engine.units import HOP, SAMPLE_RATE
from tests.halves import forced_halves

SPEECH = Path(__file__).parents[3] / "engine" / "samples" / "speech.flac"
OTHERWISE = range(1, AUGMENTATIONS)


@pytest.fixture(scope="module")
def speech() -> np.ndarray:
    """Two seconds at SAMPLE_RATE."""
    audio = read_audio(SPEECH)
    return resample(audio.mono(), audio.rate, SAMPLE_RATE)[SAMPLE_RATE : 3 * SAMPLE_RATE]


def tone(hertz: float, seconds: float = 1.0) -> np.ndarray:
    """A steady tone with the harmonics of a voice."""
    time_s = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    return (0.1 * sum(np.cos(2 * np.pi * hertz * n * time_s) / n for n in range(1, 20))).astype(np.float32)


def directions(features: np.ndarray) -> np.ndarray:
    relative = features.astype(np.float64) - features.mean(0, dtype=np.float64)
    return relative / np.linalg.norm(relative, axis=1, keepdims=True)


def test_voice_augmentations_are_several_of_all_augmentations():
    assert 1 < VOICE_AUGMENTATIONS <= AUGMENTATIONS


@settings(max_examples=25)
@given(count=st.integers(0, 30_000), augmentation=st.integers(0, AUGMENTATIONS - 1), seed=st.integers(0, 99))
def test_augmented_features_match_the_recording_length_for_every_augmentation(listener, count, augmentation, seed):
    samples = 0.1 * np.random.default_rng(count).standard_normal(count).astype(np.float32)
    features = augmented_features(listener, samples, augmentation, np.random.default_rng(seed))
    assert features.shape == (count // 882 + 1, FEATURES)
    assert features.dtype == np.float16
    assert np.isfinite(features).all()


def test_augmented_features_leave_augmentation_zero_unchanged(listener, speech):
    features = augmented_features(listener, speech, 0, np.random.default_rng(0))
    np.testing.assert_array_equal(features, listen(listener, speech)[: len(features)])


@pytest.mark.parametrize("augmentation", OTHERWISE)
def test_augmented_features_are_deterministic_with_a_seed(listener, speech, augmentation):
    short = speech[:SAMPLE_RATE]
    one, same, other = (augmented_features(listener, short, augmentation, np.random.default_rng(n)) for n in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one.astype(float) - other).mean() > 0.05


def test_augmented_features_in_halves_are_nearly_those_in_single_precision(listener, speech, halves):
    """All but the plain recording, which is encoded exactly everywhere."""
    short = speech[: SAMPLE_RATE // 2]
    for augmentation in range(VOICE_AUGMENTATIONS):
        with forced_halves(False):
            exact = augmented_features(listener, short, augmentation, np.random.default_rng(5)).astype(float)
        found = augmented_features(listener, short, augmentation, np.random.default_rng(5)).astype(float)
        if halves and augmentation:
            assert 0 < np.abs(found - exact).mean() < 0.02 * exact.std()
        else:
            np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("augmentation", OTHERWISE)
def test_augmented_features_keep_the_time(listener, speech, augmentation):
    plain = directions(augmented_features(listener, speech, 0, np.random.default_rng(0)))
    otherwise = directions(augmented_features(listener, speech, augmentation, np.random.default_rng(3)))
    likeness = {
        lag: (plain[10 : len(plain) - 10] * otherwise[10 + lag : len(plain) - 10 + lag]).sum(1).mean()
        for lag in range(-8, 9)
    }
    assert max(likeness, key=likeness.__getitem__) == 0
    assert likeness[0] > 2 * max(likeness[-8], likeness[8])
    assert likeness[0] < 0.98  # and yet it is heard otherwise


@pytest.mark.parametrize("augmentation", [augmentation for augmentation in OTHERWISE if augmentation % 2])
@pytest.mark.parametrize("seed", [0, 1])
def test_augmented_features_shift_odd_augmentations_up(listener, augmentation, seed, monkeypatch):
    monkeypatch.setattr("engine.features.augmentations.degrade", lambda samples, random: samples)
    factor = np.exp(np.random.default_rng(seed).uniform(np.log(1.06), np.log(1.28)))  # the first that is drawn
    otherwise = augmented_features(listener, tone(200.0), augmentation, np.random.default_rng(seed))
    assert_nearer_to(listener, otherwise, 200.0 * factor, 200.0 / factor)


@pytest.mark.parametrize("augmentation", [augmentation for augmentation in OTHERWISE if augmentation % 2 == 0])
@pytest.mark.parametrize("seed", [0, 1])
def test_augmented_features_shift_even_augmentations_down(listener, augmentation, seed, monkeypatch):
    monkeypatch.setattr("engine.features.augmentations.degrade", lambda samples, random: samples)
    factor = np.exp(np.random.default_rng(seed).uniform(np.log(1.06), np.log(1.28)))
    otherwise = augmented_features(listener, tone(200.0), augmentation, np.random.default_rng(seed))
    assert_nearer_to(listener, otherwise, 200.0 / factor, 200.0 * factor)


def assert_nearer_to(listener, features: np.ndarray, right_hertz: float, wrong_hertz: float) -> None:
    inner = slice(10, 40)
    heard = np.median(features[inner].astype(float), 0)
    right, wrong, plain = (
        np.median(listen(listener, tone(hertz))[inner].astype(float), 0) for hertz in (right_hertz, wrong_hertz, 200.0)
    )
    assert np.abs(heard - right).mean() < 0.5 * np.abs(heard - wrong).mean()
    assert np.abs(heard - right).mean() < 0.7 * np.abs(heard - plain).mean()


def test_augmented_features_degrades_only_some_augmentations(listener, speech, monkeypatch):
    degraded = []
    real = augmented_features.__globals__["degrade"]
    monkeypatch.setattr(
        "engine.features.augmentations.degrade", lambda *given: (degraded.append(augmentation), real(*given))[1]
    )
    for augmentation in range(AUGMENTATIONS):
        augmented_features(listener, speech[: SAMPLE_RATE // 2], augmentation, np.random.default_rng(0))
    assert 0 not in degraded
    assert 0 < len(degraded) < AUGMENTATIONS - 1
    assert min(degraded) < VOICE_AUGMENTATIONS  # a voice is learned from one of them too


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
