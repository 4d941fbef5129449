import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base import load_base, save_weights
from engine.content import content_input
from engine.envelope import BANDS, FLOOR, LOW_BANDS, SILENT, band_centres
from engine.errors import VoiceError
from engine.mean_colour import KnownColours, count_sounds, likeliest_colour, load_colours, measure_colour

TOLD = LOW_BANDS - 3  # bands from the lowest of which anything is told


def everywhere(low: np.ndarray) -> np.ndarray:
    """A colour of the lowest bands that goes on above them, (BANDS,)."""
    return np.concatenate([low, np.full(BANDS - len(low), low[-1])])


def vowel(first_hertz: float, second_hertz: float) -> np.ndarray:
    """The envelope of one vowel of an average speaker, (BANDS,)."""
    hertz = band_centres()
    return everywhere(load_colours().mean[:TOLD]) + sum(
        2.0 * np.exp(-(((hertz - resonance) / (100.0 + 0.2 * resonance)) ** 2))
        for resonance in (first_hertz, second_hertz)
    )


def held(envelope: np.ndarray, frames: int = 300) -> np.ndarray:
    return np.tile(envelope.astype(np.float32), (frames, 1))


@pytest.mark.parametrize("sounds", [1, 3, 10, 30])
def test_the_colour_of_few_sounds_is_told_better_than_by_their_mean(sounds):
    known, random = load_colours(), np.random.default_rng(sounds)
    speakers = random.multivariate_normal(known.mean, known.between, 100, check_valid="ignore")
    said = random.multivariate_normal(np.zeros(LOW_BANDS), known.within, (100, sounds), check_valid="ignore").mean(1)
    found = np.stack([likeliest_colour(everywhere(mean), sounds)[:TOLD] for mean in speakers + said])
    error = np.square(found - speakers[:, :TOLD]).mean()
    assert error < 0.8 * np.square(said).mean()
    assert error < 0.95 * np.square(speakers - known.mean).mean()


def test_the_mean_of_many_sounds_is_their_colour():
    mean = vowel(700.0, 1200.0)
    np.testing.assert_allclose(likeliest_colour(mean, 1e6), mean, atol=1e-3)
    errors = [np.abs(likeliest_colour(mean, sounds) - mean).mean() for sounds in (0, 1, 10, 100, 1000)]
    assert errors == sorted(errors, reverse=True)


def test_of_few_sounds_it_is_nearer_to_the_average_speaker():
    mean, average = vowel(300.0, 2300.0), everywhere(load_colours().mean[:TOLD])
    away = [float(np.abs(likeliest_colour(mean, sounds) - average).mean()) for sounds in (0, 1, 10, 100)]
    assert away == sorted(away)
    assert away[0] < 0.4 * np.abs(mean - average).mean()


def test_the_average_speaker_is_left_alone():
    average = everywhere(load_colours().mean[:TOLD])
    np.testing.assert_allclose(likeliest_colour(average, 1), average, atol=1e-4)


def test_speech_has_ten_sounds_in_a_second():
    moving = np.random.default_rng(0).normal(-2, 1, (300, BANDS)).cumsum(0).astype(np.float32) / 4
    moving -= moving.mean(1, keepdims=True)
    assert count_sounds(moving, np.ones(300, np.float32), 0.0) == pytest.approx(30, abs=1)
    steady = held(vowel(700.0, 1200.0), 300)
    assert count_sounds(steady, np.zeros(300, np.float32), 0.0) == pytest.approx(30, abs=1)  # unvoiced: no note


@pytest.mark.parametrize("frames", [12, 100, 3000, 7000])
def test_a_held_note_is_one_sound_however_long(frames):
    assert count_sounds(held(vowel(700.0, 1200.0), frames), np.ones(frames, np.float32), 0.0) == 1.0


def test_notes_on_the_same_vowel_are_one_sound_and_on_others_as_many():
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


def test_a_long_sound_weighs_more():
    voicing = np.repeat(np.float32([1.0, 0.0, 1.0]), (500, 40, 100))
    envelope = np.concatenate([held(vowel(700.0, 1200.0), 520), held(vowel(300.0, 2300.0), 120)])
    assert count_sounds(envelope, voicing, 0.0) < 2.0


def test_many_notes_in_a_long_recording_are_counted_in_blocks(monkeypatch):
    random = np.random.default_rng(0)
    notes = [vowel(*random.uniform((250, 700), (800, 3000))) for _ in range(40)]
    envelope = np.concatenate([held(note, 60) for note in notes])
    voicing = np.tile(np.repeat(np.float32([1.0, 0.0]), (50, 10)), 40)
    whole = count_sounds(envelope, voicing, 0.0)
    monkeypatch.setattr("engine.mean_colour._BLOCK_FRAMES", 70)
    assert count_sounds(envelope, voicing, 0.0) == whole


def test_held_vowels_are_heard_as_what_they_are():
    def content(envelope: np.ndarray) -> torch.Tensor:
        level = measure_colour(envelope, np.ones(len(envelope), np.float32))
        with torch.inference_mode():
            heard = content_input(torch.from_numpy(envelope)[None], level.nepers, torch.from_numpy(level.mean)[None])
            return load_base().content(heard)[0, 150]

    # relative to their own means all three would be nothing but zeros
    first, second, third = (
        content(held(vowel(*resonances))) for resonances in ((300.0, 2300.0), (700.0, 1200.0), (320.0, 800.0))
    )
    for one, other in ((first, second), (first, third), (second, third)):
        assert (one - other).abs().mean() > 0.35


@pytest.mark.parametrize("dead", [slice(0, 10), slice(60, BANDS), slice(0, BANDS)])
def test_nothing_is_told_of_bands_without_signal_nor_by_them(dead):
    """A telephone has neither the lowest nor the highest bands."""
    average = everywhere(load_colours().mean[:TOLD])
    average[dead] = SILENT
    np.testing.assert_allclose(likeliest_colour(average, 3), average, atol=1e-4)
    vowels = np.where(average > SILENT, vowel(700.0, 1200.0), SILENT)
    moved = likeliest_colour(vowels, 3) - vowels
    assert not moved[dead].any()
    alive = np.delete(moved, np.arange(BANDS)[dead])
    assert not alive.size or np.abs(alive).max() > 0.1


def test_there_is_no_step_at_the_end_of_the_low_bands():
    mean = vowel(700.0, 1200.0)
    moved = likeliest_colour(mean, 3) - mean
    np.testing.assert_allclose(moved[TOLD:], moved[TOLD - 1], atol=1e-5)


@settings(max_examples=20, deadline=None)
@given(frames=st.integers(1, 60), gain=st.floats(-6.0, 3.0), seed=st.integers(0, 9))
def test_the_colour_does_not_depend_on_the_level(frames, gain, seed):
    random = np.random.default_rng(seed)
    envelope = random.normal(-2, 1, (frames, BANDS)).astype(np.float32)
    voicing = random.uniform(size=frames).astype(np.float32)
    one, other = measure_colour(envelope, voicing), measure_colour(envelope + np.float32(gain), voicing)
    assert one.mean.dtype == np.float32
    np.testing.assert_allclose(one.mean, other.mean, atol=5e-3)


@pytest.mark.parametrize("level", [FLOOR, -3.0])
@pytest.mark.parametrize("frames", [1, 2, 50])
def test_silence_and_single_frames_have_a_colour(frames, level):
    found = measure_colour(np.full((frames, BANDS), level, np.float32), np.zeros(frames, np.float32))
    assert np.isfinite(found.mean).all()
    assert found.mean.shape == (BANDS,)


def test_what_is_known_is_a_distribution():
    known = load_colours()
    assert isinstance(known, KnownColours)
    assert known.mean.shape == (LOW_BANDS,)
    for matrix in (known.between, known.within):
        np.testing.assert_allclose(matrix, matrix.T, atol=2e-3)
        assert np.linalg.eigvalsh(matrix).min() > 0


def test_colours_that_are_missing_or_of_another_shape_are_one_sentence(tmp_path):
    with pytest.raises(VoiceError, match="install Timbre Studio again"):
        load_colours(tmp_path / "colour.safetensors")
    for weights in ({"mean": torch.zeros(LOW_BANDS)}, dict.fromkeys(("mean", "between", "within"), torch.zeros(3))):
        save_weights(tmp_path / f"{len(weights)}.safetensors", weights, {})
        with pytest.raises(VoiceError, match="another version of the engine"):
            load_colours(tmp_path / f"{len(weights)}.safetensors")
