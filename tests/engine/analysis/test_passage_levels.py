import numpy as np
import pytest

from engine.analysis.passage_levels import LEVEL_DB, PASSAGE_S, PassageLeveller, RunningGain, level_passages
from engine.units import decibels

RATE = 16_000


def note(seconds: float, db: float, hertz: float = 220.0) -> np.ndarray:
    """A tone of so many dB, root mean square."""
    return (10 ** (db / 20) * np.sqrt(2) * np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE)).astype(
        np.float32
    )


def level_db(samples: np.ndarray) -> float:
    return float(decibels(np.sqrt(np.square(samples, dtype=float).mean())))


@pytest.mark.parametrize("db", [-3.0, -20.0, -42.0, -60.0])
def test_level_passages_brings_a_recording_of_any_level_to_the_same(db):
    found = level_passages(note(2.0, db), RATE)
    assert found.dtype == np.float32
    assert level_db(found) == pytest.approx(LEVEL_DB, abs=0.2)


def test_level_passages_raises_a_soft_passage_of_a_loud_recording():
    levelled = level_passages(np.concatenate([note(6.0, -12.0), note(6.0, -50.0)]), RATE)
    assert level_db(levelled[RATE : 5 * RATE]) == pytest.approx(LEVEL_DB, abs=0.2)
    assert level_db(levelled[8 * RATE : 11 * RATE]) == pytest.approx(LEVEL_DB, abs=0.2)


def test_level_passages_does_not_raise_the_end_of_a_note_against_its_beginning():
    decay = note(1.0, -12.0) * np.geomspace(1.0, 0.01, RATE).astype(np.float32)
    gain = level_passages(decay, RATE) / np.where(decay == 0, 1, decay)
    loud = np.abs(decay) > 1e-5
    assert np.ptp(decibels(gain[loud])) < 0.1


def test_level_passages_leaves_hum_far_below_the_voice_where_it_is():
    gains = [
        level_db(level_passages(np.concatenate([note(6.0, -12.0), note(6.0, db, 120.0)]), RATE)[9 * RATE :]) - db
        for db in (-40.0, -70.0)
    ]
    assert gains[0] == pytest.approx(28.0, abs=0.5)
    assert gains[1] == pytest.approx(0.0, abs=0.5)


@pytest.mark.parametrize("samples", [1, 100, 5000])
def test_level_passages_keeps_silence_and_any_length(samples):
    np.testing.assert_array_equal(level_passages(np.zeros(samples, np.float32), RATE), np.zeros(samples))


def test_level_passages_gives_a_moment_the_same_gain_in_any_window():
    rng = np.random.default_rng(0)
    loudness = np.repeat(10 ** (rng.uniform(-30, -10, 40) / 20), RATE // 4)
    samples = (note(10.0, 0.0) * loudness).astype(np.float32)
    whole = level_passages(samples, RATE)
    around = round((PASSAGE_S + 0.1) * RATE)
    first, stop = 3 * RATE, 6 * RATE
    piece = level_passages(samples[first - around : stop + around], RATE)[around:-around]
    np.testing.assert_allclose(piece, whole[first:stop], atol=1e-5)


@pytest.mark.parametrize("block", [1000, 16_000, 160_000])
def test_passage_leveller_levels_a_stream_as_a_whole(block):
    samples = np.concatenate([note(4.0, -12.0), note(4.0, -40.0), note(3.3, -20.0)])
    leveller = PassageLeveller(RATE)
    pieces = [leveller.push(samples[first : first + block]) for first in range(0, len(samples), block)]
    levelled = np.concatenate([*pieces, leveller.push(np.zeros(0, np.float32), last=True)])
    np.testing.assert_allclose(levelled, level_passages(samples, RATE), atol=1e-4)


def test_running_gain_follows_a_quiet_microphone_and_not_the_hum_in_its_pauses():
    gain, samples = RunningGain(RATE), np.concatenate([note(2.0, -50.0), note(6.0, -97.0, 60.0)])
    found = [gain.db(samples[max(0, end - 5000) : end], 960) for end in range(960, len(samples), 960)]
    assert found[20] == pytest.approx(LEVEL_DB + 50.0, abs=0.5)
    assert max(found) < LEVEL_DB + 51.0


def test_running_gain_falls_at_once_for_a_louder_passage():
    gain, samples = RunningGain(RATE), np.concatenate([note(3.0, -50.0), note(1.0, -12.0)])
    found = [gain.db(samples[max(0, end - 5000) : end], 960) for end in range(960, len(samples), 960)]
    assert found[3 * RATE // 960 + 2] == pytest.approx(LEVEL_DB + 12.0, abs=1.0)
