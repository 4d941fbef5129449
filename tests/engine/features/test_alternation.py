from pathlib import Path

import numpy as np
import soxr

from engine.audio.files import read_audio
from engine.features.alternation import Alternation
from engine.features.speakers import Turn
from engine.features.survey import survey_recording
from engine.networks.base import load_base
from engine.units import SAMPLE_RATE

SAMPLES = Path(__file__).parents[3] / "engine" / "samples"


def spoken(name: str) -> np.ndarray:
    audio = read_audio(SAMPLES / name)
    return soxr.resample(audio.samples.T, audio.rate, SAMPLE_RATE).T.astype(np.float32)


def test_alternation_says_who_is_heard_when_at_which_pitch_and_what_to_do():
    found = Alternation((Turn(0, 0.0, 12.0), Turn(1, 12.0, 24.0)), {0: 45.0, 1: 57.0})
    assert "(0:00-0:12 around A2, 0:12-0:24 around A3)" in found.warning
    assert "--from" in found.warning


def test_survey_finds_a_low_and_a_high_speaker_in_turn_but_not_one_of_them_alone():
    low, high = spoken("foreign/speech-low.flac"), spoken("foreign/speech-high.flac")
    alternation = survey_recording([np.concatenate([low, high, low, high], axis=1)], load_base()).alternation
    assert alternation is not None
    assert {turn.speaker for turn in alternation.turns} == {0, 1}
    assert survey_recording([low], load_base()).alternation is None
    assert survey_recording([high], load_base()).alternation is None
