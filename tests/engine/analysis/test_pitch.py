import numpy as np
import pytest

from engine.analysis.pitch import DEFAULT_HERTZ, HIGHEST_HERTZ, LOWEST_HERTZ, Pitch, detect_pitch
from engine.units import SAMPLE_RATE, frame_count, hertz_to_semitones


def tone(hertz: float, seconds: float, rate: int = SAMPLE_RATE) -> np.ndarray:
    time_s = np.arange(round(seconds * rate)) / rate
    partials = [number for number in range(1, 20) if number * hertz < rate / 2]
    return (0.1 * sum(np.cos(2 * np.pi * number * hertz * time_s) / number for number in partials)).astype(np.float32)


@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100, 48_000])
@pytest.mark.parametrize("hertz", [90.0, 220.0, 500.0])
def test_detect_pitch_finds_the_pitch_of_a_tone_on_the_frame_grid(hertz, rate):
    pitch = detect_pitch(tone(hertz, 1.0, rate), rate)
    assert len(pitch) == frame_count(SAMPLE_RATE)
    assert pitch.hertz.dtype == pitch.voicing.dtype == np.float32
    # the detector's own bias is up to 0.2 semitones, and it settles within a tenth of a second
    assert pitch.voiced[10:-10].all()
    np.testing.assert_allclose(hertz_to_semitones(pitch.hertz[10:-10]), hertz_to_semitones(hertz), atol=0.25)


@pytest.mark.parametrize("samples", [0, 1, 440, 441, 20_000])
def test_detect_pitch_marks_silence_of_any_length_as_unvoiced(samples):
    pitch = detect_pitch(np.zeros(samples, np.float32), SAMPLE_RATE)
    assert len(pitch) == frame_count(samples)
    assert (pitch.voicing == 0).all()
    assert (pitch.hertz == DEFAULT_HERTZ).all()


@pytest.mark.parametrize("samples", [1, 100, 441, 5_000])
def test_detect_pitch_returns_finite_frames_for_short_recordings(samples):
    pitch = detect_pitch(tone(200.0, 1.0)[:samples], SAMPLE_RATE)
    assert len(pitch) == frame_count(samples)
    assert np.isfinite(pitch.hertz).all()


def test_detect_pitch_marks_noise_as_mostly_unvoiced():
    noise = 0.1 * np.random.default_rng(0).standard_normal(SAMPLE_RATE).astype(np.float32)
    assert detect_pitch(noise, SAMPLE_RATE).voiced.mean() < 0.1


def test_detect_pitch_glides_through_a_rest_from_note_to_note():
    rest = np.zeros(SAMPLE_RATE // 2, np.float32)
    pitch = detect_pitch(np.concatenate([tone(150.0, 0.5), rest, tone(300.0, 0.5)]), SAMPLE_RATE)
    middle = slice(60, 90)
    assert (pitch.voicing[middle] < 0.3).all()
    assert (np.diff(pitch.hertz[middle]) >= 0).all()
    assert 150 < pitch.hertz[75] < 300


def test_detect_pitch_stays_within_the_range_of_voices():
    pitch = detect_pitch(tone(30.0, 1.0) + tone(3000.0, 1.0), SAMPLE_RATE)
    assert (pitch.hertz >= LOWEST_HERTZ - 0.1).all()
    assert (pitch.hertz <= HIGHEST_HERTZ + 0.1).all()


def test_transposed_multiplies_the_pitch_and_keeps_the_voicing():
    pitch = Pitch(np.full(3, 100.0, np.float32), np.array([0.0, 0.5, 1.0], np.float32))
    np.testing.assert_allclose(pitch.transposed(12).hertz, 200.0)
    np.testing.assert_allclose(pitch.transposed(np.array([0.0, -12.0, 12.0])).hertz, [100.0, 50.0, 200.0])
    assert pitch.transposed(12).voicing is pitch.voicing
    assert pitch.transposed(12).hertz.dtype == np.float32


def test_pitch_slice_is_a_pitch_with_semitones_and_voicing():
    pitch = Pitch(np.array([220.0, 440.0, 880.0], np.float32), np.array([0.1, 0.7, 0.9], np.float32))[1:]
    np.testing.assert_allclose(pitch.semitones, [69.0, 81.0], atol=1e-4)
    assert pitch.voiced.tolist() == [True, True]


@pytest.mark.parametrize("shapes", [((3,), (4,)), ((2, 2), (2, 2))])
def test_pitch_refuses_unequal_and_two_dimensional_curves(shapes):
    with pytest.raises(ValueError, match="must be equal and flat"):
        Pitch(*(np.ones(shape, np.float32) for shape in shapes))
