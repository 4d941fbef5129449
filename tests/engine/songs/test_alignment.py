import numpy as np
import pytest

from engine.audio.files import resample
from engine.errors import AudioError, SettingsError
from engine.songs.alignment import align
from engine.units import SAMPLE_RATE
from tests.engine.songs.conftest import chords, save


@pytest.fixture(scope="module")
def sung(sing):
    return sing(14.0, seed=1)


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
