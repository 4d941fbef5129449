"""Linear layers with 8-bit weights and inputs, for networks that are run often on few frames.

There the processor mostly waits for the weights: with a quarter of the bytes a layer takes a quarter of the time.
"""

import copy
import warnings
from collections.abc import Iterable
from typing import TypeVar

import torch
from torch import Tensor, nn

_STEPS = 127
Network = TypeVar("Network", bound=nn.Module)


class EightBitLinear(nn.Module):
    """A linear layer whose rows have one scale each; inputs are quantized by their range, sums are whole numbers."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        weight = layer.weight.detach()
        scale = weight.abs().amax(1).clamp_min(1e-12).double() / _STEPS
        zeros = torch.zeros(len(weight), dtype=torch.long)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a later torch will take them away; ours is pinned
            quantized = torch.quantize_per_channel(weight, scale, zeros, 0, torch.qint8)
        self._packed = torch.ops.quantized.linear_prepack(quantized, layer.bias.detach())

    def forward(self, values: Tensor) -> Tensor:
        """Map (..., inputs) to (..., outputs)."""
        mapped: Tensor = torch.ops.quantized.linear_dynamic(values, self._packed, True)
        return mapped


def in_eight_bits(network: Network, owners: Iterable[str] = ("",)) -> Network:
    """Copy a network with its linear layers below the modules `owners` in 8 bits; as it is where torch lacks them."""
    if torch.backends.quantized.engine == "none":
        return network
    copied = copy.deepcopy(network)
    for name in owners:
        for parent in copied.get_submodule(name).modules():
            for child, layer in list(parent.named_children()):
                if type(layer) is nn.Linear:
                    setattr(parent, child, EightBitLinear(layer))
    return copied
