import numpy as np
import pytest

from engine.conversion.note_limits import nearest_within, notes_beyond
from engine.errors import SettingsError
from engine.units import note_number


def sung(**seconds: float) -> np.ndarray:
    """How long each note is sung; A5=1.0."""
    found = np.zeros(128)
    for name, length in seconds.items():
        found[note_number(name)] = length
    return found


def test_notes_beyond_takes_all_notes_up_to_the_limits():
    assert not notes_beyond(sung(E5=1.0, A5=1.0, C6=1.0), 12).notes
    assert not notes_beyond(sung(F2=1.0), -11).notes  # F#1
    assert notes_beyond(sung(E5=1.0, C6=1.0), 13).notes == [note_number("C6")]
    assert notes_beyond(sung(F2=1.0, C3=1.0), -12).notes == [note_number("F2")]


OF_TWO = r"Transposed by \+17 semitones, A5 would become D7, above C7, the highest note: transpose by \+15 at most"
OF_LOW = "by -24 semitones, F2, C3 would become F0, C1, below F#1, the lowest note: transpose by -11 at most"
OF_SIX = "C6, D6, E6 and 3 more would become C8, D8, E8 and 3 more"


@pytest.mark.parametrize(
    ("seconds", "semitones", "sentence"),
    [
        (sung(E5=1.0, A5=1.0), 17, f"{OF_TWO}, or choose fold"),
        (sung(F2=1.0, C3=1.0), -24, f"{OF_LOW}, or choose fold"),
        (sung(C6=1, D6=1, E6=1, F6=1, G6=1, A6=1), 24, OF_SIX),
    ],
)
def test_notes_beyond_refuse_names_the_notes_and_a_remedy(seconds, semitones, sentence):
    with pytest.raises(SettingsError, match=sentence):
        notes_beyond(seconds, semitones).refuse()


def test_notes_beyond_of_a_few_stray_frames_are_not_refused_but_said():
    beyond = notes_beyond(sung(A4=60.0, A5=0.2), 17)
    beyond.refuse()
    assert beyond.warning == "D7 would be above C7, the highest note: sung as D6 instead."
    assert notes_beyond(sung(A4=60.0, A5=0.05), 17).warning is None  # a glide


def test_notes_beyond_warning_names_each_note_and_its_octave():
    low = notes_beyond(sung(F2=1.0, C3=1.0), -24).warning
    assert low == "F0, C1 would be below F#1, the lowest note: sung as F2, C2 instead."
    assert notes_beyond(sung(A4=1.0), 12).warning is None


def test_nearest_within_stops_before_the_limits():
    high = sung(A5=1.0)
    assert nearest_within(high, 24) == 15
    assert nearest_within(high, 24, step=12) == 12
    assert nearest_within(high, -24) == -24
    assert nearest_within(sung(G6=1.0), 12, step=12) == 0
    assert nearest_within(np.zeros(128), 12) == 12


@pytest.mark.parametrize(("transpose", "harmony", "most"), [(24, 12, 3), (-24, -12, -11)])
def test_notes_beyond_says_how_far_a_harmony_may_still_be_transposed(transpose, harmony, most):
    """It named the limit of the lead, which the harmony was beyond."""
    seconds = sung(A5=1.0) if transpose > 0 else sung(F3=1.0)
    with pytest.raises(SettingsError, match=rf"transpose by \{most:+d} at most"):
        notes_beyond(seconds, transpose, harmony).refuse()
    assert not notes_beyond(seconds, most, harmony).notes
