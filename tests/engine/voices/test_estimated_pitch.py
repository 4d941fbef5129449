"""Estimates of speech from singing and of singing from speech, by people of whom both are published."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.pitch_statistics import PitchStatistics
from engine.voices.estimated_pitch import estimated_singing, estimated_speech

# Ozaki et al. (2024): gender, spoken (mean of description and recitation) and sung, rounded to semitones
PEOPLE = [
    *(("male", 46, 53), ("male", 47, 55), ("male", 43, 44), ("female", 57, 68), ("female", 55, 60), ("male", 46, 53)),
    *(("male", 46, 53), ("female", 58, 65), ("female", 53, 58), ("male", 46, 51), ("female", 60, 66), ("male", 43, 54)),
    *(("female", 56, 58), ("male", 43, 53), ("male", 44, 52), ("male", 47, 52), ("male", 49, 61), ("male", 47, 50)),
    *(("male", 46, 52), ("male", 39, 58), ("female", 53, 60), ("male", 44, 49), ("male", 45, 46), ("female", 55, 65)),
    *(("male", 47, 47), ("male", 46, 52), ("male", 44, 49), ("female", 55, 63), ("female", 58, 66), ("female", 54, 60)),
]


def middle(median):
    return PitchStatistics(median - 5.0, float(median), median + 5.0)


def test_estimated_speech_is_nearer_than_the_song_and_than_a_constant_distance():
    found = [estimated_speech(middle(sung), gender, "adult").median for gender, _, sung in PEOPLE]
    unknown = [estimated_speech(middle(sung), None, None).median for _, _, sung in PEOPLE]
    spoken, sung = np.array([(spoken, sung) for _, spoken, sung in PEOPLE]).T
    off = [np.abs(one - spoken).mean() for one in (found, unknown, sung - 8, sung)]
    assert off == sorted(off)
    assert off[0] < 2.0
    assert off[-1] > 6.0


def test_estimated_singing_is_nearer_than_the_speech():
    found = [estimated_singing(middle(spoken), gender, "adult").median for gender, spoken, _ in PEOPLE]
    spoken, sung = np.array([(spoken, sung) for _, spoken, sung in PEOPLE]).T
    assert np.abs(found - sung).mean() < 3.0 < 6.0 < np.abs(spoken - sung).mean()


@pytest.mark.parametrize(
    ("sung", "gender", "age", "spoken"),
    [
        *((55.43, "male", "adult", 46.2), (63.89, "female", "adult", 55.8), (55.43, None, None, 49.1)),
        *((63.89, "other", None, 55.3), (67.0, "female", "child", 60.5)),
        *((44.0, "male", "adult", 43.6), (50.0, "female", "adult", 50.0)),  # nobody speaks above their song
    ],
)
def test_estimated_speech_of_known_people(sung, gender, age, spoken):
    assert estimated_speech(middle(sung), gender, age).median == pytest.approx(spoken, abs=0.06)


@pytest.mark.parametrize(
    ("spoken", "gender", "age", "sung"),
    [
        *((44.8, "male", "adult", 51.3), (50.72, "female", "adult", 60.1), (50.72, None, None, 57.2)),
        (60.5, "female", "child", 67.0),
        (58.0, "male", "adult", 58.0),  # nor sings below their speech
    ],
)
def test_estimated_singing_of_known_people(spoken, gender, age, sung):
    assert estimated_singing(middle(spoken), gender, age).median == pytest.approx(sung, abs=0.06)


@given(st.floats(0, 140), st.sampled_from(["male", "female", "other", None]), st.sampled_from(["child", "adult", None]))
def test_estimates_are_statistics_in_order_and_speech_is_below_singing(median, gender, age):
    given = PitchStatistics(median, median, median)
    spoken, sung = estimated_speech(given, gender, age), estimated_singing(given, gender, age)
    for one in (spoken, sung):
        assert 0 <= one.low <= one.median <= one.high <= 150
    assert spoken.median <= median + 0.01
    assert sung.median >= median - 0.01
