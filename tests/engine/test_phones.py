import sys
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.audio import read_audio, resample
from engine.errors import TrainingError
from engine.phones import PHONES, RECOGNISER_RATE, UNLABELLED, label_phones


def test_there_are_forty_phones_and_silence_is_the_first():
    assert len(PHONES) == len(set(PHONES)) == 40
    assert PHONES[0] == "SIL"


def test_without_the_recogniser_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pocketsphinx", None)
    with pytest.raises(TrainingError, match="'evaluation' extra"):
        label_phones(np.zeros(16_000, np.float32))


@pytest.mark.parametrize("samples", [0, 100, 16_000])
def test_silence_is_unlabelled(samples):
    pytest.importorskip("pocketsphinx")
    labels = label_phones(np.zeros(samples, np.float32))
    assert labels.dtype == np.int8
    assert labels.shape == (samples // 160,)
    assert (labels == UNLABELLED).all()


def test_speech_has_its_phones_on_the_grid():
    pytest.importorskip("pocketsphinx")
    audio = read_audio(Path(engine.__path__[0]) / "samples" / "speech.flac")
    samples = resample(audio.mono()[: 3 * audio.rate], audio.rate, RECOGNISER_RATE)
    labels = label_phones(samples)
    assert labels.shape == (300,)
    assert (labels >= 0).mean() > 0.8
    assert len(set(labels.tolist())) > 8
    loudness = np.square(samples.reshape(300, 160)).mean(1)
    assert loudness[labels == 0].mean() < 0.3 * loudness[labels > 0].mean()
