import numpy as np
import pytest

from engine.analysis.pitch import Pitch
from engine.analysis.vocal_range import VocalRange, measure_range, voice_type
from engine.errors import SettingsError


def sung(semitones: np.ndarray, voicing: float | np.ndarray = 1.0) -> Pitch:
    hertz = 440.0 * 2.0 ** ((np.asarray(semitones, np.float64) - 69.0) / 12.0)
    return Pitch(hertz.astype(np.float32), np.broadcast_to(np.float32(voicing), hertz.shape).copy())


def scale(low: int, high: int) -> np.ndarray:
    """Up and down in semitones, 300 ms each."""
    notes = [*range(low, high + 1), *range(high, low - 1, -1)]
    return np.repeat(notes, 30).astype(float)


def steady(count: int, level_db: float = -20.0) -> np.ndarray:
    return np.full(count, level_db, np.float32)


def test_measure_range_returns_the_lowest_and_highest_note_of_a_scale():
    notes = scale(45, 61)
    found = measure_range(sung(notes), steady(len(notes)))
    assert found is not None
    assert (found.min, found.max) == ("A2", "C#4")
    assert found.middle == pytest.approx(53.0, abs=0.6)


def test_measure_range_returns_none_without_voiced_frames():
    assert measure_range(sung(scale(45, 61), 0.3), steady(len(scale(45, 61)))) is None
    assert measure_range(sung(np.array([57.0]), 0.0), steady(1, -120.0)) is None


def test_measure_range_ignores_short_octave_leaps():
    notes = scale(50, 60)
    for start in range(20, len(notes) - 20, 50):  # a tenth of all frames
        notes[start : start + 5] += 12.0
    found = measure_range(sung(notes), steady(len(notes)))
    assert found is not None
    assert (found.min, found.max) == ("D3", "C4")


def test_measure_range_includes_a_held_octave_leap():
    notes = np.concatenate((np.full(100, 52.0), np.full(60, 64.0), np.full(100, 52.0)))
    found = measure_range(sung(notes), steady(len(notes)))
    assert found is not None
    assert (found.min, found.max) == ("E3", "E4")


def test_measure_range_ignores_soft_frames():
    notes, level_db = scale(50, 60), steady(len(scale(50, 60)))
    notes[:40], level_db[:40] = 41.0, -60.0
    found = measure_range(sung(notes), level_db)
    assert found is not None
    assert found.min == "D3"


def test_measure_range_accepts_a_single_voiced_frame():
    assert measure_range(sung(np.array([57.0])), steady(1)) == VocalRange("A3", "A3", 57.0)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ("C4", "C6", "soprano"),
        ("A3", "A5", "mezzo-soprano"),
        ("F3", "F5", "alto"),
        ("C3", "C5", "tenor"),
        ("A2", "A4", "baritone"),
        ("E2", "E4", "bass"),
        ("D4", "B5", "soprano"),
        ("D2", "A3", "bass"),
    ],
)
def test_voice_type_names_the_textbook_ranges(low, high, expected):
    assert voice_type(VocalRange(low, high)) == expected


def test_voice_type_narrows_the_choice_by_gender():
    between = VocalRange("D3", "D5")
    assert voice_type(between, "female") == "alto"
    assert voice_type(between, "male") == "tenor"


def test_voice_type_decides_equal_overlaps_by_the_centre():
    assert voice_type(VocalRange("C4", "G4", centre=61.0)) == "tenor"
    assert voice_type(VocalRange("C4", "G4", centre=66.0)) == "alto"


@pytest.mark.parametrize(
    ("speaking_hertz", "expected"),
    [(95, "bass"), (115, "baritone"), (145, "tenor"), (205, "mezzo-soprano"), (250, "soprano")],
)
def test_voice_type_names_speech_by_its_centre(speaking_hertz, expected):
    centre = 69 + 12 * np.log2(speaking_hertz / 440)
    assert voice_type(VocalRange("A2", "A3", centre), spoken=True) == expected


def test_vocal_range_refuses_invalid_note_names_and_reversed_order():
    with pytest.raises(SettingsError):
        VocalRange("H2", "A3")
    with pytest.raises(ValueError, match="wrong order"):
        VocalRange("A3", "A2")


def test_measure_range_refuses_curves_of_different_lengths():
    with pytest.raises(ValueError, match="3 frames"):
        measure_range(sung(np.full(3, 57.0)), steady(4))
