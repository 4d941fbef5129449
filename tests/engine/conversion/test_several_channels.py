"""Whatever the channels of a recording do to the voice, the converted voice has it, and the old voice is gone."""

from pathlib import Path

import numpy as np
import pytest
from scipy import signal

from engine.audio.channels import delayed, fold
from engine.audio.files import Audio, read_audio
from engine.audio.resampling import resample
from engine.conversion.convert import convert
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.scores import speaker_similarity
from engine.units import SAMPLE_RATE
from engine.voices.voice import load_voice

SINGING = Path(__file__).parents[3] / "engine" / "samples" / "singing.flac"
NEAR = 0.03  # of likeness to the singer, beyond that of the mono conversion


def room(seed: int) -> np.ndarray:
    """Impulse response of a room of 1.2 s without its direct sound, of unit energy."""
    count = round(1.2 * SAMPLE_RATE)
    response = np.random.default_rng(seed).standard_normal(count) * 10 ** (-3 * np.arange(count) / count)
    return response / np.sqrt((response**2).sum())


def later(samples: np.ndarray, seconds: float) -> np.ndarray:
    return delayed(samples, round(seconds * SAMPLE_RATE))


def sung_again(samples: np.ndarray) -> np.ndarray:
    """The same words a little later, with another timing and tuning."""
    time = np.arange(len(samples))
    return np.interp(time - SAMPLE_RATE * (0.02 + 0.006 * np.sin(2 * time / SAMPLE_RATE)), time, samples)


STEREO = {
    "inverted": lambda voice: (voice, -voice),
    "two microphones": lambda voice: (voice, later(voice, 0.001)),
    "widened": lambda voice: (voice, later(voice, 0.012)),
    "doubled": lambda voice: (voice + 0.7 * later(voice, 0.025), voice + 0.7 * later(voice, 0.018)),
    "sung twice": lambda voice: (voice, sung_again(voice)),
    "in a room": lambda voice: tuple(voice + 0.5 * signal.fftconvolve(voice, room(n))[: len(voice)] for n in (1, 2)),
    "surround": lambda voice: (0 * voice, 0 * voice, voice, 0.1 * lfe(len(voice)), 0 * voice, 0 * voice),
}


def lfe(count: int) -> np.ndarray:
    return signal.lfilter(*signal.butter(2, 120 / (SAMPLE_RATE / 2)), np.random.default_rng(0).standard_normal(count))


@pytest.fixture(scope="module")
def singing() -> np.ndarray:
    audio = read_audio(SINGING)
    return 0.4 * resample(audio.mono(), audio.rate, SAMPLE_RATE)[: 5 * SAMPLE_RATE]


@pytest.fixture(scope="module")
def converted(singing) -> np.ndarray:
    return convert(Audio(singing[None], SAMPLE_RATE), load_voice("koguchi")).takes[0].audio.samples[0]


@pytest.fixture(scope="module")
def likeness_to_the_singer(singing):
    pytest.importorskip("resemblyzer")
    pytest.importorskip("speechmos")
    evaluator = Evaluator(words=False)
    singer = evaluator.embed(Audio(singing[None], SAMPLE_RATE))
    return lambda channel: speaker_similarity(evaluator.embed(Audio(channel[None], SAMPLE_RATE)), singer)


@pytest.mark.parametrize("kind", STEREO)
def test_convert_leaves_nothing_of_the_singer_in_any_channel(singing, converted, likeness_to_the_singer, kind):
    channels = np.stack(STEREO[kind](singing)).astype(np.float32)
    found = convert(Audio(channels, SAMPLE_RATE), load_voice("koguchi")).takes[0].audio.samples
    assert found.shape == channels.shape
    for before, after in zip(channels, found, strict=True):
        if fold(before[None]).any():
            assert likeness_to_the_singer(after) < likeness_to_the_singer(converted) + NEAR
            assert 20 * np.log10(after.std() / before.std()) == pytest.approx(0.0, abs=3.0)
        else:
            assert not after.any()


@pytest.mark.parametrize(("gain", "seconds"), [(-1.0, 0.0), (0.5, 0.0), (1.0, 0.012)])
def test_convert_keeps_polarity_balance_and_delay(singing, gain, seconds):
    channels = np.stack([singing, np.float32(gain) * later(singing, seconds)])
    left, right = convert(Audio(channels, SAMPLE_RATE), load_voice("koguchi")).takes[0].audio.samples
    wanted = gain * later(left, seconds)
    assert ((right - wanted) ** 2).sum() < 0.01 * (wanted**2).sum()
