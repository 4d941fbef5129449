"""How many conversions a machine is given to do at once, where its user leaves that open."""

import pytest

from studio.settings import machine
from studio.settings.machine import conversions_at_once, memory_bytes
from studio.settings.service import ServiceSettings

GB = 1_000_000_000


@pytest.mark.parametrize(
    ("cores", "gigabytes", "device", "gpu", "workers"),
    [
        (1, 16, "cpu", False, 1),
        (2, 16, "cpu", False, 2),
        (2, 4, "auto", False, 1),  # a second one would need a sixth of the memory
        (2, 1, "auto", False, 1),
        (4, 16, "cpu", False, 2),
        (8, 16, "cpu", False, 4),
        (16, 64, "cpu", False, 8),
        (64, 512, "auto", False, 8),
        (16, 64, "auto", True, 2),
        (16, 64, "cuda", True, 2),
        (16, 64, "cpu", True, 8),  # its GPU is not used
        (8, None, "cpu", False, 4),
    ],
)
def test_conversions_at_once_follow_cores_memory_and_gpu(monkeypatch, cores, gigabytes, device, gpu, workers):
    monkeypatch.setattr(machine, "usable_cores", lambda: cores)
    monkeypatch.setattr(machine, "memory_bytes", lambda: gigabytes and gigabytes * GB)
    monkeypatch.setattr(machine, "_may_have_a_gpu", lambda: gpu)
    assert conversions_at_once(device) == workers
    assert ServiceSettings(device=device).conversions_at_once == workers
    assert ServiceSettings(device=device, conversion_workers=3).conversions_at_once == 3


def test_memory_bytes_are_those_of_this_machine():
    assert (memory_bytes() or GB) > 2**28
