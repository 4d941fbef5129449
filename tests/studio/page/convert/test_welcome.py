"""The sample that a new visitor finds, in two voices; no browser."""

import json

import numpy as np

from engine.analysis.pitch import detect_pitch
from engine.audio.files import read_audio
from studio.actions.analyses import SAMPLES_PLACE
from studio.page.convert.welcome import MELODY, SAMPLE, VOICES
from tests.welcome import melody, semitones_above


def test_previews_of_the_welcome_are_the_sample_as_much_higher_as_it_is_drawn():
    sung = read_audio(SAMPLES_PLACE / SAMPLE.path)
    before = detect_pitch(sung.mono(), sung.rate)
    drawn = json.loads(MELODY.read_text(encoding="utf-8"))["transposed"]
    assert set(drawn) == set(VOICES)
    for voice in VOICES:
        shift = semitones_above(before, voice)
        assert len(shift) > 0.5 * len(before)
        assert np.mean(np.abs(shift - drawn[voice]) < 0.5) > 0.9


def test_melody_of_the_welcome_is_that_of_the_sample():
    kept, found = json.loads(MELODY.read_text(encoding="utf-8"))["roll"], melody()["roll"]
    curves = [np.array(one["curves"][0]["hertz"]) for one in (kept, found)]
    sung = np.array(found["curves"][0]["confidence"]) > 0.6
    assert kept["duration_s"] == found["duration_s"]
    assert np.mean(np.abs(12 * np.log2(curves[0] / curves[1]))[sung] < 0.2) > 0.95
    middle = [round((one["start_s"] + one["end_s"]) / 2 / kept["curves"][0]["step_s"]) for one in kept["notes"]]
    drawn = np.array([one["midi"] + one["cents"] / 100 for one in kept["notes"]])
    assert np.mean(np.abs(69 + 12 * np.log2(curves[1][middle] / 440) - drawn) < 1) > 0.9
