"""Phrases, positions in a song, and the files that place them in other programs."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.notes import Note
from engine.analysis.phrases import Phrase, find_phrases
from engine.analysis.pitch import Pitch
from engine.analysis.timeline import Timeline, cue_sheet, marker_labels
from engine.errors import SettingsError
from engine.units import FRAME_RATE


def performance(*parts: tuple[float, bool]) -> tuple[Pitch, np.ndarray]:
    """Seconds that are sung, or not."""
    sung = np.concatenate([np.full(round(seconds * FRAME_RATE), is_sung) for seconds, is_sung in parts])
    pitch = Pitch(np.full(len(sung), 220.0, np.float32), np.where(sung, 0.95, 0.05).astype(np.float32))
    return pitch, np.where(sung, -20.0, -90.0)


def test_find_phrases_splits_at_rests_but_not_at_consonants():
    sung = performance((0.5, True), (0.2, False), (0.5, True), (0.6, False), (1.0, True), (0.5, False), (0.1, True))
    assert find_phrases(*sung) == [Phrase(0.0, 1.2), Phrase(1.8, 2.8)]  # the last is too short to be one


def test_find_phrases_returns_nothing_for_silence():
    assert find_phrases(*performance((2.0, False))) == []


def test_timeline_position_is_a_bar_with_a_tempo_and_a_time_without():
    waltz = Timeline(tempo_bpm=90.0, beats_per_bar=3, start_s=2.0)
    assert waltz.position(0.0) == "bar 002.1.000"
    assert waltz.position(1.0) == "bar 002.2.480"
    assert Timeline(start_s=3599.5).position(0.4996) == "01h00m00.000s"


@given(st.lists(st.floats(0.0, 1900.0), min_size=2, max_size=5), st.sampled_from([0.0, 61.7, 120.0]))
def test_timeline_positions_sort_by_time(times_s, tempo_bpm):
    positions = [Timeline(tempo_bpm=tempo_bpm).position(one) for one in sorted(times_s)]
    assert positions == sorted(positions)


def test_timeline_refuses_a_negative_tempo():
    with pytest.raises(SettingsError, match="tempo_bpm"):
        Timeline(tempo_bpm=-1.0)


def test_cue_sheet_and_marker_labels_list_each_phrase():
    phrases = [Phrase(0.0, 1.2), Phrase(1.8, 2.8)]
    notes = [Note(0.0, 0.5, 57, 0.0), Note(0.6, 1.2, 60, 10.0)]
    assert cue_sheet(phrases, notes, Timeline(tempo_bpm=120.0)).splitlines() == [
        "phrase,position,start_s,end_s,lowest,highest,notes",
        "1,bar 001.1.000,0.000,1.200,A3,C4,2",
        "2,bar 001.4.576,1.800,2.800,,,0",
    ]
    rows = np.loadtxt(io.StringIO(marker_labels(phrases)), delimiter="\t", usecols=(0, 1))
    assert rows.tolist() == [[0.0, 1.2], [1.8, 2.8]]
