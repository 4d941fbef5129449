"""The key of a performance: as for a recording of it, and steady."""

from dataclasses import replace

import numpy as np
import pytest

from engine.analysis.pitch import Pitch
from engine.live.running_key import RunningKey
from engine.units import semitones_to_hertz
from engine.voices.voice import load_voice

CARD = load_voice("safiye").card
MEDIAN = CARD.pitch_where(True).median


def curve(notes: np.ndarray, voicing: float | np.ndarray = 1.0) -> Pitch:
    hertz = semitones_to_hertz(notes).astype(np.float32)
    return Pitch(hertz, np.broadcast_to(np.float32(voicing), hertz.shape).astype(np.float32))


def held(note: float, count: int = 100) -> tuple[Pitch, np.ndarray]:
    return curve(np.full(count, note)), np.full(count, -20.0)


def spoken(note: float, count: int) -> tuple[Pitch, np.ndarray]:
    """Syllables of 0.12 to 0.2 s that glide down through a note, with as long stops between them."""
    random, pieces = np.random.default_rng(0), []
    while sum(map(len, pieces)) < count:
        length = int(random.integers(12, 21))
        glide = np.linspace(note + 3, note - 3, length)
        pieces.append(np.stack([np.r_[glide, glide[::-1]], np.arange(2 * length) < length]))
    notes, voicing = np.concatenate(pieces, 1)[:, :count]
    return curve(notes, voicing), np.where(voicing, -20.0, -60.0)


def test_transpose_is_unknown_until_a_second_was_sung():
    key = RunningKey()
    key.add(*held(MEDIAN - 12, 99))
    assert key.transpose_for(CARD, True) is None
    key.add(*held(MEDIAN - 12, 1))
    assert key.transpose_for(CARD, True) == 12


def test_transpose_stays_on_the_boundary_of_octaves_and_is_found_anew_when_asked():
    key = RunningKey()
    key.add(*held(MEDIAN - 8))
    assert key.transpose_for(CARD, True) == 12
    key.add(*held(MEDIAN - 6, 1000))  # another octave is not clearly nearer
    assert key.transpose_for(CARD, True) == 12
    key.forget_transpose()
    assert key.transpose_for(CARD, True) == 0


def test_transpose_follows_another_singer_within_a_minute():
    key = RunningKey()
    key.add(*held(MEDIAN - 12, 10_000))
    assert key.transpose_for(CARD, True) == 12
    key.add(*held(MEDIAN, 6000))
    assert key.transpose_for(CARD, True) == 0


def test_transpose_of_speech_goes_by_semitones():
    key, home = RunningKey(), CARD.pitch_where(False).median
    key.add(*held(home - 7))
    assert key.transpose_for(CARD, False) == 5  # of a voice that only sang: to within two of the estimate
    key.add(*held(home, 10_000))
    assert key.transpose_for(CARD, False) == 0
    key = RunningKey()
    key.add(*held(home - 5))
    assert key.transpose_for(replace(CARD, spoken_pitch=CARD.pitch_where(False)), False) == 5


@pytest.mark.parametrize(
    ("name", "note", "sung", "expected"),
    [
        ("goekhan", 45.0, True, 0),  # where the man would speak; he sings an octave above
        ("goekhan", 45.0, False, 0),
        ("goekhan", 54.0, True, 0),  # by octaves, as the key is to be kept
        ("goekhan", 54.0, False, -6),
        ("safiye", 45.0, True, 12),
        ("safiye", 45.0, False, 9),
        ("safiye", 54.0, True, 0),
    ],
)
def test_transpose_moves_speech_to_where_a_voice_would_speak_whatever_style_is_set(name, note, sung, expected):
    key, card = RunningKey(), load_voice(name).card
    key.add(*spoken(note, 1200))
    assert key.transpose_for(card, sung) == expected


def test_transpose_takes_a_song_for_a_song_in_a_voice_that_only_speaks():
    key, card = RunningKey(), load_voice("kathleen").card
    key.add(*held(card.pitch_where(False).median + 12, 1200))
    assert key.transpose_for(card, True) == -12
    key = RunningKey()
    key.add(*held(card.pitch_where(False).median + 7, 1200))
    assert key.transpose_for(card, True) == 0


def test_transpose_ignores_a_tone_that_is_heard_in_pauses_alone():
    key = RunningKey()
    key.add(*spoken(45.0, 600))
    key.add(curve(np.full(60, 95.6), 0.8), np.full(60, -65.0))  # above C7 with any shift up, and 45 dB softer
    assert key.transpose_for(CARD, False) == 9
