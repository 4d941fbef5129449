"""Both kinds of processor on any machine: those that multiply bfloat16 in hardware, and those that do not."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

from engine import devices


@contextmanager
def forced_halves(halves: bool) -> Iterator[None]:
    """Let all devices multiply bfloat16 in hardware within, or none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(devices, "multiplies_halves", lambda device: halves)
        devices.working_device.cache_clear()
        yield
    devices.working_device.cache_clear()


@contextmanager
def product_precisions() -> Iterator[set[torch.dtype]]:
    """Collect the precisions in which the layers of networks multiply within."""
    found: set[torch.dtype] = set()

    def note(layer: nn.Module, _given: object, result: torch.Tensor) -> None:
        if isinstance(layer, nn.Linear | nn.Conv1d | nn.Conv2d):
            found.add(result.dtype)

    hook = register_module_forward_hook(note)
    try:
        yield found
    finally:
        hook.remove()


@pytest.fixture(params=[False, True], ids=["float32", "bfloat16"])
def halves(request) -> Iterator[bool]:
    """Whether devices multiply bfloat16 in hardware: both, one after the other. Emulated, it is fifteen times slower,
    so what is computed has to be small."""
    with forced_halves(request.param):
        yield request.param
