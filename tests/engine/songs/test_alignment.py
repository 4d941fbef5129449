from pathlib import Path

import numpy as np
import pytest

import engine
from engine.audio.files import read_audio
from engine.audio.resampling import resample
from engine.errors import AudioError, SettingsError
from engine.songs.alignment import align, check_offset, shared_lag
from engine.units import SAMPLE_RATE
from tests.engine.songs.conftest import chords, save


@pytest.fixture(scope="module")
def sung(sing):
    return sing(14.0, seed=1)


@pytest.mark.parametrize("given", [-600, 1.5, np.float32(1.5), np.int16(-3)])
def test_check_offset_takes_any_number_within_ten_minutes(given):
    assert check_offset(given) == given


@pytest.mark.parametrize("given", [600.1, float("nan"), float("inf"), "2", None, [1.0]])
def test_check_offset_refuses_anything_else(given):
    with pytest.raises(SettingsError, match="from -600 to 600 seconds"):
        check_offset(given)


@pytest.mark.parametrize(("offset", "rate"), [(0, 44_100), (12_345, 44_100), (-7_001, 44_100), (30_870, 48_000)])
def test_align_finds_a_bleeding_vocal_to_the_sample(sung, tmp_path, offset, rate):
    backing = chords(16.0)
    start = max(0, offset)
    part = sung[max(0, -offset) :][: len(backing) - start]
    backing[start : start + len(part)] += 0.1 * part  # -20 dB
    vocal = save(tmp_path / "v.wav", sung)
    held = resample(np.stack([backing, backing]), SAMPLE_RATE, rate)
    found = align(vocal, save(tmp_path / "b.wav", *held, rate=rate))
    assert (found.samples, found.reason) == (offset, "found by correlation")
    assert found.trace_db == pytest.approx(-20, abs=2)


def test_align_refuses_a_backing_that_holds_the_vocal(sung, tmp_path):
    backing = chords(14.0) + 0.8 * sung
    with pytest.raises(AudioError, match=r'"b\.wav" already holds the vocal \(-2 dB\)'):
        align(save(tmp_path / "v.wav", sung), save(tmp_path / "b.wav", backing))
    assert align(tmp_path / "v.wav", tmp_path / "b.wav", may_hold=True).samples == 0


def test_align_begins_equally_long_files_together(sung, tmp_path):
    found = align(save(tmp_path / "v.wav", sung), save(tmp_path / "b.wav", chords(14.05)))
    assert (found.offset_s, found.trace_db, found.reason) == (0.0, None, "both are equally long")


def test_align_requires_an_offset_when_it_finds_none(sung, tmp_path):
    vocal, backing = save(tmp_path / "v.wav", sung), save(tmp_path / "b.wav", chords(20.0))
    with pytest.raises(SettingsError, match="lasts 14 seconds, the backing 20 seconds"):
        align(vocal, backing)
    assert align(vocal, backing, 1.5).samples == 66_150
    with pytest.raises(SettingsError, match="offset must be"):
        align(vocal, backing, float("nan"))


def test_align_reports_a_silent_vocal(tmp_path):
    silent = save(tmp_path / "v.wav", np.zeros(SAMPLE_RATE, np.float32))
    with pytest.raises(AudioError, match=r'"v\.wav" is silent'):
        align(silent, save(tmp_path / "b.wav", chords(1.0)))


def test_align_accepts_a_vocal_that_begins_after_five_minutes(sung, tmp_path):
    rate, late = 8000, resample(sung, SAMPLE_RATE, 8000)
    vocal = np.concatenate([np.zeros(302 * rate, np.float32), late])
    backing = 0.1 * np.random.default_rng(0).standard_normal(len(vocal)).astype(np.float32)
    found = align(save(tmp_path / "v.wav", vocal, rate=rate), save(tmp_path / "b.wav", backing, rate=rate))
    assert (found.offset_s, found.reason) == (0.0, "both are equally long")


def clicks(seconds, seed):
    """One click each half second."""
    drawn, made = np.random.default_rng(seed), np.zeros(round(seconds * SAMPLE_RATE), np.float32)
    for start in range(SAMPLE_RATE // 2, len(made) - 200, SAMPLE_RATE // 2):
        made[start : start + 200] = 0.5 * drawn.standard_normal(200) * np.exp(-np.arange(200) / 40)
    return made


def tone(hertz, seconds, harmonics=1):
    time_s = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    return sum(0.3 / one * np.sin(2 * np.pi * hertz * one * time_s) for one in range(1, harmonics + 1)).astype("f4")


def with_phrase(backing, phrase, offset_s, level_db):
    """Return the backing with the phrase in it, at a level against the backing's."""
    held, start = backing.copy(), round(offset_s * SAMPLE_RATE)
    part = phrase[max(0, -start) :][: len(held) - max(0, start)]
    gain = 10 ** (level_db / 20) * np.sqrt(np.mean(backing**2) / np.mean(phrase**2))
    held[max(0, start) :][: len(part)] += gain * part
    return held


SHARED = [  # length and level of the phrase, length of the backing, offset
    *((1.2, 0, 6, 2.1), (1.2, 0, 30, 17.3), (1.5, -6, 20, 18.2), (2.0, -12, 6, 1.3), (3.0, -6, 8, -0.7)),
    *((3.0, -15, 30, 9.0), (6.0, -20, 10, 2.2), (8.0, -20, 8, 0.0), (8.0, -20, 14, 3.3)),
]


@pytest.mark.parametrize("backing", ["chords", "clicks", "noise", "another singer"])
def test_shared_lag_finds_phrases_to_the_millisecond(sung, backing):
    made = {
        "chords": lambda length: chords(length, seed=3),
        "clicks": lambda length: clicks(length, 4),
        "noise": lambda length: np.random.default_rng(5).standard_normal(round(length * SAMPLE_RATE)).astype("f4"),
        "another singer": lambda length: np.tile(recorded("singing"), 5)[: round(length * SAMPLE_RATE)],
    }[backing]
    for length_s, level_db, backing_s, offset_s in SHARED:
        phrase = sung[SAMPLE_RATE // 4 :][: round(length_s * SAMPLE_RATE)]
        held = with_phrase(made(backing_s), phrase, offset_s, level_db)
        lag = shared_lag(low(phrase), low(held), 4_000)
        assert lag.is_sure, (length_s, level_db, lag)
        assert abs(lag.samples / 4_000 - offset_s) < 0.001


def recorded(name):
    return read_audio(Path(engine.__file__).parent / "samples" / f"{name}.flac").samples.mean(0)


def low(samples):
    return resample(samples, SAMPLE_RATE, 4_000)


UNSHARED = {
    "a phrase and chords": lambda sung: (sung[: round(1.2 * SAMPLE_RATE)], chords(6)),
    "a phrase and long chords": lambda sung: (sung[: 2 * SAMPLE_RATE], chords(30)),
    "a phrase and clicks": lambda sung: (sung[: round(1.2 * SAMPLE_RATE)], clicks(5, 1)),
    "a vocal and clicks": lambda sung: (sung, clicks(30, 1)),
    "a vocal and another": lambda sung: (sung, recorded("singing")),
    "a singer and a speaker": lambda sung: (recorded("singing"), recorded("speech")),
    "a spoken phrase and chords": lambda sung: (recorded("speech")[: round(1.2 * SAMPLE_RATE)], chords(6)),
    "clicks and other clicks": lambda sung: (clicks(8, 1), clicks(20, 2)),
    "tones": lambda sung: (tone(220, 30), tone(330, 30)),
    "the same tone and chords": lambda sung: (tone(220, 20), tone(220, 20) + chords(20)),
    "a note and its chord": lambda sung: (tone(220, 20, 7), tone(275, 20, 7) + 0.3 * tone(220, 20, 7)),
    "a note and a longer one": lambda sung: (tone(220, 3, 7), tone(220, 13, 7) + chords(13)),
    "a loop and its repetition": lambda sung: (chords(2), np.tile(chords(2), 6)),
    "a phrase and its repetition": lambda sung: (sung[: 2 * SAMPLE_RATE], np.tile(sung[: 2 * SAMPLE_RATE], 5)),
}


@pytest.mark.parametrize("pair", UNSHARED)
def test_shared_lag_is_not_sure_of_pairs_that_share_nothing_or_repeat_it(sung, pair):
    one, other = UNSHARED[pair](sung)
    lag = shared_lag(low(one), low(other), 4_000)
    assert not lag.is_sure, lag


@pytest.mark.parametrize("seconds", [3, 20, 30])
def test_align_leaves_steady_tones_of_equal_length_where_they_are(tmp_path, seconds):
    found = align(save(tmp_path / "v.wav", tone(220, seconds, 7)), save(tmp_path / "b.wav", tone(330, seconds, 7)))
    assert (found.offset_s, found.reason) == (0.0, "both are equally long")


def test_align_requires_an_offset_of_a_short_phrase_with_a_foreign_backing(sung, tmp_path):
    vocal = save(tmp_path / "v.wav", sung[: round(1.2 * SAMPLE_RATE)])
    for seconds in (5.0, 6.0, 30.0):
        with pytest.raises(SettingsError, match="--offset"):
            align(vocal, save(tmp_path / "b.wav", chords(seconds)))


def test_align_finds_a_phrase_near_the_end_of_a_backing(sung, tmp_path):
    phrase = sung[: round(1.5 * SAMPLE_RATE)]
    held = with_phrase(chords(20), phrase, 18.2, -10)
    found = align(save(tmp_path / "v.wav", phrase), save(tmp_path / "b.wav", held), may_hold=True)
    assert found.samples == round(18.2 * SAMPLE_RATE)
