from dataclasses import replace

import numpy as np
import pytest

from engine.conversion.key_fit import best_key, best_key_for, share_outside
from engine.errors import SettingsError
from engine.voices.card import DEMO_VOICES, load_card


def sung(**seconds: float) -> np.ndarray:
    """How long each note is sung, by m60=1.5."""
    found = np.zeros(128)
    for name, one in seconds.items():
        found[int(name[1:])] = one
    return found


def test_share_outside_counts_time_and_leaves_out_glides():
    seconds = sung(m60=3.0, m66=0.9, m70=0.1 - 1e-6)  # the last is a glide
    assert share_outside(seconds, 55, 65) == pytest.approx(0.9 / 4.0, abs=1e-6)
    assert share_outside(seconds, 55, 65, -1) == 0.0
    assert share_outside(seconds, 55, 65, -0.5) == pytest.approx(0.9 / 4.0, abs=1e-6)
    assert share_outside(np.zeros(128), 55, 65) == 0.0


@pytest.mark.parametrize(
    ("seconds", "semitones", "outside"),
    [
        (sung(m60=1.0, m64=1.0), 0, 0.0),  # fits: the key stays
        (sung(m60=1.0, m69=1.0), -4, 0.0),  # as little as is needed
        (sung(m50=1.0, m53=1.0), 5, 0.0),
        (sung(m84=1.0, m88=1.0), -23, 0.0),  # further than an octave
        (sung(m55=8.0, m66=1.0), 0, 1 / 9),  # wider than the voice: moving it would lose more
        (sung(m55=1.0, m66=8.0), -1, 1 / 9),
        (sung(m60=1.0, m66=0.004), 0, 0.0),  # not for next to nothing
    ],
)
def test_best_key_leaves_fewest_notes_outside(seconds, semitones, outside):
    found = best_key(seconds, 55, 65)
    assert found.semitones == semitones
    assert found.outside == pytest.approx(outside)


def test_best_key_for_refuses_a_voice_without_a_range():
    card = load_card(DEMO_VOICES / "kerstin")
    with pytest.raises(SettingsError, match="range of Kerstin is not known"):
        best_key_for(sung(m62=1.0), replace(card, vocal_range={}), sung=True)


@pytest.mark.parametrize(
    ("voice", "note", "speech", "singing"),
    [
        ("kerstin", 62, -3, 0),  # speaks from B2 to B3, would sing up to A4
        ("safiye", 46, 5, 9),  # sings from G3 to C5, would speak from D#3 to D#4
        ("safiye", 66, -3, 0),
        ("koguchi", 62, 0, 0),  # both were recorded
    ],
)
def test_best_key_for_goes_by_the_range_of_speech_or_of_singing(voice, note, speech, singing):
    card, seconds = load_card(DEMO_VOICES / voice), sung(**{f"m{note}": 1.0})
    assert [best_key_for(seconds, card, sung=sings).semitones for sings in (False, True)] == [speech, singing]


def test_best_key_moves_no_note_beyond_the_range_of_notes():
    """The voice of a whistle: nearest to its range would be three semitones above the highest note."""
    seconds = np.zeros(128)
    seconds[[81, 93]] = 1.0
    assert best_key(seconds, 96, 108).semitones == 3  # C7 is the highest note, not 24 semitones up
