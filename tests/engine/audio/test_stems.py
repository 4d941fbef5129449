"""Stems lie together, and say where in the song they begin."""

import av
import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.audio.files import AudioWriter
from engine.audio.stems import Placing, write_stem

RATE = 8000


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
    with AudioWriter(tmp_path / "stem.wav", RATE, 1, time_reference=reference) as writer:
        writer.write(np.zeros((1, 100), np.float32))
    with av.open(tmp_path / "stem.wav") as file:
        assert (file.metadata["time_reference"], file.metadata["encoded_by"]) == (str(reference), "Timbre Studio")
        assert sum(frame.samples for frame in file.decode(audio=0)) == 100


def test_audio_writer_writes_no_bext_chunk_without_a_time_reference(tmp_path):
    with AudioWriter(tmp_path / "plain.wav", RATE, 1) as writer:
        writer.write(np.zeros((1, 100), np.float32))
    assert b"bext" not in (tmp_path / "plain.wav").read_bytes()
