import numpy as np
import pytest
import torch
from scipy import signal

from engine.audio.ambience import Ambience, ambience_of
from engine.units import SAMPLE_RATE


def room(samples: np.ndarray, seconds: float, seed: int) -> np.ndarray:
    """What a room that decays by 60 dB in so many seconds makes of a sound, at the sound's level."""
    count = round(seconds * SAMPLE_RATE)
    response = np.random.default_rng(seed).standard_normal(count) * 10 ** (-3 * np.arange(count) / count)
    heard = signal.fftconvolve(samples, response)[: len(samples)]
    return (heard * samples.std() / heard.std()).astype(np.float32)


def likeness(one: np.ndarray, other: np.ndarray) -> float:
    """Correlation of the loudness in pieces of 40 ms."""
    pieces = [samples[: len(samples) // 1764 * 1764].reshape(-1, 1764).std(1) for samples in (one, other)]
    return float(np.corrcoef(*pieces)[0, 1])


def of(ambience: Ambience, converted: np.ndarray) -> np.ndarray:
    return ambience.of(torch.from_numpy(converted)).numpy()


@pytest.fixture(scope="module")
def voice(sing) -> np.ndarray:
    return sing(4.0)


@pytest.fixture(scope="module")
def converted(sing) -> np.ndarray:
    return sing(4.0, 250.0, seed=7)


@pytest.mark.parametrize("seconds", [0.3, 1.2])
def test_ambience_gives_the_converted_voice_the_room(voice, converted, seconds):
    tail = room(voice, seconds, 1)
    ambience = ambience_of(tail, voice, 0)
    found = of(ambience, converted)
    assert of(ambience, np.zeros_like(converted)).std() < 0.15 * tail.std()  # nothing of the old voice
    assert likeness(found, room(converted, seconds, 2)) > 0.5
    assert found.std() == pytest.approx(converted.std(), rel=0.3)


def test_ambience_replaces_the_same_words_sung_again(voice, converted):
    time = np.arange(len(voice))
    again = np.interp(time - SAMPLE_RATE * (0.02 + 0.006 * np.sin(2 * time / SAMPLE_RATE)), time, voice)
    ambience = ambience_of(again.astype(np.float32), voice, 1)
    found = of(ambience, converted)
    assert of(ambience, np.zeros_like(converted)).std() < 0.1 * again.std()  # nothing of the old voice
    assert likeness(found, converted) > 0.8


def test_ambience_keeps_steady_noise(voice, converted):
    hiss = (0.02 * np.random.default_rng(3).standard_normal(len(voice))).astype(np.float32)
    np.testing.assert_array_equal(of(ambience_of(hiss, voice, 0), converted), hiss)


def test_ambience_keeps_other_sounds(voice, converted):
    time = np.arange(len(voice)) / SAMPLE_RATE
    piano = sum(
        np.where(time >= start, np.sin(2 * np.pi * hertz * time) * np.exp(-4 * np.clip(time - start, 0, None)), 0)
        for start, hertz in ((0.31, 220.0), (1.17, 330.0), (2.23, 277.0), (3.05, 440.0))
    )
    piano = (0.1 * piano).astype(np.float32)
    np.testing.assert_array_equal(of(ambience_of(piano, voice, 0), converted), piano)


def test_ambience_is_another_in_each_channel(voice, converted):
    tail = room(voice, 1.0, 1)
    left, right = (of(ambience_of(tail, voice, number), converted) for number in (0, 1))
    assert abs(np.corrcoef(left, right)[0, 1]) < 0.5


def test_ambience_of_a_short_piece_has_its_length(voice, converted):
    found = of(ambience_of(room(voice, 0.3, 1)[:500], voice[:500], 0), converted[:500])
    assert found.shape == (500,)
    assert np.isfinite(found).all()
