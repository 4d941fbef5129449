import shutil

import pytest
import torch
from safetensors.torch import save_file

from engine.errors import VoiceError
from engine.networks.base import WEIGHTS, load_base, load_weights
from engine.networks.listener import read_listener


def test_load_weights_reports_a_missing_file(tmp_path):
    with pytest.raises(VoiceError, match=r"gone.safetensors are missing or damaged"):
        load_weights(tmp_path / "gone.safetensors")


@pytest.mark.parametrize("kept", [0, 4, 100, 1000])
def test_load_weights_reports_a_truncated_file(tmp_path, kept):
    path = tmp_path / "base.safetensors"
    save_file({"a": torch.randn(1000)}, path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(VoiceError, match="missing or damaged"):
        load_weights(path)


@pytest.mark.parametrize("change", ["missing", "extra", "shape"])
def test_load_base_refuses_missing_extra_and_misshapen_weights(tmp_path, change):
    weights = dict(load_weights(WEIGHTS / "base.safetensors"))
    name = "decoder.leave.1.bias"
    if change == "missing":
        del weights[name]
    elif change == "extra":
        weights["more"] = torch.zeros(1)
    else:
        weights[name] = torch.zeros(3)
    save_file({name: value.contiguous() for name, value in weights.items()}, tmp_path / "base.safetensors")
    with pytest.raises(VoiceError, match="belong to another version of the engine"):
        load_base(tmp_path / "base.safetensors")


def test_load_base_loads_the_installed_base_once():
    base = load_base()
    assert load_base() is base
    assert not base.training
    assert not any(parameter.requires_grad for parameter in base.parameters())
    assert all(torch.isfinite(value).all() for value in base.state_dict().values())


def test_load_base_takes_the_listener_from_its_own_file(listener):
    base = load_base()
    for name, value in listener.state_dict().items():
        assert torch.equal(base.listener.state_dict()[name], value)
    assert not any(name.startswith("listener.") for name in load_weights(WEIGHTS / "base.safetensors"))


def test_all_weights_are_the_same_whether_the_listener_is_in_memory(tmp_path):
    """An edit of a take asks for them; a conversion has only the quick listener."""
    shutil.copy(WEIGHTS / "base.safetensors", tmp_path)
    base = load_base(tmp_path / "base.safetensors")
    before = [value.clone() for value in base.all_weights()]
    assert "listener" not in base.__dict__
    assert base.listener.window.shape == (400,)
    assert all(torch.equal(one, other) for one, other in zip(before, base.all_weights(), strict=True))
    held = [*base.listener.state_dict().values(), *base.state_dict().values()]
    assert all(torch.equal(one, other) for one, other in zip(before, held, strict=True))


def test_load_base_reports_a_missing_listener(tmp_path, monkeypatch):
    shutil.copy(WEIGHTS / "base.safetensors", tmp_path / "other.safetensors")
    monkeypatch.setattr("engine.networks.base.read_listener", lambda: read_listener(tmp_path / "listener.safetensors"))
    with pytest.raises(VoiceError, match=r"listener\.safetensors are missing or damaged"):
        load_base(tmp_path / "other.safetensors")


def test_base_variances_stay_finite_and_positive_in_half_precision():
    content = load_base().content
    for variance in (content.between, content.within):
        assert torch.isfinite(variance).all()
        assert variance.min() > 0


def test_base_weights_are_smaller_than_40_mb():
    assert (WEIGHTS / "base.safetensors").stat().st_size < 40e6


def test_load_base_in_inference_mode_creates_no_inference_tensors(tmp_path):
    shutil.copy(WEIGHTS / "base.safetensors", tmp_path)
    with torch.inference_mode():
        base = load_base(tmp_path / "base.safetensors")
    assert not any(parameter.is_inference() for parameter in base.parameters())
    assert not any(buffer.is_inference() for buffer in base.buffers())
    with torch.inference_mode():
        listener = base.listener
    assert not any(value.is_inference() for value in [*listener.parameters(), *listener.buffers()])
