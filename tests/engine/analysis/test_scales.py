import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.scales import CHROMATIC, SCALES, nearest_notes


def test_the_scales_have_the_notes_that_musicians_know():
    assert SCALES["C major"] == (0, 2, 4, 5, 7, 9, 11)
    assert SCALES["A minor"] == SCALES["C major"]
    assert SCALES["F# minor"] == SCALES["A major"] == (1, 2, 4, 6, 8, 9, 11)
    assert SCALES[CHROMATIC] == tuple(range(12))
    assert len(SCALES) == 25


@pytest.mark.parametrize(
    ("semitones", "scale", "note"),
    [(60.4, CHROMATIC, 60), (60.6, CHROMATIC, 61), (60.6, "C major", 60), (61.2, "C major", 62), (66.0, "C minor", 65)],
)
def test_the_nearest_note_of_a_scale(semitones, scale, note):
    assert nearest_notes(np.array([semitones]), scale) == pytest.approx([note])


@given(st.sampled_from(sorted(SCALES)), st.floats(20.0, 110.0))
def test_it_is_in_the_scale_and_no_other_is_nearer(scale, semitones):
    [note] = nearest_notes(np.array([semitones]), scale)
    assert note % 12 in SCALES[scale]
    others = [other for other in range(140) if other % 12 in SCALES[scale]]
    assert abs(note - semitones) <= min(abs(other - semitones) for other in others) + 1e-9
