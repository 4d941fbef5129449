import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SettingsError
from engine.units import (
    FRAME_RATE,
    HOP,
    SAMPLE_RATE,
    amplitude,
    decibels,
    frame_count,
    hertz_to_mel,
    hertz_to_semitones,
    mel_to_hertz,
    note_name,
    note_number,
    rounded_duration,
    semitones_to_hertz,
)


def test_hop_times_frame_rate_is_the_sample_rate():
    assert HOP * FRAME_RATE == SAMPLE_RATE


@pytest.mark.parametrize(("samples", "frames"), [(0, 1), (1, 1), (440, 1), (441, 2), (44_100, 101)])
def test_frame_count_is_one_per_hop_and_one_at_the_start(samples, frames):
    assert frame_count(samples) == frames


@pytest.mark.parametrize(("hertz", "semitones"), [(440.0, 69.0), (220.0, 57.0), (880.0, 81.0), (261.6255653, 60.0)])
def test_hertz_to_semitones_and_semitones_to_hertz_match_known_notes(hertz, semitones):
    assert hertz_to_semitones(hertz) == pytest.approx(semitones)
    assert semitones_to_hertz(semitones) == pytest.approx(hertz)


@given(st.lists(st.floats(20, 5000), min_size=1))
def test_semitones_to_hertz_inverts_hertz_to_semitones(hertz):
    np.testing.assert_allclose(semitones_to_hertz(hertz_to_semitones(np.array(hertz))), hertz, rtol=1e-9)


@pytest.mark.parametrize(("semitones", "name"), [(57.2, "A3"), (60, "C4"), (59.5, "C4"), (61, "C#4"), (0, "C-1")])
def test_note_name_returns_the_nearest_note(semitones, name):
    assert note_name(semitones) == name


@given(st.integers(0, 127))
def test_note_number_inverts_note_name(number):
    assert note_number(note_name(number)) == number


@pytest.mark.parametrize(("name", "number"), [("Bb3", 58), ("a4", 69), (" C4 ", 60), ("Cb4", 59), ("B#3", 60)])
def test_note_number_accepts_other_spellings(name, number):
    assert note_number(name) == number


@pytest.mark.parametrize("name", ["", "H2", "A", "4", "C##4", "A 4", "A44"])
def test_note_number_refuses_invalid_names_with_an_example(name):
    with pytest.raises(SettingsError, match="is not a note name; write it like A2"):
        note_number(name)


def test_decibels_converts_known_amplitudes_and_stops_at_the_floor():
    np.testing.assert_allclose(decibels(np.array([1.0, 0.1, 0.5, 0.0])), [0.0, -20.0, -6.0206, -120.0], atol=1e-4)
    assert decibels(np.zeros(1), floor_db=-60.0) == -60.0


@given(st.floats(-100, 20))
def test_decibels_inverts_amplitude(level_db):
    assert decibels(amplitude(level_db)) == pytest.approx(level_db, abs=1e-9)


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (3600, "60 min"), (7500, "2 h 5 min")]
)
def test_rounded_duration_chooses_the_unit_by_length(seconds, said):
    assert rounded_duration(seconds) == said


def test_hertz_to_mel_maps_1000_hz_to_1000_and_mel_to_hertz_inverts_it():
    assert hertz_to_mel(1000.0) == pytest.approx(1000.0, abs=0.1)
    np.testing.assert_allclose(mel_to_hertz(hertz_to_mel(np.array([40.0, 700.0, 20_000.0]))), [40.0, 700.0, 20_000.0])
