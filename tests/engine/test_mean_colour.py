import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base import load_base
from engine.content import content_input
from engine.envelope import BANDS, LOW_BANDS, band_centres, measure_envelope, measure_level
from engine.errors import VoiceError
from engine.frames import SAMPLE_RATE
from engine.mean_colour import KnownColours, bands_with_signal, likeliest_colour, load_colours, measure_colour
from engine.pitch import detect_pitch


def everywhere(low: np.ndarray) -> np.ndarray:
    """A colour of the bands below 8 kHz that goes on above them, (BANDS,)."""
    return np.concatenate([low, np.full(BANDS - LOW_BANDS, low[-1])])


def vowel(first_hertz: float, second_hertz: float) -> np.ndarray:
    """The envelope of one vowel of an average speaker, (BANDS,)."""
    hertz = band_centres()
    return everywhere(load_colours().mean) + sum(
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
    found = np.stack([likeliest_colour(everywhere(mean), sounds)[:LOW_BANDS] for mean in speakers + said])
    error = np.square(found - speakers).mean()
    assert error < 0.8 * np.square(said).mean()
    assert error < 0.95 * np.square(speakers - known.mean).mean()


def test_the_mean_of_many_sounds_is_their_colour():
    mean = vowel(700.0, 1200.0)
    np.testing.assert_allclose(likeliest_colour(mean, 1e6), mean, atol=1e-3)
    errors = [np.abs(likeliest_colour(mean, sounds) - mean).mean() for sounds in (0, 1, 10, 100, 1000)]
    assert errors == sorted(errors, reverse=True)


def test_of_no_sounds_the_likeliest_is_the_average_speaker():
    nearer = likeliest_colour(vowel(300.0, 2300.0), 0)[:LOW_BANDS] - load_colours().mean
    assert np.abs(nearer).max() < 0.4 * 2.0


def test_a_held_note_is_one_sound_however_long():
    envelope, voiced = vowel(700.0, 1200.0), np.ones(3000, np.float32)
    short, _ = measure_colour(held(envelope, 100), voiced[:100])
    long, _ = measure_colour(held(envelope, 3000), voiced)
    np.testing.assert_allclose(long.mean, short.mean, atol=1e-4)
    np.testing.assert_allclose(long.mean, likeliest_colour(measure_level(held(envelope)).mean, 1.0), atol=1e-4)
    hiss, _ = measure_colour(held(envelope, 3000), 0 * voiced)  # no voice holds it: 30 s of ten sounds a second
    raw = measure_level(held(envelope, 3000))
    assert hiss.nepers == long.nepers == raw.nepers
    np.testing.assert_allclose(hiss.mean, likeliest_colour(raw.mean, 300.0), atol=1e-4)


def test_notes_on_the_same_vowel_are_one_sound_and_on_others_as_many():
    voicing = np.tile(np.repeat(np.float32([1.0, 0.0]), (95, 5)), 4)  # four notes of a second, a breath after each
    first, second = vowel(700.0, 1200.0), vowel(300.0, 2300.0)

    def sounds(*vowels: np.ndarray) -> float:
        """How many were counted: the number that gives the colour that was measured."""
        envelope = np.concatenate([held(one, 100) for one in vowels])
        found, raw = measure_colour(envelope, voicing)[0].mean, measure_level(envelope).mean
        counts = np.linspace(0.5, 8.0, 151)
        return float(counts[np.argmin([np.abs(likeliest_colour(raw, count) - found).sum() for count in counts])])

    assert sounds(first, first, first, first) == pytest.approx(1.0, abs=0.6)
    assert sounds(first, second, first, second) == pytest.approx(2.0, abs=0.9)
    louder = first + 0.5
    assert sounds(first, louder, first, louder) == pytest.approx(sounds(first, first, first, first), abs=0.2)


def test_held_vowels_are_heard_as_what_they_are():
    def content(envelope: np.ndarray, mean: np.ndarray) -> torch.Tensor:
        level = measure_level(envelope)
        with torch.inference_mode():
            heard = content_input(torch.from_numpy(envelope)[None], level.nepers, torch.from_numpy(mean)[None])
            return load_base().content(heard)[0, 150]

    vowels = [held(vowel(*resonances)) for resonances in ((300.0, 2300.0), (700.0, 1200.0), (320.0, 800.0))]
    by_mean = [content(one, measure_level(one).mean) for one in vowels]
    by_colour = [content(one, measure_colour(one, np.ones(len(one), np.float32))[0].mean) for one in vowels]
    for first, second in ((0, 1), (0, 2), (1, 2)):
        torch.testing.assert_close(by_mean[first], by_mean[second], atol=0.05, rtol=0)  # all the same: nothing is left
        assert (by_colour[first] - by_colour[second]).abs().mean() > 0.4


def test_nothing_is_told_of_bands_without_signal():
    mean = vowel(700.0, 1200.0)
    narrow = likeliest_colour(mean, 3, 40)
    np.testing.assert_allclose(narrow[40:], mean[40:], atol=1e-6)
    assert np.abs(narrow[:40] - mean[:40]).max() > 0.1


def test_there_is_no_step_at_the_end_of_the_low_bands():
    mean = vowel(700.0, 1200.0)
    moved = likeliest_colour(mean, 3) - mean
    np.testing.assert_allclose(moved[LOW_BANDS:], moved[LOW_BANDS - 1], atol=1e-5)


@settings(max_examples=20, deadline=None)
@given(frames=st.integers(1, 60), gain=st.floats(-6.0, 3.0), seed=st.integers(0, 9))
def test_the_colour_does_not_depend_on_the_level(frames, gain, seed):
    random = np.random.default_rng(seed)
    envelope = random.normal(-2, 1, (frames, BANDS)).astype(np.float32)
    voicing = random.uniform(size=frames).astype(np.float32)
    (one, bands), (other, same) = (
        measure_colour(envelope, voicing),
        measure_colour(envelope + np.float32(gain), voicing),
    )
    assert bands == same
    assert one.mean.dtype == np.float32
    np.testing.assert_allclose(one.mean, other.mean, atol=5e-3)


@pytest.mark.parametrize("hertz", [8000.0, 12_000.0])
def test_bands_above_the_bandwidth_hold_no_signal(hertz):
    spectrum = np.fft.rfft(np.random.default_rng(0).standard_normal(2 * SAMPLE_RATE))
    spectrum[np.fft.rfftfreq(2 * SAMPLE_RATE, 1 / SAMPLE_RATE) > hertz] = 0.0
    samples = 0.1 * np.fft.irfft(spectrum).astype(np.float32)
    envelope = measure_envelope(samples, detect_pitch(samples, SAMPLE_RATE))
    bands = bands_with_signal(envelope, measure_level(envelope))
    assert band_centres()[bands - 1] == pytest.approx(hertz, rel=0.06)


def test_a_full_band_recording_has_all_bands_and_silence_the_low_ones():
    level = measure_level(np.zeros((10, BANDS), np.float32))
    assert bands_with_signal(np.zeros((10, BANDS), np.float32), level) == BANDS
    assert bands_with_signal(np.full((10, BANDS), -14.0, np.float32), level) == LOW_BANDS


def test_what_is_known_is_a_distribution():
    known = load_colours()
    assert isinstance(known, KnownColours)
    assert known.mean.shape == (LOW_BANDS,)
    for matrix in (known.between, known.within):
        np.testing.assert_allclose(matrix, matrix.T, atol=2e-3)
        assert np.linalg.eigvalsh(matrix).min() > 0


def test_colours_that_are_missing_are_one_sentence(tmp_path):
    with pytest.raises(VoiceError, match="install Timbre Studio again"):
        load_colours(tmp_path / "colour.safetensors")
