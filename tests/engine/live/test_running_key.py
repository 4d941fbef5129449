"""The key of a performance: as for a recording of it, and steady."""

from dataclasses import replace

import numpy as np

from engine.live.running_key import RunningKey
from engine.voices.voice import load_voice

CARD = load_voice("safiye").card
MEDIAN = CARD.pitch_where(True).median


def frames(note: float, count: int = 100) -> np.ndarray:
    return np.full(count, note, np.float32)


def test_transpose_is_unknown_until_a_second_was_sung():
    key = RunningKey()
    key.add_notes(frames(MEDIAN - 12, 99))
    assert key.transpose_for(CARD, True) is None
    key.add_notes(frames(MEDIAN - 12, 1))
    assert key.transpose_for(CARD, True) == 12


def test_transpose_stays_on_the_boundary_of_octaves_and_is_found_anew_when_asked():
    key = RunningKey()
    key.add_notes(frames(MEDIAN - 8))
    assert key.transpose_for(CARD, True) == 12
    key.add_notes(frames(MEDIAN - 6, 1000))  # another octave is not clearly nearer
    assert key.transpose_for(CARD, True) == 12
    key.forget_transpose()
    assert key.transpose_for(CARD, True) == 0


def test_transpose_follows_another_singer_within_half_a_minute():
    key = RunningKey()
    key.add_notes(frames(MEDIAN - 12, 10_000))
    assert key.transpose_for(CARD, True) == 12
    key.add_notes(frames(MEDIAN, 3000))
    assert key.transpose_for(CARD, True) == 0


def test_transpose_of_speech_goes_by_semitones():
    key, spoken = RunningKey(), CARD.pitch_where(False).median
    key.add_notes(frames(spoken - 7))
    assert key.transpose_for(CARD, False) == 5  # of a voice that only sang: to within two of the estimate
    key.add_notes(frames(spoken, 10_000))
    assert key.transpose_for(CARD, False) == 0
    key = RunningKey()
    key.add_notes(frames(spoken - 5))
    assert key.transpose_for(replace(CARD, spoken_pitch=CARD.pitch_where(False)), False) == 5
