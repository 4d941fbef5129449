from pathlib import Path

import numpy as np
import pytest

from engine.audio.files import Audio, read_audio
from engine.errors import AudioError
from engine.research.demonstrations.speaker_probe import SpeakerProbe, probe_speakers
from engine.units import SAMPLE_RATE

SAMPLES = Path(__file__).parents[4] / "engine" / "samples"


@pytest.fixture(scope="module")
def probes() -> list[SpeakerProbe]:
    """Of three people who read and one who sings."""
    files = ["speech.flac", "foreign/speech-low.flac", "foreign/speech-high.flac", "singing.flac"]
    return probe_speakers({name: [read_audio(SAMPLES / name)] for name in files})


def test_probe_speakers_identifies_speakers_better_by_mel_than_by_content(probes):
    mel, content = probes
    assert (mel.kind, content.kind) == ("mel", "content")
    assert mel.accuracy > 0.7
    assert content.accuracy < mel.accuracy - 0.2
    assert mel.chance == content.chance == 0.25


def test_probe_speakers_assigns_every_frame_to_a_speaker(probes):
    for probe in probes:
        assert probe.confusion.shape == (4, 4)
        np.testing.assert_allclose(probe.confusion.sum(1), 1.0)
        assert probe.accuracy == pytest.approx(np.trace(probe.confusion) / 4)


def test_probe_speakers_is_deterministic_with_a_seed(sing):
    people = {"low": [Audio(sing(1.0, 120.0)[None], SAMPLE_RATE)], "high": [Audio(sing(1.0, 400.0)[None], SAMPLE_RATE)]}
    first, second = probe_speakers(people, seed=3), probe_speakers(people, seed=3)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.confusion, other.confusion)


def test_probe_speakers_tests_on_the_later_of_several_recordings(sing):
    low, high = (Audio(sing(0.6, hertz)[None], SAMPLE_RATE) for hertz in (120.0, 400.0))
    mel, _ = probe_speakers({"low": [low, low], "high": [high, low]})
    # what is called high in the second half is low: the probe, which learned from the first, says so
    assert mel.confusion[0, 0] > 0.9
    assert mel.confusion[1, 0] > 0.9


def test_probe_speakers_refuses_a_single_speaker(sing):
    with pytest.raises(AudioError, match="at least 2 people"):
        probe_speakers({"alone": [Audio(sing(1.0)[None], SAMPLE_RATE)]})


def test_probe_speakers_names_a_speaker_with_silent_recordings(sing):
    silence = Audio(np.zeros((1, SAMPLE_RATE), np.float32), SAMPLE_RATE)
    with pytest.raises(AudioError, match="recordings of nobody is silent"):
        probe_speakers({"somebody": [Audio(sing(1.0)[None], SAMPLE_RATE)], "nobody": [silence]})
