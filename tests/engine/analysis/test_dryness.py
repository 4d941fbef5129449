"""A dry vocal beside the same with something else in it."""

import numpy as np
import pytest
from scipy import signal

from engine.analysis.dryness import Dryness
from engine.analysis.recording import analyse
from engine.audio.files import Audio
from engine.research.benchmark.mixes import beside, chords, hiss, in_a_room
from engine.units import SAMPLE_RATE


@pytest.fixture(scope="module")
def vocal(sing) -> np.ndarray:
    """Eight seconds of notes with rests."""
    return sing(8.0).astype(np.float64)


def dryness(samples: np.ndarray) -> Dryness:
    return analyse(Audio((0.5 * samples / np.abs(samples).max())[None].astype(np.float32), SAMPLE_RATE)).dryness


def test_dryness_of_a_voice_alone_gives_no_warning(vocal, sing):
    for samples in (vocal, beside(vocal, hiss(len(vocal), np.random.default_rng(0)), -40.0)):
        found = dryness(samples)
        assert (found.is_mix, found.is_reverberant, found.warning) == (False, False, None)


def test_dryness_does_not_mistake_a_long_note_for_a_mix():
    time_s = np.arange(6 * SAMPLE_RATE) / SAMPLE_RATE
    note = sum(np.sin(2 * np.pi * 220 * number * time_s) / number for number in range(1, 12))
    found = dryness(note)
    assert found.floors_db[1] > -6
    assert not found.is_mix


def slow_noise(length: int, hertz: float) -> np.ndarray:
    """Noise up to a frequency, its root mean square 1."""
    low = signal.butter(2, hertz, fs=SAMPLE_RATE, output="sos")
    made = signal.sosfilt(low, np.random.default_rng(3).standard_normal(length))
    return made / made.std()


def rough_notes() -> dict[str, np.ndarray]:
    """Six seconds of a note of 220 Hz, with power between its harmonics, by the kind of roughness."""
    time_s = np.arange(6 * SAMPLE_RATE) / SAMPLE_RATE

    def note(time_s: np.ndarray) -> np.ndarray:
        return sum(np.sin(2 * np.pi * 220 * number * time_s + number) / number for number in range(1, 12))

    return {
        "buzz": note(time_s) * (1 + 0.5 * np.sin(2 * np.pi * 70 * time_s)),
        "growl": note(time_s) * (1 + 0.5 * np.cos(2 * np.pi * 220 / 3 * time_s)),
        "creaks": note(time_s) * (1 + 0.4 * slow_noise(len(time_s), 80)),
        "jitter": note(time_s + 1e-4 * slow_noise(len(time_s), 60)),
    }


@pytest.mark.parametrize("kind", ["buzz", "growl", "creaks", "jitter"])
def test_dryness_does_not_mistake_a_rough_voice_for_a_mix(kind):
    rough = rough_notes()[kind]
    found = dryness(rough)
    assert found.score > 0
    assert not found.is_mix
    for level_db in (-9.0, 0.0):
        assert dryness(beside(rough, chords(len(rough), np.random.default_rng(1)), level_db)).is_mix


@pytest.mark.parametrize("level_db", [-6.0, 0.0])
def test_dryness_recognises_accompaniment(vocal, level_db):
    found = dryness(beside(vocal, chords(len(vocal), np.random.default_rng(1)), level_db))
    assert found.is_mix
    assert "accompaniment" in str(found.warning)


def test_dryness_recognises_a_second_voice(vocal, sing):
    other = np.roll(sing(8.0, hertz=180 * 2 ** (4.4 / 12), seed=1).astype(np.float64), SAMPLE_RATE)
    alone, both = dryness(vocal), dryness(beside(vocal, other, 0.0))
    assert both.between_db > alone.between_db + 10
    assert both.is_mix


def test_dryness_recognises_a_large_room(vocal):
    found = dryness(in_a_room(vocal, 0.8, np.random.default_rng(2), -6.0))
    assert found.decay_s == pytest.approx(0.8, rel=0.5)
    assert found.warning is not None


def test_dryness_does_not_judge_silence_and_short_recordings(vocal):
    silent = analyse(Audio(np.zeros((1, 4 * SAMPLE_RATE), np.float32), SAMPLE_RATE)).dryness
    assert (silent.between_db, silent.is_mix) == (None, False)
    short = beside(vocal, chords(len(vocal), np.random.default_rng(1)), 0.0)[: 2 * SAMPLE_RATE]
    assert dryness(short).warning is None


def test_dryness_tells_a_close_voice_from_one_with_a_room_or_others(vocal, sing):
    drawn = np.random.default_rng(1)
    assert dryness(vocal).is_close
    assert dryness(beside(vocal, hiss(len(vocal), drawn), -40.0)).is_close
    assert not dryness(beside(vocal, chords(len(vocal), drawn), -9.0)).is_close
    assert not dryness(in_a_room(vocal, 0.5, drawn, -6.0)).is_close
    other = np.roll(sing(8.0, hertz=180 * 2 ** (4.4 / 12), seed=1).astype(np.float64), SAMPLE_RATE)
    assert not dryness(beside(vocal, other, -6.0)).is_close
