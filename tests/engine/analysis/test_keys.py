import numpy as np
import pytest

from engine.analysis.keys import find_key
from engine.analysis.notes import SCALES
from engine.units import NOTE_NAMES


def melody(*notes: int) -> np.ndarray:
    return np.bincount(notes, minlength=128) * 0.4


# melodies as they are sung, by MIDI number from the tonic; long notes are there more than once
ODE_TO_JOY = (4, 4, 5, 7, 7, 5, 4, 2, 0, 0, 2, 4, 4, 4, 2, 2, 4, 4, 5, 7, 7, 5, 4, 2, 0, 0, 2, 4, 2, 2, 0, 0)
TWINKLE = (0, 0, 7, 7, 9, 9, 7, 7, 5, 5, 4, 4, 2, 2, 0, 0, 7, 7, 5, 5, 4, 4, 2, 2)
GOD_REST_YOU = (0, 0, 7, 7, 5, 3, 2, 0, -2, 0, 2, 3, 5, 7, 7, 0, 0, 7, 7, 5, 3, 2, 0, -2, 0, 2, 3, 5, 7, 7)
GREENSLEEVES = (0, 3, 3, 5, 7, 7, 8, 7, 5, 2, 2, -2, 0, 2, 3, 0, 0, 0, -1, 0, 2, 2, -1, -5, 0, 0)


@pytest.mark.parametrize("tonic", range(12))
@pytest.mark.parametrize(
    ("notes", "mode"), [(ODE_TO_JOY, "major"), (TWINKLE, "major"), (GOD_REST_YOU, "minor"), (GREENSLEEVES, "minor")]
)
def test_find_key_finds_the_key_of_known_melodies_in_every_transposition(tonic, notes, mode):
    key = find_key(melody(*(57 + tonic + note for note in notes)))
    assert key == f"{NOTE_NAMES[(57 + tonic) % 12]} {mode}"
    assert key in SCALES


def test_find_key_ignores_a_few_notes_beside_the_scale():
    seconds = melody(*(60 + note for note in TWINKLE))
    seconds[[61, 66]] += 0.1
    assert find_key(seconds) == "C major"


def test_find_key_finds_none_where_nothing_is_sung():
    assert find_key(np.zeros(128)) is None
