import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.octave_errors import octave_errors


def melody(*notes: float, frames: int = 30, rest: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Held notes with a little vibrato, and rests after them: semitones and voicing, (frames,)."""
    semitones = np.concatenate([np.full(frames + rest, note) for note in notes])
    voicing = np.concatenate([np.repeat([0.95, 0.05], [frames, rest]) for _ in notes])
    return semitones + 0.2 * np.sin(np.arange(len(semitones)) * 0.35), voicing


def misheard(semitones, voicing, where: slice, octaves: int, way: int = 0) -> np.ndarray:
    """A curve of which a part was taken for another octave, with some frames on the way from one to the other."""
    wrong = semitones.copy()
    wrong[where] += 12 * octaves
    for edge in (where.start, where.stop):
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
