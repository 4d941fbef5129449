from pathlib import Path

import pytest
import torch

from engine import devices
from engine.devices import choose_device, in_halves, probe_device, probe_devices, seeded_generator, working_device
from engine.errors import SettingsError


@pytest.mark.parametrize("able", [{"avx512_bf16": True}, {"amx_bf16": True}, {"avx2": True}, {}])
def test_choose_device_uses_half_precision_only_on_capable_processors(able, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able)
    device = choose_device("cpu")
    assert device.kind == "cpu"
    assert device.precision is (torch.bfloat16 if {"avx512_bf16", "amx_bf16"} & set(able) else torch.float32)
    assert device.torch_device == torch.device("cpu")
    assert "core" in device.name


def test_choose_device_takes_the_first_working_kind_by_default():
    working = [probe.kind for probe in probe_devices() if probe.device]
    assert choose_device().kind == working[0]
    assert working[-1] == "cpu"


def test_probe_devices_returns_a_device_or_a_reason_for_each_kind():
    for probe in probe_devices():
        assert bool(probe.device) != bool(probe.reason)


def test_choose_device_refuses_and_names_an_unknown_kind():
    with pytest.raises(SettingsError, match="'tpu' is not a device; choose auto, cuda, mps or cpu"):
        choose_device("tpu")


def test_choose_device_refuses_an_absent_device(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SettingsError, match="no cuda device"):
        choose_device("cuda")


def test_choose_device_skips_a_device_that_fails_its_trial(monkeypatch):
    present = {"cuda", "cpu"}
    monkeypatch.setattr(devices, "_is_present", present.__contains__)
    real_trial = devices._trial

    def trial(device, precision):
        if device.type == "cuda":
            raise RuntimeError("no kernel image is available for execution on the device\nmore lines")
        return real_trial(device, precision)

    monkeypatch.setattr(devices, "_trial", trial)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    assert choose_device().kind == "cpu"
    assert not torch.backends.cudnn.allow_tf32  # a conversion on a card is computed in float32 throughout
    assert probe_device("cuda").reason == (
        "The cuda device is listed but does not work: no kernel image is available for execution on the device."
    )


@pytest.mark.parametrize("wrong", [0.5, float("nan")])
def test_probe_device_refuses_a_device_with_wrong_results(wrong):
    probe = probe_device("cpu", lambda device, precision: devices._trial(device, precision) * wrong)
    assert probe.device is None
    assert "wrong results" in probe.reason


def test_trial_in_half_precision_stays_close_to_single():
    device = torch.device("cpu")
    single, half = (devices._trial(device, precision) for precision in (torch.float32, torch.bfloat16))
    assert 0 < devices._difference(half, single) < devices.HALF_TOLERANCE


def test_working_device_multiplies_in_half_precision_only_where_it_is_faster(halves):
    assert working_device("cpu").precision is (torch.bfloat16 if halves else torch.float32)


def test_multiplies_halves_is_asked_only_by_devices():
    """Others use `in_halves` or a device's precision, so that tests force it at one place."""
    modules = Path(devices.__file__).parent.rglob("*.py")
    assert [path.name for path in modules if "multiplies_halves" in path.read_text("utf-8")] == ["devices.py"]


def test_in_halves_multiplies_in_half_precision_only_where_it_is_faster(halves):
    matrix = torch.randn(16, 16, generator=seeded_generator(0))
    expected = matrix @ matrix
    with in_halves(matrix.device):
        found = matrix @ matrix
    assert found.dtype is (torch.bfloat16 if halves else torch.float32)
    torch.testing.assert_close(found.float(), expected, atol=0.1 if halves else 0, rtol=0)
    assert (matrix @ matrix).dtype is torch.float32


def test_seeded_generator_repeats_and_leaves_the_shared_state_alone():
    before = torch.get_rng_state()
    first, again = (torch.rand(8, generator=seeded_generator(3)) for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, torch.rand(8, generator=seeded_generator(4)))
    assert torch.equal(before, torch.get_rng_state())
