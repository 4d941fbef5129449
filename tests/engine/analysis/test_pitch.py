import numpy as np
import pytest

from engine.analysis.pitch import DEFAULT_HERTZ, HIGHEST_HERTZ, LOWEST_HERTZ, Pitch, detect_pitch
from engine.units import SAMPLE_RATE, frame_count, hertz_to_semitones
from tests.vowels import RATE, vowel


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


def cents_away(pitch: Pitch, hertz: np.ndarray | float) -> np.ndarray:
    """How far the voiced frames are from the true pitch, one number or one per sample."""
    curve = np.broadcast_to(hertz, len(pitch) * RATE) if np.ndim(hertz) == 0 else np.pad(hertz, (0, RATE), "edge")
    true = curve[: len(pitch) * RATE // 100 : RATE // 100][: len(pitch)]
    return np.abs(1200 * np.log2(pitch.hertz / true))[pitch.voiced]


@pytest.mark.parametrize("hertz", [46.5, 55.0, 110.0, 880.0, 1396.9, 1568.0, 1760.0, 2093.0, 2140.0])
def test_detect_pitch_reads_notes_up_to_both_ends_of_the_range(hertz):
    pitch = detect_pitch(vowel(hertz), RATE)
    assert pitch.voiced[10:-10].all()
    assert np.percentile(cents_away(pitch, hertz), 90) < 20
    assert pitch.beyond_s == (0.0, 0.0)


@pytest.mark.parametrize("hertz", [22.0, 30.0, 36.0, 40.0, 44.0, 2170.0, 2349.0, 2500.0, 3000.0, 3520.0, 4186.0])
def test_detect_pitch_takes_no_tone_beyond_the_range_for_another_note(hertz):
    """A whistle of 2.5 kHz was its half with a confidence of 0.8."""
    pitch = detect_pitch(vowel(hertz), RATE)
    assert not pitch.voiced.any()


@pytest.mark.parametrize(
    ("hertz", "sentence"),
    [
        (2637.0, "too high to convert (above C7)"),
        (3520.0, "too high to convert (above C7)"),
        (36.0, "too low to convert (below F#1)"),
        (1975.5, None),
        (55.0, None),
    ],
)
def test_beyond_warning_says_how_long_tones_are_beyond_the_range(hertz, sentence):
    pitch = detect_pitch(vowel(hertz), RATE)
    if sentence is None:
        assert pitch.beyond_warning is None
    else:
        assert pitch.beyond_warning is not None
        assert pitch.beyond_warning.startswith("1.")  # seconds of 1.5
        assert sentence in pitch.beyond_warning


def test_detect_pitch_keeps_the_other_notes_of_a_melody_that_crosses_the_limit():
    melody = np.repeat([1046.5, 2637.0, 1318.5, 1976.0], RATE // 2)
    pitch = detect_pitch(vowel(melody), RATE)
    voiced = pitch.voiced[: 4 * 50].reshape(4, 50).mean(1)
    assert (voiced[[0, 2, 3]] > 0.85).all()
    assert voiced[1] < 0.15
    assert (cents_away(pitch, melody) > 50).mean() < 0.04  # at the leaps
    assert pitch.beyond_s[0] == pytest.approx(0.5, abs=0.12)


def test_detect_pitch_follows_vibrato_and_glides_at_the_top():
    time_s = np.arange(2 * RATE) / RATE
    for hertz in (2093 * 2 ** (0.4 / 12 * np.sin(2 * np.pi * 5.5 * time_s)), 1046.5 * 2 ** (time_s / 2)):
        pitch = detect_pitch(vowel(hertz), RATE)
        assert pitch.voiced[10:-10].all()
        assert np.percentile(cents_away(pitch, hertz), 95) < 25


@pytest.mark.parametrize("softer_db", [20, 30, 36, 42, 60])
def test_detect_pitch_gives_the_same_pitch_and_voicing_at_any_level(sing, softer_db):
    """At -42 dB a seventh of the frames stayed voiced."""
    loud = sing(4.0, hertz=200.0) / 0.35
    wanted, found = (detect_pitch(gain * loud, SAMPLE_RATE) for gain in (1.0, 10 ** (-softer_db / 20)))
    assert found.voiced.sum() > 0.98 * wanted.voiced.sum()
    np.testing.assert_allclose(found.voicing, wanted.voicing, atol=0.02)
    np.testing.assert_allclose(found.semitones[found.voiced], wanted.semitones[found.voiced], atol=0.05)


def test_detect_pitch_finds_a_soft_verse_of_a_loud_song(sing):
    verse, chorus = sing(5.0, hertz=200.0), sing(5.0, hertz=250.0)
    loud, soft = (
        detect_pitch(np.concatenate([gain * verse, chorus]), SAMPLE_RATE).voiced[:500].mean() for gain in (1.0, 0.01)
    )
    assert soft > 0.9 * loud


@pytest.mark.parametrize("level", [1e-4, 1e-3, 0.01, 0.3])
def test_detect_pitch_marks_noise_of_any_level_as_unvoiced(level):
    noise = np.random.default_rng(0).standard_normal(2 * SAMPLE_RATE)
    for samples in (noise, np.convolve(noise, np.ones(40) / 6, "same"), np.cumsum(noise) / 300):
        assert detect_pitch((level * samples).astype(np.float32), SAMPLE_RATE).voiced.mean() < 0.02


@pytest.mark.parametrize("db", [-85, -75, -65, -55])
def test_detect_pitch_takes_no_hum_in_a_long_pause_for_a_voice(sing, db):
    time_s = np.arange(10 * SAMPLE_RATE) / SAMPLE_RATE
    hum = 10 ** (db / 20) * (np.sin(2 * np.pi * 60 * time_s) + np.sin(2 * np.pi * 120 * time_s))
    pitch = detect_pitch((hum + np.pad(sing(4.0), (0, 6 * SAMPLE_RATE))).astype(np.float32), SAMPLE_RATE)
    assert pitch.voiced[:400].mean() > 0.5
    assert not pitch.voiced[450:].any()


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("db", [-20, -25, -30])
@pytest.mark.parametrize("hertz", [80.0, 110.0, 150.0, 220.0, 330.0, 440.0, 659.3])
def test_detect_pitch_reads_growl_at_its_pitch(hertz, db, late):
    """From A3 on it was an octave too low, with confidence; the pulses of growl are weaker, or late, by turns."""
    pitch = detect_pitch(vowel(hertz, subharmonics=10 ** (db / 20), late=late), RATE)
    assert pitch.voiced[10:-10].mean() > 0.95
    assert (cents_away(pitch, hertz) < 50).mean() > 0.97


@pytest.mark.parametrize("hertz", [350.0, 500.0, 700.0])
def test_detect_pitch_keeps_a_note_whose_second_harmonic_is_in_a_formant(hertz):
    pitch = detect_pitch(vowel(hertz), RATE)
    assert (cents_away(pitch, hertz) < 50).mean() > 0.97


def test_detect_pitch_is_voiced_only_where_a_frequency_is_trusted():
    """Frames whose frequency was dropped kept their confidence, at 150 Hz or at that of other notes."""
    for hertz in (30.0, 1568.0, 2637.0):
        pitch = detect_pitch(vowel(hertz), RATE)
        assert np.all(cents_away(pitch, hertz) < 50)


def test_pitch_keeps_what_is_beyond_when_cut_and_joined():
    beyond = np.array([0, 1, -1], np.int8)
    pitch = Pitch(np.full(3, 100.0, np.float32), np.zeros(3, np.float32), beyond)
    assert pitch[1:].beyond.tolist() == [1, -1]
    unknown = Pitch(pitch.hertz, pitch.voicing)
    assert Pitch.joined([unknown, pitch]).beyond.tolist() == [0, 0, 0, 0, 1, -1]


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


def test_pitch_masked_hertz_is_nan_where_nothing_is_voiced():
    pitch = Pitch(np.array([220.0, 440.0, 880.0], np.float32), np.array([0.1, 0.7, 0.5], np.float32))
    np.testing.assert_array_equal(pitch.masked_hertz, np.array([np.nan, 440.0, np.nan], np.float32))
    assert pitch.masked_hertz.dtype == np.float32
    assert repr(pitch) == "Pitch(hertz=<float32 (3,)>, voicing=<float32 (3,)>, beyond=None)"


@pytest.mark.parametrize("shapes", [((3,), (4,)), ((2, 2), (2, 2))])
def test_pitch_refuses_unequal_and_two_dimensional_curves(shapes):
    with pytest.raises(ValueError, match="must be equal and flat"):
        Pitch(*(np.ones(shape, np.float32) for shape in shapes))
