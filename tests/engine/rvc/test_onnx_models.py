"""Both dialects, in small graphs: a gain on the mean of the content, spread over the samples of each frame."""

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

from engine.rvc.onnx_models import _DIALECTS, inspect, onnx_from_json
from engine.rvc.rendering import Moment, OnnxRendering
from engine.rvc.sandbox import ModelFileError

RATE, FRAMES = 32_000, 40


def small_model(path, dialect=0, width=256, pitched=True, rate=RATE, extra=()):
    """Write samples (1, 1, frames * hop): the mean of each frame's content, plus noise drawn inside or given."""
    names, hop = _DIALECTS[dialect], rate // 100
    real, whole = TensorProto.FLOAT, TensorProto.INT64
    inputs = [(names.content, real, (1, "frames", width)), (names.length, whole, (1,)), (names.speaker, whole, (1,))]
    if pitched:
        inputs += [(names.pitch, whole, (1, "frames")), (names.hertz, real, (1, "frames"))]
    if names.noise:
        inputs.append((names.noise, real, (1, 192, "frames")))
    inputs += [(name, real, (1,)) for name in extra]
    nodes = [
        helper.make_node("ReduceMean", [names.content, "last"], ["mean"]),  # (1, frames, 1)
        helper.make_node("Expand", ["mean", "shape"], ["spread"]),
        helper.make_node("Reshape", ["spread", "flat"], ["held"]),
        helper.make_node("RandomNormalLike", ["held"], ["noise"], scale=0.01),
        helper.make_node("Add", ["held", "noise"], ["audio"]),
    ]
    constants = {"last": [2], "shape": [1, 1, hop], "flat": [1, 1, -1]}
    stored = [helper.make_tensor(name, whole, [len(values)], values) for name, values in constants.items()]
    out = [helper.make_tensor_value_info("audio", real, (1, 1, "samples"))]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*one) for one in inputs], out, stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


@pytest.mark.parametrize(
    ("dialect", "width", "pitched", "rate"), [(0, 256, True, 40_000), (1, 768, True, 48_000), (1, 256, False, 32_000)]
)
def test_inspect_finds_dialect_width_and_rate(tmp_path, dialect, width, pitched, rate):
    model = onnx_from_json(inspect(small_model(tmp_path / "a.onnx", dialect, width, pitched, rate)))
    assert (model.content, model.sample_rate, bool(model.inputs.pitch)) == (width, rate, pitched)
    assert model.latent == (192 if dialect == 0 else 0)


def test_same_seed_renders_the_same_samples(tmp_path):
    path = small_model(tmp_path / "a.onnx")
    voice = OnnxRendering(path, onnx_from_json(inspect(path)), 0)
    content, hertz = torch.randn(FRAMES, 256), torch.full((FRAMES,), 220.0)
    first, again, other = (voice.render(content, hertz, Moment(seed, 8, 0.0)) for seed in (3, 3, 4))
    assert first.shape == (FRAMES * RATE // 100,)
    assert np.array_equal(first, again)
    assert 1e-3 < np.abs(first - other).max() < 0.2
    assert np.allclose(first.reshape(FRAMES, -1).mean(1), content.mean(1), atol=0.01)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "a.onnx"
    content = small_model(path).read_bytes()
    for changed in (b"", content[: len(content) // 2], b"no model"):
        path.write_bytes(changed)
        with pytest.raises(ModelFileError, match="not a model of RVC in ONNX"):
            inspect(path)
    for options in ({"extra": ("formant",)}, {"rate": 22_000}, {"width": 100}):
        with pytest.raises(ModelFileError, match="not a model of RVC in ONNX"):
            inspect(small_model(path, **options))
