"""Both dialects, in small graphs: a gain on the mean of the content, spread over the samples of each frame."""

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

from engine.networks.excitation import noise_at
from engine.research.onnx_trials import small_model
from engine.rvc.onnx_models import inspect, onnx_from_json, read_onnx
from engine.rvc.rendering import Moment, OnnxRendering
from engine.rvc.sandbox import ModelFileError, ModelProcess
from engine.voices.imported import import_rvc

RATE, FRAMES = 32_000, 40


def inspected(path):
    return inspect(path)[0]


def rendering(path):
    """The model, run in this process."""
    return OnnxRendering(path, onnx_from_json(inspected(path)), 0, ModelProcess("engine.rvc.onnx_models", path))


@pytest.mark.parametrize(
    ("dialect", "width", "pitched", "rate"), [(0, 256, True, 40_000), (1, 768, True, 48_000), (1, 256, False, 32_000)]
)
def test_inspect_finds_dialect_width_and_rate(tmp_path, dialect, width, pitched, rate):
    model = onnx_from_json(inspected(small_model(tmp_path / "a.onnx", dialect, width, pitched, rate)))
    assert (model.content, model.sample_rate, bool(model.inputs.pitch)) == (width, rate, pitched)
    assert model.latent == (192 if dialect == 0 else 0)


def test_inspect_refuses_a_model_of_another_encoder_by_name(tmp_path):
    stated = {"embedder": "hubert_base", "embOutputLayer": 12, "samplingRate": 40_000, "embChannels": 768}
    inspect(small_model(tmp_path / "a.onnx", 1, 768, stated=stated))
    japanese = {"embedder": "hubert-base-japanese"}
    for changed, said in [(japanese, "hubert-base-japanese"), ({"embOutputLayer": 9}, "layer 9")]:
        with pytest.raises(ModelFileError, match=f"trained on .*{said}.* words would be lost") as caught:
            inspect(small_model(tmp_path / "a.onnx", 1, 768, stated=stated | changed))
        assert caught.value.code == "other_encoder"


def test_onnx_rendering_is_deterministic_with_a_seed(tmp_path):
    path = small_model(tmp_path / "a.onnx")
    voice = rendering(path)
    content, hertz = torch.randn(FRAMES, 256), torch.full((FRAMES,), 220.0)
    first, again, other = (voice.render(content, hertz, Moment(seed, 8, 0.0)) for seed in (3, 3, 4))
    assert first.shape == (FRAMES * RATE // 100,)
    assert np.array_equal(first, again)
    assert 1e-3 < np.abs(first - other).max() < 0.2
    assert np.allclose(first.reshape(FRAMES, -1).mean(1), content.mean(1), atol=0.01)


def test_inspect_refuses_a_speaker_missing_from_the_model(tmp_path):
    path = small_model(tmp_path / "a.onnx", speakers=2)
    inspect(path, speaker="1")
    for speaker in ("2", "4095", "-1"):
        with pytest.raises(ModelFileError, match=f"has no speaker {speaker}: they are numbered from 0") as caught:
            inspect(path, speaker=speaker)
        assert caught.value.code == "no_such_speaker"


@pytest.mark.system
def test_read_onnx_returns_values_and_errors_from_a_separate_process(tmp_path):
    path = small_model(tmp_path / "a.onnx", 1, 768, rate=48_000, speakers=2)
    assert read_onnx(path, 1) == onnx_from_json(inspected(path))
    with pytest.raises(ModelFileError, match="has no speaker 2"):
        read_onnx(path, 2)


def changed(path, change):
    """Write the small model with its output put through more nodes."""
    model = onnx.load(small_model(path))
    change(model.graph)
    onnx.save(model, path)
    return path


def endless(graph):
    """Ask for 256 GB."""
    graph.initializer.append(helper.make_tensor("many", TensorProto.INT64, [1], [1 << 36]))
    graph.node.append(helper.make_node("ConstantOfShape", ["many"], ["all"]))
    graph.node.append(helper.make_node("ReduceMax", ["all"], ["zero"], keepdims=0))
    graph.node.append(helper.make_node("Add", ["audio", "zero"], ["out"]))
    graph.output[0].name = "out"


def only_32_frames(graph):
    """Fix the number of frames, as some exports do."""
    graph.initializer.append(helper.make_tensor("fixed", TensorProto.INT64, [3], [1, 1, 32 * RATE // 100]))
    graph.node.append(helper.make_node("Reshape", ["audio", "fixed"], ["out"]))
    graph.output[0].name = "out"


@pytest.mark.system
def test_read_onnx_refuses_a_model_that_needs_too_much_memory(tmp_path):
    with pytest.raises(ModelFileError, match="needs more memory") as caught:
        read_onnx(changed(tmp_path / "a.onnx", endless))
    assert caught.value.code == "too_large"


def test_import_rvc_refuses_a_fixed_length_onnx_model_and_leaves_nothing(tmp_path):
    (tmp_path / "voices").mkdir()
    with pytest.raises(ModelFileError, match=r'"a\.onnx": This ONNX model does not run with 100 frames'):
        import_rvc(changed(tmp_path / "a.onnx", only_32_frames), tmp_path / "voices")
    assert not list((tmp_path / "voices").iterdir())
    with pytest.raises(ModelFileError, match="There is no file"):
        import_rvc(tmp_path / "none.onnx", tmp_path / "voices")


def test_onnx_rendering_scales_noise_as_for_pth_files(tmp_path):
    def heard(graph):
        whole = TensorProto.INT64
        graph.initializer.append(helper.make_tensor("first", whole, [1], [1]))
        graph.initializer.append(helper.make_tensor("wide", whole, [3], [1, RATE // 100, 1]))
        graph.node.append(helper.make_node("ReduceMean", ["rnd", "first"], ["mean of channels"]))
        graph.node.append(helper.make_node("Expand", ["mean of channels", "wide"], ["samples by frames"]))
        graph.node.append(helper.make_node("Transpose", ["samples by frames"], ["frames by samples"], perm=[0, 2, 1]))
        graph.node.append(helper.make_node("Reshape", ["frames by samples", "flat"], ["out"]))
        graph.output[0].name = "out"

    path = changed(tmp_path / "a.onnx", heard)
    voice = rendering(path)
    samples = voice.render(torch.zeros(FRAMES, 256), torch.zeros(FRAMES), Moment(5, 0, 0.0))
    drawn = noise_at(0, FRAMES * 192, 5).reshape(FRAMES, 192)
    assert np.allclose(samples[:: RATE // 100], 0.66666 * drawn.mean(1), atol=1e-6)


def test_inspect_refuses_other_files(tmp_path):
    path = tmp_path / "a.onnx"
    content = small_model(path).read_bytes()
    for changed in (content[: len(content) // 2], b"no model"):
        path.write_bytes(changed)
        with pytest.raises(ModelFileError, match="not an RVC model in ONNX"):
            inspect(path)
    for start in (b"PK\x03\x04", b"\x80\x02"):
        path.write_bytes(start)
        with pytest.raises(ModelFileError, match="rename it so that it ends in"):
            inspect(path)
    for options in ({"extra": ("formant",)}, {"rate": 22_000}, {"width": 100}):
        with pytest.raises(ModelFileError, match="not an RVC model in ONNX"):
            inspect(small_model(path, **options))
