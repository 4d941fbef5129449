import gc
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.audio.files import read_audio
from engine.errors import AudioError, Cancelled, SeparationError
from engine.progress import no_report
from engine.songs.separation import OnnxSeparator, separate_file
from tests.engine.songs.conftest import WINDOW, chords, save, write_network


@pytest.fixture(scope="module")
def separator(network):
    return OnnxSeparator(network)


class Halving:
    """Gives half of what it gets, whatever the window: so a wrong overlap or weight is a step in its output."""

    def __init__(self, window):
        self.window = window

    _run = staticmethod(lambda samples: 0.5 * samples)
    vocal_of = OnnxSeparator.vocal_of


@settings(max_examples=60)
@given(
    count=st.integers(1, 3000),
    window=st.sampled_from([8, 100, 256, 1000]),
    cuts=st.lists(st.integers(1, 700), min_size=1, max_size=6),
)
def test_vocal_of_keeps_every_sample_in_its_place_for_any_length_window_and_blocks(count, window, cuts):
    song = np.random.default_rng(count).standard_normal((2, count)).astype(np.float32)
    blocks, start = [], 0
    while start < count:
        blocks.append(song[:, start : start + cuts[len(blocks) % len(cuts)]])
        start += blocks[-1].shape[1]
    vocal = np.concatenate(list(Halving(window).vocal_of(blocks)), axis=1)
    np.testing.assert_allclose(vocal, 0.5 * song, atol=1e-6)


def test_separate_file_finds_a_vocal_in_the_middle_and_loses_nothing(separator, sing, tmp_path):
    vocal, sides = sing(12.0), chords(12.0)
    song = save(tmp_path / "song.wav", vocal + sides, vocal - sides)
    shown = []
    separate_file(song, tmp_path / "v.wav", tmp_path / "b.wav", separator, lambda *one: shown.append(one))
    whole, found, rest = (read_audio(tmp_path / name).samples for name in ("song.wav", "v.wav", "b.wav"))
    np.testing.assert_allclose(found, np.stack([vocal, vocal]), atol=2e-6)
    np.testing.assert_allclose(found + rest, whole, atol=1e-7)
    assert shown[-1] == (1.0, "separating")
    assert len(shown) > 2  # so that it can be cancelled between windows


def test_separate_file_keeps_samples_beyond_full_scale(separator, tmp_path):
    loud = np.full(1000, 0.9, np.float32)
    song = save(tmp_path / "song.wav", loud, -loud + 0.2)  # a backing of 1.8 at the sides
    separate_file(song, tmp_path / "v.wav", tmp_path / "b.wav", separator, no_report)
    whole, found, rest = (read_audio(tmp_path / name).samples for name in ("song.wav", "v.wav", "b.wav"))
    np.testing.assert_allclose(found + rest, whole, atol=1e-7)


def test_separate_file_takes_mono_at_another_rate(separator, sing, tmp_path):
    song = save(tmp_path / "song.wav", sing(2.0, rate=22_050), rate=22_050)
    separate_file(song, tmp_path / "v.wav", tmp_path / "b.wav", separator, no_report)
    found = read_audio(tmp_path / "v.wav")
    assert (found.rate, found.samples.shape) == (44_100, (2, 88_200))


def test_separate_file_refuses_a_song_without_a_vocal_and_leaves_nothing(separator, tmp_path):
    sides = chords(2.0)
    song = save(tmp_path / "song.wav", sides, -sides)
    with pytest.raises(AudioError, match=r'There is no vocal in "song\.wav"'):
        separate_file(song, tmp_path / "v.wav", tmp_path / "b.wav", separator, no_report)
    assert [path.name for path in tmp_path.iterdir()] == ["song.wav"]


def test_separate_file_leaves_nothing_when_cancelled(separator, sing, tmp_path):
    song = save(tmp_path / "song.wav", sing(2.0))

    def stop(fraction, message):
        raise Cancelled

    with pytest.raises(Cancelled):
        separate_file(song, tmp_path / "v.wav", tmp_path / "b.wav", separator, stop)
    assert [path.name for path in tmp_path.iterdir()] == ["song.wav"]


def test_separator_refuses_a_network_of_other_shapes(tmp_path):
    with pytest.raises(SeparationError, match="other shapes"):
        OnnxSeparator(write_network(tmp_path / "short.onnx", window=WINDOW // 2))


def test_separator_refuses_a_file_that_is_not_a_network(tmp_path):
    (tmp_path / "text.onnx").write_text("no network")
    with pytest.raises(SeparationError, match="no network"):
        OnnxSeparator(tmp_path / "text.onnx")


@pytest.mark.system
def test_separate_file_needs_no_more_memory_for_a_longer_song(separator, sing, tmp_path):
    peaks = []
    for minutes in (1, 4):
        song = save(tmp_path / "song.wav", np.tile(sing(10.0), 6 * minutes))
        gc.collect()
        tracemalloc.start()
        separate_file(song, tmp_path / "v.wav", tmp_path / "b.wav", separator, no_report)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0] < 30e6  # a few windows of it
