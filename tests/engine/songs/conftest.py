"""A network of a few hundred bytes in place of the real one, and signals with known answers."""

from pathlib import Path

import numpy as np
import pytest

from engine.audio.files import Audio, write_audio
from engine.units import SAMPLE_RATE

WINDOW = 343_980


def write_network(path: Path, window: int = WINDOW, rows: int = 4) -> Path:
    """Write a network of the same inputs and outputs: its vocal is the middle of the stereo field, so that a song with
    the vocal in the middle and the backing at the sides alone is separated exactly."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = np.zeros((2 * rows, 2), np.float32)
    weights[-2:] = 0.5
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["weights", "mix"], ["flat"]),
            helper.make_node("Reshape", ["flat", "shape"], ["stems"]),
        ],
        "middle",
        [helper.make_tensor_value_info("mix", TensorProto.FLOAT, [1, 2, window])],
        [helper.make_tensor_value_info("stems", TensorProto.FLOAT, [1, rows, 2, window])],
        [
            numpy_helper.from_array(weights, "weights"),
            numpy_helper.from_array(np.array([1, rows, 2, window], np.int64), "shape"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_network(tmp_path_factory.mktemp("network") / "middle.onnx")


def chords(seconds: float, seed: int = 0) -> np.ndarray:
    """A backing: chords with a beat of noise, float32 (samples,), about -20 dB."""
    time_s = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    roots = np.array([110.0, 146.8, 164.8, 98.0])[(time_s // 2).astype(int) % 4]
    tone = sum(
        np.sin(2 * np.pi * np.cumsum(roots * ratio * number) / SAMPLE_RATE) / number
        for ratio in (1.0, 1.26, 1.5)
        for number in (1, 2, 3)
    )
    beat = np.exp(-12 * (time_s % 0.5)) * np.random.default_rng(seed).standard_normal(len(time_s))
    return (0.05 * tone + 0.08 * beat).astype(np.float32)


def save(path: Path, *channels: np.ndarray, rate: int = SAMPLE_RATE) -> Path:
    write_audio(path, Audio(np.stack(channels), rate))
    return path
