"""A stretch of a recording: exactly its samples, and sentences for stretches that are none."""

import numpy as np
import pytest

from engine.audio.files import Audio, read_audio, write_audio
from engine.audio.streams import cut_recording
from engine.errors import AudioError, SettingsError

RATE = 16_000


@pytest.fixture
def ramp(tmp_path):
    """Three seconds whose every sample is another, in two channels."""
    samples = np.linspace(-0.9, 0.9, 3 * RATE, dtype=np.float32)
    path = tmp_path / "ramp.wav"
    write_audio(path, Audio(np.stack([samples, -samples]), RATE))
    return path


@pytest.mark.parametrize(("start_s", "stop_s"), [(0.0, 1.0), (0.5, 2.25), (2.0, 3.0), (1.0, 9.0)])
def test_cut_recording_keeps_exactly_the_samples_of_the_range(ramp, tmp_path, start_s, stop_s):
    cut_recording(ramp, tmp_path / "cut.wav", start_s, stop_s)
    whole, cut = read_audio(ramp), read_audio(tmp_path / "cut.wav")
    assert cut.rate == whole.rate
    assert np.array_equal(cut.samples, whole.samples[:, round(start_s * RATE) : round(stop_s * RATE)])


def test_cut_recording_across_blocks_has_no_seam(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.audio.streams._BLOCK", 1000)
    samples = np.random.default_rng(0).uniform(-0.5, 0.5, (1, 2 * RATE)).astype(np.float32)
    write_audio(tmp_path / "noise.wav", Audio(samples, RATE))
    cut_recording(tmp_path / "noise.wav", tmp_path / "cut.wav", 0.31, 1.57)
    whole = read_audio(tmp_path / "noise.wav").samples
    assert np.array_equal(read_audio(tmp_path / "cut.wav").samples, whole[:, round(0.31 * RATE) : round(1.57 * RATE)])


def test_cut_recording_without_a_range_keeps_the_whole_file_in_another_format(ramp, tmp_path):
    cut_recording(ramp, tmp_path / "whole.flac")
    assert np.array_equal(read_audio(tmp_path / "whole.flac").samples, read_audio(ramp).samples)


@pytest.mark.parametrize(("start_s", "stop_s"), [(1.0, 1.05), (2.0, 1.0), (-1.0, 2.0)])
def test_cut_recording_refuses_a_range_that_is_too_short(ramp, tmp_path, start_s, stop_s):
    with pytest.raises(SettingsError, match="too short"):
        cut_recording(ramp, tmp_path / "cut.wav", start_s, stop_s)


def test_cut_recording_refuses_a_range_after_the_end_and_leaves_nothing(ramp, tmp_path):
    with pytest.raises(SettingsError, match=r"ends before 5\.0 s"):
        cut_recording(ramp, tmp_path / "cut.wav", 5.0, 6.0)
    assert not (tmp_path / "cut.wav").exists()


def test_cut_recording_names_a_file_that_is_not_audio(tmp_path):
    (tmp_path / "text.wav").write_text("no audio")
    with pytest.raises(AudioError, match=r"text\.wav"):
        cut_recording(tmp_path / "text.wav", tmp_path / "cut.wav", 0.0, 1.0)
