from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.pitch import HIGHEST_HERTZ, LOWEST_HERTZ, Pitch
from engine.analysis.pitch_statistics import PitchStatistics
from engine.conversion.pitch_shaping import fitting_transpose, fold_pitch, limit_pitch, smooth_pitch, snap_pitch
from engine.units import hertz_to_semitones, semitones_to_hertz
from engine.voices.card import VoiceCard


def pitch_of(semitones: np.ndarray, voicing: float | np.ndarray = 1.0) -> Pitch:
    semitones = np.asarray(semitones, float)
    voicing = np.broadcast_to(np.float32(voicing), semitones.shape)
    return Pitch(semitones_to_hertz(semitones).astype(np.float32), voicing.astype(np.float32))


def vibrato(frames: int = 300, note: float = 60.3, depth: float = 0.5) -> np.ndarray:
    return note + depth * np.sin(2 * np.pi * 6 * np.arange(frames) / 100)


def middle(median: float) -> PitchStatistics:
    return PitchStatistics(median - 6, median, median + 6)


def voice(median: float, spoken: float | None = None, sung: float | None = None) -> VoiceCard:
    """A card of which only where it lies matters."""
    empty = dict.fromkeys(("gender", "age", "base_language", "genre", "voice_type"))
    empty |= dict.fromkeys(("description", "licence", "source"), "") | {"traits": [], "consent": {}}
    known = {"spoken_pitch": spoken, "sung_pitch": sung, "pitch": median}
    lies = {name: None if where is None else middle(where) for name, where in known.items()}
    return VoiceCard("anna", "Anna", **empty, vocal_range={"min": "C2", "max": "C6"}, bandwidth_hertz=16_000.0, **lies)


def test_smooth_pitch_and_snap_pitch_at_zero_return_the_same_pitch():
    pitch = pitch_of(vibrato())
    assert smooth_pitch(pitch, 0.0) is pitch
    assert snap_pitch(pitch, 0.0) is pitch


@pytest.mark.parametrize("milliseconds", [10.0, 100.0, 300.0])
@pytest.mark.parametrize("frames", [1, 2, 5, 100])
def test_smooth_pitch_and_snap_pitch_keep_a_steady_note_of_any_length(frames, milliseconds):
    pitch = pitch_of(np.full(frames, 62.0))
    smooth = smooth_pitch(pitch, milliseconds)
    assert smooth.hertz.dtype == np.float32
    np.testing.assert_allclose(smooth.hertz, pitch.hertz, rtol=1e-5)
    np.testing.assert_allclose(snap_pitch(pitch, 1.0).hertz, pitch.hertz, rtol=1e-5)


def test_smooth_pitch_reduces_vibrato_more_with_longer_smoothing():
    swings = [np.ptp(smooth_pitch(pitch_of(vibrato()), ms).semitones[50:250]) for ms in (0.0, 50.0, 150.0, 300.0)]
    assert swings == sorted(swings, reverse=True)
    assert swings[-1] < 0.1
    assert smooth_pitch(pitch_of(vibrato()), 300.0).semitones[50:250].mean() == pytest.approx(60.3, abs=0.02)


def test_smooth_pitch_ignores_unvoiced_frames():
    semitones, voicing = np.full(200, 60.0), np.ones(200)
    semitones[100:], voicing[100:] = 80.0, 0.0
    smooth = smooth_pitch(pitch_of(semitones, voicing), 200.0)
    np.testing.assert_allclose(smooth.semitones[:98], 60.0, atol=0.1)
    np.testing.assert_array_equal(smooth.voicing, voicing.astype(np.float32))


@pytest.mark.parametrize(("note", "nearest"), [(60.3, 60), (59.6, 60), (61.45, 61)])
def test_snap_pitch_brings_a_held_note_to_the_nearest_semitone(note, nearest):
    snapped = snap_pitch(pitch_of(np.full(100, note)), 1.0)
    np.testing.assert_allclose(snapped.semitones, nearest, atol=1e-3)


@given(st.floats(0, 1))
def test_snap_pitch_moves_in_proportion_to_its_strength(strength):
    snapped = snap_pitch(pitch_of(np.full(50, 60.4)), strength)
    np.testing.assert_allclose(snapped.semitones, 60.4 - 0.4 * strength, atol=1e-3)


def test_snap_pitch_keeps_vibrato():
    snapped = snap_pitch(pitch_of(vibrato(depth=0.3)), 1.0).semitones[50:250]
    assert snapped.mean() == pytest.approx(60.0, abs=0.05)
    assert np.ptp(snapped) > 0.45


def test_snap_pitch_keeps_the_moment_of_a_note_change():
    semitones = np.repeat([60.2, 63.7], 100)
    snapped = snap_pitch(pitch_of(semitones), 1.0).semitones
    np.testing.assert_allclose(snapped[20:80], 60.0, atol=0.02)
    np.testing.assert_allclose(snapped[120:180], 64.0, atol=0.02)
    assert np.diff(snapped).argmax() == 99


def test_fold_pitch_keeps_what_is_within_the_range():
    pitch = pitch_of(vibrato(note=95.5))
    assert fold_pitch(pitch) is pitch


@pytest.mark.parametrize(("note", "folded"), [(98.0, 86.0), (110.0, 86.0), (28.0, 40.0), (15.0, 39.0)])
def test_fold_pitch_sings_notes_beyond_the_range_in_another_octave(note, folded):
    semitones = np.concatenate([np.full(60, 90.0), vibrato(100, note, 0.4), np.full(60, 62.0)])
    found = fold_pitch(pitch_of(semitones)).semitones
    np.testing.assert_allclose(found[:60], 90.0, atol=1e-3)
    np.testing.assert_allclose(found[60:160], semitones[60:160] - note + folded, atol=1e-3)
    np.testing.assert_allclose(found[160:], 62.0, atol=1e-3)


def test_fold_pitch_holds_the_peaks_of_vibrato_at_the_highest_note():
    found = fold_pitch(pitch_of(vibrato(note=96.0, depth=0.8)))
    assert found.semitones.min() > 95.0
    assert found.hertz.max() == np.float32(HIGHEST_HERTZ)


def test_limit_pitch_clips_to_the_lowest_and_highest_pitch():
    limited = limit_pitch(Pitch(np.array([1.0, 200.0, 9000.0], np.float32), np.ones(3, np.float32)))
    np.testing.assert_allclose(limited.hertz, [LOWEST_HERTZ, 200.0, HIGHEST_HERTZ])


@pytest.mark.parametrize(
    ("source", "target", "semitones", "octaves"),
    [
        *((50, 62, 12, 12), (62, 50, -12, -12), (57, 57, 0, 0), (57, 60.4, 3, 0), (57, 64, 7, 12), (57, 62, 5, 0)),
        *((40, 80, 12, 12), (80, 40, -12, -12), (60, 57.6, -2, 0)),
        *((57, 63.6, 7, 0), (57, 50.3, -7, 0), (57, 49.9, -7, -12)),
    ],
)
def test_fitting_transpose_uses_semitones_for_speech_and_octaves_for_singing(source, target, semitones, octaves):
    assert fitting_transpose(middle(source), voice(target), sung=False) == semitones
    assert fitting_transpose(middle(source), voice(target), sung=True) == octaves


def test_fitting_transpose_aims_at_the_spoken_or_sung_pitch_of_the_voice():
    both = voice(56, spoken=52, sung=61)
    assert fitting_transpose(middle(48), both, sung=False) == 4
    assert fitting_transpose(middle(53), both, sung=True) == 12


def test_fitting_transpose_aims_at_where_a_singing_voice_would_speak():
    goekhan = replace(voice(55.4, sung=55.4), gender="male")
    readers = [39.0, 45.0, 48.0, 55.0]  # from 78 Hz; he sings about 233 and would speak about 117
    assert [fitting_transpose(middle(note), goekhan, sung=False) for note in readers] == [5, 0, 0, -7]
    safiye = replace(voice(63.9, sung=63.9), gender="female")
    assert [fitting_transpose(middle(note), safiye, sung=False) for note in readers] == [12, 9, 6, 0]
    assert fitting_transpose(middle(53), safiye, sung=True) == 12


@pytest.mark.parametrize(
    ("source", "octaves"), [(50, 0), (53, 0), (58, 0), (60, 0), (62, -12), (66, -12), (44, 0), (43, 12)]
)
def test_fitting_transpose_of_singing_is_at_home_from_speech_to_a_third_of_the_way_up(source, octaves):
    kathleen = replace(voice(50.7, spoken=50.7), gender="female")  # would sing about 60
    assert fitting_transpose(middle(source), kathleen, sung=True) == octaves


@pytest.mark.parametrize(
    ("kept", "source", "sung", "expected"),
    [(12, 54.5, True, 12), (12, 55.5, True, 0), (None, 54.5, True, 0), (3, 55.5, False, 3), (3, 54.5, False, 6)],
)
def test_fitting_transpose_keeps_what_was_found_unless_another_is_clearly_nearer(kept, source, sung, expected):
    assert fitting_transpose(middle(source), voice(60), sung, kept) == expected


@given(st.floats(20, 110), st.floats(20, 110))
def test_fitting_transpose_stays_within_an_octave_and_never_moves_away(source, target):
    for sung in (False, True):
        transpose = fitting_transpose(middle(source), voice(target), sung)
        assert isinstance(transpose, int)
        assert -12 <= transpose <= 12
        assert transpose % (12 if sung else 1) == 0
        assert abs(target - source - transpose) <= abs(target - source) + 1e-9


def test_voiced_semitones_include_only_voiced_frames():
    pitch = Pitch(np.array([220.0, 440.0, 880.0], np.float32), np.array([0.2, 0.6, 0.9], np.float32))
    np.testing.assert_allclose(pitch.voiced_semitones, [hertz_to_semitones(880.0)])
