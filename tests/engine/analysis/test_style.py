import numpy as np
import pytest

from engine.analysis.pitch import Pitch
from engine.analysis.style import StyleEvidence, find_onsets, measure_style, weigh_style


def curves(seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Time of each frame, and a loudness that is steady."""
    time_s = np.arange(round(seconds * 100) + 1) / 100
    return time_s, np.full(len(time_s), -20.0, np.float32)


def pitch(semitones: np.ndarray, voiced: np.ndarray) -> Pitch:
    hertz = 440.0 * 2.0 ** ((semitones - 69.0) / 12.0)
    return Pitch(hertz.astype(np.float32), voiced.astype(np.float32))


def syllables(starts_s: np.ndarray, seconds: float) -> tuple[Pitch, np.ndarray]:
    """Syllables like those of speech: a noisy consonant, 100 ms of gliding vowel, near silence up to the next."""
    time_s, loudness_db = curves(seconds)
    since_s = time_s - starts_s[np.maximum(np.searchsorted(starts_s, time_s, side="right") - 1, 0)]
    vowel = (since_s >= 0.03) & (since_s < 0.13)
    loudness_db[:] = np.where(vowel, -20.0, np.where((since_s >= 0) & (since_s < 0.03), -35.0, -50.0))
    return pitch(52.0 - 30.0 * since_s, vowel), loudness_db


def test_measure_style_returns_melodic_for_held_notes_with_vibrato():
    time_s, loudness_db = curves(8)
    notes = 60.0 + 2.0 * np.floor(time_s / 0.7) % 7 + 0.6 * np.sin(2 * np.pi * 5.5 * time_s)
    assert measure_style(pitch(notes, np.ones_like(time_s)), loudness_db) == "melodic"


def test_weigh_style_counts_a_steady_tone_as_fully_sustained():
    time_s, loudness_db = curves(2)
    evidence = weigh_style(pitch(np.full_like(time_s, 57.0), np.ones_like(time_s)), loudness_db)
    assert evidence == StyleEvidence(1.0, 1.0, 0.0, 0.0, 0.0)
    assert evidence.style == "melodic"


def test_weigh_style_does_not_count_a_glide_as_sustained():
    time_s, loudness_db = curves(2)
    assert weigh_style(pitch(45.0 + 8.0 * time_s, np.ones_like(time_s)), loudness_db).sustained_share == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_measure_style_returns_rhythmic_for_syllables_on_a_beat(seed):
    random = np.random.default_rng(seed)
    steps = random.choice([1, 1, 1, 2], 60)
    starts_s = np.cumsum(steps) * 0.167 + random.normal(0, 0.010, 60)
    assert measure_style(*syllables(starts_s, starts_s[-1])) == "rhythmic"


@pytest.mark.parametrize("seed", range(5))
def test_measure_style_returns_spoken_for_syllables_off_the_beat(seed):
    random = np.random.default_rng(seed)
    starts_s = np.cumsum(random.uniform(0.16, 0.45, 60))
    assert measure_style(*syllables(starts_s, starts_s[-1])) == "spoken"


def test_measure_style_returns_spoken_for_a_few_regular_syllables():
    assert measure_style(*syllables(np.arange(7) * 0.2, 1.4)) == "spoken"


def test_measure_style_returns_spoken_for_silence_and_noise():
    time_s, loudness_db = curves(3)
    unvoiced = pitch(np.full_like(time_s, 57.0), np.zeros_like(time_s))
    assert measure_style(unvoiced, loudness_db) == "spoken"
    assert measure_style(unvoiced, np.full_like(loudness_db, -120.0)) == "spoken"


def test_measure_style_ignores_long_pauses():
    time_s, loudness_db = curves(20)
    sounds = time_s < 4
    loudness_db[~sounds] = -120.0
    assert measure_style(pitch(np.full_like(time_s, 57.0), sounds), loudness_db) == "melodic"


def test_measure_style_accepts_a_single_frame():
    frame = pitch(np.array([57.0]), np.array([1.0]))
    assert measure_style(frame, np.array([-20.0], np.float32)) in ("melodic", "spoken")


def test_find_onsets_finds_the_starts_of_syllables():
    starts_s = np.array([0.5, 1.0, 1.3, 2.0])
    onsets, rises_db = find_onsets(syllables(starts_s, 3.0)[1])
    np.testing.assert_allclose(onsets / 100, starts_s + 0.02, atol=0.025)
    assert (rises_db > 10.0).all()


def test_measure_style_refuses_curves_of_different_lengths():
    with pytest.raises(ValueError, match="2 frames"):
        measure_style(pitch(np.zeros(2), np.zeros(2)), np.zeros(3, np.float32))
