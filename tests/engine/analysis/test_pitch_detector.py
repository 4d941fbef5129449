"""The detector computed by torch, against the same network computed by ONNX Runtime."""

import importlib.util
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from swift_f0 import SwiftF0

from engine import read_audio
from engine.analysis import pitch_detector as module
from engine.analysis.detector_grid import DETECTOR_HOP, DETECTOR_RATE
from engine.analysis.passage_levels import level_passages
from engine.analysis.pitch_detector import detect, detect_stream
from engine.audio.resampling import resample
from engine.errors import EngineError
from engine.files import as_path
from engine.workers import Workers
from tests.engine.pretended_gpu import pretended_gpu

SAMPLES = as_path(importlib.util.find_spec("engine").submodule_search_locations[0]) / "samples"


def levelled(name: str) -> np.ndarray:
    audio = read_audio(SAMPLES / name)
    return level_passages(resample(audio.mono(), audio.rate, DETECTOR_RATE), DETECTOR_RATE)


@pytest.fixture(scope="module")
def sung() -> np.ndarray:
    return levelled("singing.flac")


@pytest.mark.parametrize(
    "name", ["singing.flac", "foreign/singing-high.flac", "foreign/speech-high.flac", "foreign/speech-low.flac"]
)
def test_detect_gives_what_onnx_runtime_gives(name):
    samples = levelled(name)
    found, wanted = detect(samples), SwiftF0(1).detect(samples, DETECTOR_RATE)
    np.testing.assert_allclose(found.confidence, wanted.confidence, atol=1e-4)
    np.testing.assert_allclose(found.hertz, wanted.pitch_hz, rtol=1e-4)
    np.testing.assert_array_equal(found.times_s, wanted.timestamps)


@pytest.mark.parametrize("count", [1, DETECTOR_HOP - 1, DETECTOR_HOP, 4800, 10_000])
def test_detect_gives_what_onnx_runtime_gives_for_any_length(sung, count):
    samples = sung[20_000 : 20_000 + count]
    found, wanted = detect(samples), SwiftF0(1).detect(samples, DETECTOR_RATE)
    np.testing.assert_allclose(found.confidence, wanted.confidence, atol=1e-4)
    assert len(found.hertz) == max(1, count // DETECTOR_HOP)


def test_detect_takes_long_recordings_in_pieces_without_a_trace(sung, monkeypatch):
    whole = detect(sung)
    monkeypatch.setattr(module, "_PIECE_FRAMES", 100)
    pieces = detect(sung)
    np.testing.assert_allclose(pieces.confidence, whole.confidence, atol=1e-4)
    np.testing.assert_allclose(pieces.hertz, whole.hertz, rtol=1e-4)


@pytest.mark.parametrize("length", [700, 5_000, 160_000])  # shorter and longer than what decides on a frame
def test_detect_stream_gives_what_detect_gives_for_the_whole(sung, length):
    blocks = [sung[start : start + length] for start in range(0, len(sung), length)]
    whole, found = detect(sung), []
    for threads in (1, 3):
        with Workers(threads) as workers:
            parts = list(detect_stream(iter(blocks), workers))
        found.append(np.concatenate([part.hertz for part in parts]).tobytes())
        np.testing.assert_allclose(np.concatenate([part.hertz for part in parts]), whole.hertz, rtol=1e-4)
        np.testing.assert_allclose(np.concatenate([part.confidence for part in parts]), whole.confidence, atol=1e-4)
    assert found[0] == found[1]


@pytest.mark.parametrize(("count", "frames"), [(0, 0), (1, 1), (DETECTOR_HOP - 1, 1), (2 * DETECTOR_HOP + 1, 2)])
def test_detect_stream_gives_a_frame_for_each_hop_and_one_at_least(sung, count, frames):
    with Workers(1) as workers:
        parts = list(detect_stream([sung[20_000 : 20_000 + count]], workers))
    assert sum(len(part.hertz) for part in parts) == frames


def test_detect_is_sure_of_no_silence():
    assert not detect(np.full(8000, 5e-4, np.float32)).confidence.any()


def test_detect_gives_the_same_bytes_for_any_number_of_threads(sung, by_threads):
    def detected() -> bytes:
        track = detect(sung)
        return track.hertz.tobytes() + track.confidence.tobytes()

    assert len(by_threads(detected)) == 1


def test_detect_computes_on_the_device_it_is_given(sung):
    here = detect(sung)
    with pretended_gpu() as device:
        there = detect(sung, device)
    module._network.cache_clear()
    np.testing.assert_array_equal(there.hertz, here.hertz)
    np.testing.assert_array_equal(there.confidence, here.confidence)


def test_detect_refuses_another_network_and_says_what_to_install(tmp_path, monkeypatch, sung):
    package = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    for found in (None, package):
        monkeypatch.setattr(module.importlib.util, "find_spec", lambda name, found=found: found)
        module._network.cache_clear()
        with pytest.raises(EngineError, match=r"pip install --force-reinstall swift-f0==0\.3\.0"):
            detect(sung)
    (tmp_path / "model.onnx").write_bytes(b"another")
    with pytest.raises(EngineError, match="another version"):
        detect(sung)
    monkeypatch.undo()
    module._network.cache_clear()


def test_initializers_reads_what_onnx_reads():
    package = importlib.util.find_spec("swift_f0").submodule_search_locations[0]
    path = as_path(package) / "model.onnx"
    wanted = {one.name: onnx.numpy_helper.to_array(one) for one in onnx.load(path).graph.initializer}
    found = dict(module._initializers(path.read_bytes()))
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values)
