import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.octave_errors import OctaveDoubt, octave_doubts, octave_errors
from engine.analysis.pitch import Pitch
from engine.units import semitones_to_hertz


def melody(*notes: float, frames: int = 30, rest: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Held notes with a little vibrato, and rests after them: semitones and voicing, (frames,)."""
    semitones = np.concatenate([np.full(frames + rest, note) for note in notes])
    voicing = np.concatenate([np.repeat([0.95, 0.05], [frames, rest]) for _ in notes])
    return semitones + 0.2 * np.sin(np.arange(len(semitones)) * 0.35), voicing


def misheard(semitones, voicing, where: slice, octaves: int, way: int = 0) -> np.ndarray:
    """A curve of which a part was taken for another octave, with some frames on the way from one to the other."""
    wrong = semitones.copy()
    wrong[where] += 12 * octaves
    for edge in (where.start, where.stop) if way else ():
        wrong[edge - way : edge + way] = np.interp(
            np.arange(2 * way), [-1, 2 * way], [wrong[edge - way - 1], wrong[edge + way]]
        )
    return wrong


@pytest.mark.parametrize("octaves", [-2, -1, 1])
@pytest.mark.parametrize("way", [0, 1])
@pytest.mark.parametrize("rest", [0, 15])
def test_octave_errors_finds_a_part_in_another_octave(octaves, way, rest):
    semitones, voicing = melody(57, 59, 60, 62, 60, rest=rest)
    where = slice(70, 100) if rest == 0 else slice(100, 110)
    wrong = misheard(semitones, voicing, where, octaves, way)
    found, sure = octave_errors(wrong, voicing, slice(45, 180))
    inside = np.zeros(len(semitones), bool)
    inside[where] = True
    assert (found[sure & inside] == -octaves).all()
    assert not found[sure & ~inside].any()
    assert (sure & inside).sum() >= 4


def test_octave_errors_finds_a_whole_stretch_by_the_notes_around_it():
    semitones, voicing = melody(57, 59, 60, 62, 60)
    wrong = misheard(semitones, voicing, slice(60, 120), 1)
    found, sure = octave_errors(wrong, voicing, slice(60, 120))
    assert (found[60:120][sure[60:120]] == -1).all()


@given(st.lists(st.integers(54, 61), min_size=3, max_size=8), st.integers(0, 15))
def test_octave_errors_finds_none_in_a_correct_melody(notes, rest):
    semitones, voicing = melody(*notes, rest=rest)
    found, _ = octave_errors(semitones, voicing, slice(30, len(semitones) - 30))
    assert not found.any()


def test_octave_errors_accepts_a_large_leap_after_a_rest():
    semitones, voicing = melody(57, 57, 66, 57, 57, rest=20)
    found, _ = octave_errors(semitones, voicing, slice(95, 155))
    assert not found.any()


def test_octave_errors_finds_none_outside_the_stretch():
    semitones, voicing = melody(57, 59, 60, 62)
    wrong = misheard(semitones, voicing, slice(70, 100), 1)
    found, _ = octave_errors(wrong, voicing, slice(80, 90))
    assert not found[:80].any()
    assert not found[90:].any()


def test_octave_errors_finds_none_without_voice():
    found, sure = octave_errors(np.full(50, 50.0), np.zeros(50), slice(10, 40))
    assert not found.any()
    assert not sure.any()


def curve(semitones: np.ndarray, voicing: np.ndarray) -> Pitch:
    return Pitch(semitones_to_hertz(semitones).astype(np.float32), voicing.astype(np.float32))


@pytest.mark.parametrize("octaves", [-1, 1])
@pytest.mark.parametrize("where", [slice(70, 100), slice(0, 25), slice(120, 150)])  # within, at both ends
def test_octave_doubts_finds_a_leap_of_an_octave_within_a_phrase(octaves, where):
    semitones, voicing = melody(57, 59, 60, 62, 60)
    found = octave_doubts(curve(misheard(semitones, voicing, where, octaves), voicing))
    assert [one.by for one in found] == [-octaves]
    assert found[0].start_s == pytest.approx(where.start / 100, abs=0.02)
    assert found[0].end_s == pytest.approx(where.stop / 100, abs=0.02)


def test_octave_doubts_finds_each_place():
    semitones, voicing = melody(57, 59, 60, 62, 60, frames=60)
    wrong = misheard(misheard(semitones, voicing, slice(40, 60), 1), voicing, slice(200, 230), -1)
    assert [one.by for one in octave_doubts(curve(wrong, voicing))] == [-1, 1]


def glide() -> tuple[np.ndarray, np.ndarray]:
    semitones, voicing = melody(57, 57, 69, 69)
    semitones[50:70] = np.linspace(57, 69, 20)
    return semitones, voicing


SUNG = {
    "a fifth": melody(57, 64, 57),
    "more than a fifth": melody(57, 66, 57),
    "an octave after a breath": melody(57, 69, 57, rest=15),
    "two octaves, which are not for an octave edit": melody(48, 72, 48),
    "a long passage in another octave": melody(57, 69, 57, frames=200),
    "a glide of an octave in 0.2 s": glide(),
    "no voice": (np.full(50, 50.0), np.zeros(50)),
}


@pytest.mark.parametrize(("semitones", "voicing"), SUNG.values(), ids=SUNG)
def test_octave_doubts_finds_none_in_what_is_sung(semitones, voicing):
    assert octave_doubts(curve(semitones, voicing)) == []


def test_octave_doubts_are_where_the_edit_brings_the_note_back():
    semitones, voicing = melody(57, 59, 60, 62, 60)
    wrong = misheard(semitones, voicing, slice(70, 100), 1)
    [doubt] = octave_doubts(curve(wrong, voicing))
    assert isinstance(doubt, OctaveDoubt)
    first, stop = round(100 * doubt.start_s), round(100 * doubt.end_s)
    np.testing.assert_allclose(wrong[first:stop] + 12 * doubt.by, semitones[first:stop])
