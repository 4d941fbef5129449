"""Stems lie together, and say where in the song they begin; a part is exactly its samples."""

import av
import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.audio.files import Audio, AudioWriter, read_audio, write_audio
from engine.audio.session_metadata import SessionPlace
from engine.audio.stems import Placing, cut_recording, write_stem
from engine.errors import AudioError, SettingsError

RATE, CUT_RATE = 8000, 16_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("stems")


@settings(max_examples=15)
@given(st.integers(1, 3000), st.integers(0, 2 * RATE), st.integers(0, RATE), st.sampled_from([1, 2]))
def test_write_stem_pads_the_recording_with_silence(folder, count, lead, more, channels):
    samples = np.random.default_rng(count).uniform(-0.5, 0.5, (count, channels)).astype(np.float32)
    soundfile.write(folder / "take.wav", samples, RATE, "PCM_24")
    kept, _ = soundfile.read(folder / "take.wav", always_2d=True, dtype="int32")
    total = lead + count + more
    write_stem(folder / "take.wav", folder / "stem.wav", Placing(lead / RATE, total / RATE, 3.5))
    stem, rate = soundfile.read(folder / "stem.wav", always_2d=True, dtype="int32")
    assert (rate, stem.shape) == (RATE, (total, channels))
    assert (stem[lead : lead + count] == kept).all()
    assert not stem[:lead].any()
    assert not stem[lead + count :].any()


@pytest.mark.parametrize("reference", [0, 28_000, 2**33 + 5])
def test_audio_writer_writes_a_time_reference_readable_by_ffmpeg(tmp_path, reference):
    with AudioWriter(tmp_path / "stem.wav", RATE, 1, place=SessionPlace(RATE, reference)) as writer:
        writer.write(np.zeros((1, 100), np.float32))
    with av.open(tmp_path / "stem.wav") as file:
        assert (file.metadata["time_reference"], file.metadata["encoded_by"]) == (str(reference), "Timbre Studio")
        assert sum(frame.samples for frame in file.decode(audio=0)) == 100


def test_audio_writer_writes_no_bext_chunk_without_a_time_reference(tmp_path):
    with AudioWriter(tmp_path / "plain.wav", RATE, 1) as writer:
        writer.write(np.zeros((1, 100), np.float32))
    assert b"bext" not in (tmp_path / "plain.wav").read_bytes()


@pytest.fixture
def ramp(tmp_path):
    """Three seconds whose every sample is another, in two channels."""
    samples = np.linspace(-0.9, 0.9, 3 * CUT_RATE, dtype=np.float32)
    path = tmp_path / "ramp.wav"
    write_audio(path, Audio(np.stack([samples, -samples]), CUT_RATE))
    return path


@pytest.mark.parametrize(("start_s", "stop_s"), [(0.0, 1.0), (0.5, 2.25), (2.0, 3.0), (1.0, 9.0)])
def test_cut_recording_keeps_exactly_the_samples_of_the_range(ramp, tmp_path, start_s, stop_s):
    cut_recording(ramp, tmp_path / "cut.wav", start_s, stop_s)
    whole, cut = read_audio(ramp), read_audio(tmp_path / "cut.wav")
    assert cut.rate == whole.rate
    assert np.array_equal(cut.samples, whole.samples[:, round(start_s * CUT_RATE) : round(stop_s * CUT_RATE)])


def test_cut_recording_across_blocks_has_no_seam(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.audio.stems._BLOCK", 1000)
    samples = np.random.default_rng(0).uniform(-0.5, 0.5, (1, 2 * CUT_RATE)).astype(np.float32)
    write_audio(tmp_path / "noise.wav", Audio(samples, CUT_RATE))
    cut_recording(tmp_path / "noise.wav", tmp_path / "cut.wav", 0.31, 1.57)
    whole = read_audio(tmp_path / "noise.wav").samples
    wanted = whole[:, round(0.31 * CUT_RATE) : round(1.57 * CUT_RATE)]
    assert np.array_equal(read_audio(tmp_path / "cut.wav").samples, wanted)


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
