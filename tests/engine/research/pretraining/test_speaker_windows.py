"""Simulated conditions have the room, the noise and the equalizer that they should, the same for a speaker."""

import multiprocessing.pool

import numpy as np
import soundfile

from engine.analysis.envelope import BANDS
from engine.networks.timbre_encoder import TIMBRE
from engine.research.pretraining import speaker_windows as module
from engine.research.pretraining.speaker_windows import CONDITIONS, Recording, embed_recordings, simulate_condition
from engine.units import DECIBELS_PER_NEPER


def simulate(envelope: np.ndarray, seed: int, in_room: bool) -> np.ndarray:
    return simulate_condition(envelope.astype(np.float32), np.random.default_rng(seed), in_room)


def test_simulate_condition_colours_all_frames_alike_where_there_is_no_room_or_noise():
    """Of 40 draws, about 14 have neither."""
    envelope = np.random.default_rng(0).normal(-2, 1, (50, BANDS))
    plain = [found for seed in range(40) if np.ptp(found := simulate(envelope, seed, False) - envelope, 0).max() < 1e-4]
    assert 7 < len(plain) < 22
    gains_db = np.array([found[0] for found in plain]) * DECIBELS_PER_NEPER
    assert 1 < gains_db.std(0)[10:].min() < gains_db.std(0).max() < 20  # below the tenth band the low cut


def test_simulate_condition_decays_by_60_db_in_at_most_a_second_in_a_room():
    envelope = np.full((100, BANDS), -30.0)
    envelope[10] = 0.0
    seconds = []
    for seed in range(30):
        level_db = simulate(envelope, seed, True)[:, 40] * DECIBELS_PER_NEPER
        steps_db = np.diff(level_db[11:25])
        if np.ptp(steps_db) < 0.01:  # no noise that near
            seconds.append(60 / (-100 * steps_db.mean()))
            assert -23 < level_db[11] - level_db[10] < -7
    assert len(seconds) > 10
    assert 0.3 <= min(seconds) < 0.5
    assert 0.8 < max(seconds) <= 1.0


def test_simulate_condition_adds_noise_25_db_or_more_below_the_level():
    floors_db = [simulate(np.full((5, BANDS), -30.0), seed, False).max(1)[0] * DECIBELS_PER_NEPER for seed in range(40)]
    noisy = [floor_db for floor_db in floors_db if floor_db > -120]
    assert 12 < len(noisy) < 28
    assert max(noisy) < -25 + 4.343 * 4.7  # at the lowest band, 4.7 octaves below 1 kHz


def test_embed_recordings_gives_a_speaker_one_condition_and_each_recording_its_level(tmp_path, sing, monkeypatch):
    monkeypatch.setattr(module, "working_processes", lambda: multiprocessing.pool.ThreadPool(1))
    soundfile.write(tmp_path / "a.wav", sing(3.9), 44_100)
    soundfile.write(tmp_path / "silence.wav", np.zeros(44_100), 44_100)
    recordings = [Recording(5, "a.wav", "set/one", "f"), Recording(5, "a.wav", "set/one", "f")]
    recordings += [Recording(6, "a.wav", "set/one", "f"), Recording(5, "a.wav", "set/two", "m")]
    recordings.append(Recording(7, "silence.wav", "set/three", "m"))
    found = embed_recordings(tmp_path, tmp_path / "clips", recordings, lambda fraction, message: None)
    assert found.timbres.shape == (4 * CONDITIONS * 2, TIMBRE)  # from the start, and from the first second on
    same, again, louder, other = found.timbres.reshape(4, CONDITIONS, 2, TIMBRE)
    np.testing.assert_array_equal(same, again)
    np.testing.assert_array_equal(same[0], other[0])
    np.testing.assert_array_equal(same[0], louder[0])
    difference = [np.abs(same - one)[1:].mean() for one in (louder, other)]
    assert 0 < difference[0] < difference[1]
    assert found.speaker.tolist() == ["set/one"] * 18 + ["set/two"] * 6
    assert found.sex.tolist() == ["f"] * 18 + ["m"] * 6
    assert found.condition.tolist() == [0, 0, 1, 1, 2, 2] * 4
    assert found.chosen(found.condition == 0).recording.tolist() == [5, 5, 5, 5, 6, 6, 5, 5]
