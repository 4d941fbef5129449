import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.pitch_refinement import refine_pitch

RATE, FRAMES = 16_000, 100


def voice_of(semitones: np.ndarray, noise: float = 1e-3) -> np.ndarray:
    """A vowel on a curve of MIDI numbers with a value for each sample, float32 (samples,)."""
    hertz = 440 * 2 ** ((semitones - 69) / 12)
    phase = np.cumsum(hertz) / RATE
    numbers = range(1, int(6000 / hertz.min()) + 1)
    gains = {
        n: sum(1 / (1 + ((n * hertz - centre) / 100) ** 2) for centre in (600, 1200, 2600)) + 0.02 for n in numbers
    }
    tone = sum(np.where(n * hertz < 7500, gains[n], 0) * np.cos(2 * np.pi * n * phase) for n in numbers)
    return (tone / np.abs(tone).max() + noise * np.random.default_rng(0).standard_normal(len(tone))).astype(np.float32)


def curve(note: float, hertz: float = 5.5, depth: float = 0.5, seconds: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """A vibrato by sample and by frame, in MIDI numbers."""
    by_sample = note + depth * np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE)
    return by_sample, by_sample[:: RATE // FRAMES]


def hertz_of(semitones: np.ndarray) -> np.ndarray:
    return (440 * 2 ** ((semitones - 69) / 12)).astype(np.float32)


def cents(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return 1200 * np.log2(one / other)[10:-10]


@settings(max_examples=15)
@given(note=st.floats(42, 84), rate=st.floats(4, 7), depth=st.floats(0.1, 1.0))
def test_refine_pitch_restores_a_flattened_vibrato(note, rate, depth):
    by_sample, wanted = curve(note, rate, depth)
    flattened = hertz_of(note + 0.7 * (wanted - note))
    found = refine_pitch(voice_of(by_sample), RATE, flattened, np.ones(len(wanted), np.float32), FRAMES)
    assert found.dtype == np.float32
    assert np.abs(cents(found, hertz_of(wanted))).mean() < 2.5 + 0.05 * 100 * depth


def test_refine_pitch_keeps_a_correct_pitch_and_is_stable_when_repeated():
    wanted = np.full(200, 57.0)
    voice, voicing = voice_of(np.full(2 * RATE, 57.0)), np.ones(200, np.float32)
    once = refine_pitch(voice, RATE, hertz_of(wanted), voicing, FRAMES)
    again = refine_pitch(voice, RATE, once, voicing, FRAMES)
    assert np.abs(cents(once, hertz_of(wanted))).max() < 1
    assert np.abs(cents(again, once)).max() < 0.2


def test_refine_pitch_keeps_unvoiced_frames_and_stays_near_an_unrelated_pitch():
    by_sample, wanted = curve(57.0)
    voice = voice_of(by_sample)
    flat = np.full(len(wanted), 220.0, np.float32)
    assert np.array_equal(refine_pitch(voice, RATE, flat, np.full(len(wanted), 0.3, np.float32), FRAMES), flat)
    beside = flat * 1.4  # no multiple of anything that is there
    found = refine_pitch(voice, RATE, beside, np.ones(len(flat), np.float32), FRAMES)
    assert np.abs(np.log2(found / beside)).max() < 0.2


@pytest.mark.parametrize("samples", [0, 1, 100, 16_000])
def test_refine_pitch_leaves_silence_of_any_length_unchanged(samples):
    frames = samples // 160 + 1
    hertz = np.full(frames, 150.0, np.float32)
    found = refine_pitch(np.zeros(samples, np.float32), RATE, hertz, np.ones(frames, np.float32), FRAMES)
    np.testing.assert_allclose(found, hertz)


def test_refine_pitch_corrects_more_with_rising_voicing():
    by_sample, wanted = curve(60.0)
    voice, flat = voice_of(by_sample), np.full(len(wanted), hertz_of(np.array([60.0]))[0])
    moved = [
        np.abs(cents(refine_pitch(voice, RATE, flat, np.full(len(flat), sure, np.float32), FRAMES), flat)).mean()
        for sure in (0.4, 0.5, 0.6, 0.7, 1.0)
    ]
    assert moved[0] == 0
    assert moved == sorted(moved)
    assert moved[-1] == pytest.approx(moved[-2], rel=0.01)
