import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.envelope import BANDS, FLOOR, band_centres
from engine.features.feature_mean import count_sounds, measure_feature_mean
from engine.networks.content_encoder import ContentEncoder
from engine.networks.listener import FEATURES


def vowel(first_hertz: float, second_hertz: float) -> np.ndarray:
    """The envelope of one vowel, (BANDS,)."""
    hertz = band_centres()
    return -2.0 + sum(
        2.0 * np.exp(-(((hertz - resonance) / (100.0 + 0.2 * resonance)) ** 2))
        for resonance in (first_hertz, second_hertz)
    )


def held(envelope: np.ndarray, frames: int = 300) -> np.ndarray:
    return np.tile(envelope.astype(np.float32), (frames, 1))


def moving(frames: int, seed: int = 0) -> np.ndarray:
    """An envelope that is never the same for long, as in speech."""
    walk = np.random.default_rng(seed).normal(-2, 1, (frames, BANDS)).cumsum(0).astype(np.float32) / 4
    return walk - walk.mean(1, keepdims=True)


# ---- how many sounds there are


def test_count_sounds_finds_ten_per_second_in_speech():
    assert count_sounds(moving(300), np.ones(300, np.float32), 0.0) == pytest.approx(30, abs=1)
    steady = held(vowel(700.0, 1200.0), 300)
    assert count_sounds(steady, np.zeros(300, np.float32), 0.0) == pytest.approx(30, abs=1)  # unvoiced: no note


@pytest.mark.parametrize("frames", [12, 100, 3000, 7000])
def test_count_sounds_counts_a_held_note_once_at_any_length(frames):
    assert count_sounds(held(vowel(700.0, 1200.0), frames), np.ones(frames, np.float32), 0.0) == 1.0


def test_count_sounds_counts_different_vowels_and_not_repeated_notes():
    voicing = np.tile(np.repeat(np.float32([1.0, 0.0]), (170, 30)), 4)  # four notes of two seconds, a breath after each
    first, second, third = vowel(700.0, 1200.0), vowel(300.0, 2300.0), vowel(320.0, 800.0)

    def sounds(*vowels: np.ndarray) -> float:
        return count_sounds(np.concatenate([held(one, 200) for one in vowels]), voicing, 0.0)

    same = sounds(first, first, first, first)
    assert 1.0 < same < 2.0  # the breaths are something else
    assert sounds(first, first + 0.5, first, first - 0.5) == pytest.approx(same, rel=0.05)  # however loud
    assert 1.5 * same < sounds(first, second, first, second) < 3.0 * same
    assert 2.0 * same < sounds(first, second, third, first) < 4.5 * same
    assert sounds(first, second, third, first) > sounds(first, second, first, second)


def test_count_sounds_weights_a_long_sound_more():
    voicing = np.repeat(np.float32([1.0, 0.0, 1.0]), (500, 40, 100))
    envelope = np.concatenate([held(vowel(700.0, 1200.0), 520), held(vowel(300.0, 2300.0), 120)])
    assert count_sounds(envelope, voicing, 0.0) < 2.0


def test_count_sounds_gives_the_same_count_in_small_blocks(monkeypatch):
    random = np.random.default_rng(0)
    notes = [vowel(*random.uniform((250, 700), (800, 3000))) for _ in range(40)]
    envelope = np.concatenate([held(note, 60) for note in notes])
    voicing = np.tile(np.repeat(np.float32([1.0, 0.0]), (50, 10)), 40)
    whole = count_sounds(envelope, voicing, 0.0)
    monkeypatch.setattr("engine.features.feature_mean._BLOCK_FRAMES", 70)
    assert count_sounds(envelope, voicing, 0.0) == whole


@pytest.mark.parametrize("frames", [1, 2, 50])
def test_count_sounds_returns_zero_if_nothing_is_loud_enough(frames):
    assert count_sounds(np.full((frames, BANDS), FLOOR, np.float32), np.zeros(frames, np.float32), 0.0) == 0.0


# ---- the mean


@pytest.fixture(scope="module")
def encoder() -> ContentEncoder:
    """One that knows how means vary, which is all that is asked of it here."""
    torch.manual_seed(0)
    encoder = ContentEncoder().eval().requires_grad_(False)
    encoder.usual.copy_(torch.randn(FEATURES))
    encoder.between.copy_(torch.rand(FEATURES) + 0.5)
    encoder.within.copy_(4 * torch.rand(FEATURES) + 0.5)
    return encoder


def features(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, FEATURES)).astype(np.float16)


def test_measure_feature_mean_equals_likeliest_mean_for_one_sound_more_than_counted(encoder):
    envelope, voicing, heard = moving(200), np.ones(200, np.float32), features(100)
    found = measure_feature_mean(encoder, heard, envelope, voicing, -20.0)
    plain = torch.from_numpy(heard.astype(np.float64).mean(0)).float()
    expected = encoder.likeliest_mean(plain, count_sounds(envelope, voicing, -20.0) + 1.0)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert found.shape == (FEATURES,)


def test_measure_feature_mean_of_a_single_vowel_lies_closer_to_the_usual_mean(encoder):
    heard = (features(1) + 3.0).repeat(150, 0)
    note = measure_feature_mean(encoder, heard, held(vowel(700.0, 1200.0)), np.ones(300, np.float32), 0.0)
    speech = measure_feature_mean(encoder, heard, moving(300), np.ones(300, np.float32), -9.0)
    plain = torch.from_numpy(heard[0].astype(np.float32))
    away = [float((mean - plain).abs().mean() / (encoder.usual - plain).abs().mean()) for mean in (speech, note)]
    assert away[0] < 0.1
    assert 0.3 < away[1] < 0.7


def test_measure_feature_mean_uses_only_loud_frames(encoder):
    envelope = np.concatenate([moving(100), np.full((100, BANDS), FLOOR, np.float32)])
    voicing, heard = np.ones(200, np.float32), features(100)
    other = heard.copy()
    other[50:] = 100.0
    means = [measure_feature_mean(encoder, one, envelope, voicing, -5.0) for one in (heard, other)]
    torch.testing.assert_close(means[0], means[1], atol=0, rtol=0)
    other[40:50] = 100.0
    assert (measure_feature_mean(encoder, other, envelope, voicing, -5.0) - means[0]).abs().min() > 1.0


def test_measure_feature_mean_counts_all_frames_as_one_sound_if_none_is_loud(encoder):
    envelope, heard = np.full((20, BANDS), FLOOR, np.float32), features(10)
    found = measure_feature_mean(encoder, heard, envelope, np.zeros(20, np.float32), 0.0)
    expected = encoder.likeliest_mean(torch.from_numpy(heard.astype(np.float32).mean(0)), 1.0)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


@settings(max_examples=25)
@given(frames=st.integers(1, 60), more=st.integers(-3, 3), seed=st.integers(0, 9))
def test_measure_feature_mean_accepts_a_few_features_too_many_or_too_few(encoder, frames, more, seed):
    random = np.random.default_rng(seed)
    envelope = random.normal(-2, 1, (frames, BANDS)).astype(np.float32)
    heard = features(max(1, (frames + 1) // 2 + more), seed)
    found = measure_feature_mean(encoder, heard, envelope, random.random(frames).astype(np.float32), -2.0)
    assert found.shape == (FEATURES,)
    assert torch.isfinite(found).all()


def test_measure_feature_mean_does_not_overflow_in_half_precision(encoder):
    heard = np.full((5000, FEATURES), 500.0, np.float16)
    found = measure_feature_mean(encoder, heard, moving(10_000), np.zeros(10_000, np.float32), -40.0)
    torch.testing.assert_close(found, torch.full((FEATURES,), 500.0), atol=10.0, rtol=0)
