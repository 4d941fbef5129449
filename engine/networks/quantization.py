"""Networks that are run often on few frames: linear layers in 8 bits, convolutions along the frames tap by tap.

There the processor mostly waits for the weights: with a quarter of the bytes a layer takes a quarter of the time. And
torch's convolution spends more on preparing itself than on so few frames.
"""

import copy
import warnings
from collections.abc import Iterable
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.networks.layers import FrameConvolution

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


class TapConvolution(nn.Module):
    """A depthwise convolution along the frames (batch, frames, channels), one addition for each of its taps."""

    def __init__(self, convolution: nn.Conv1d) -> None:
        super().__init__()
        bias = convolution.bias
        assert bias is not None
        self._taps, self._bias = convolution.weight.detach()[:, 0].T.contiguous(), bias.detach()
        self._dilation, self._reach = convolution.dilation[0], int(convolution.padding[0])

    def forward(self, sequence: Tensor) -> Tensor:
        """Convolve, keeping the number of frames."""
        frames = sequence.shape[1]
        whole = functional.pad(sequence, (0, 0, self._reach, self._reach))
        mixed = self._bias
        for number, tap in enumerate(self._taps):
            mixed = torch.addcmul(mixed, whole[:, number * self._dilation :][:, :frames], tap)
        return mixed


def in_eight_bits(network: Network, owners: Iterable[str] = ("",)) -> Network:
    """Copy a network with the layers below the modules `owners` made for few frames.

    Linear ones in 8 bits, depthwise convolutions tap by tap. As it is where torch has no 8 bits.
    """
    if torch.backends.quantized.engine == "none":
        return network
    copied = copy.deepcopy(network)
    for name in owners:
        for parent in copied.get_submodule(name).modules():
            for child, layer in list(parent.named_children()):
                if type(layer) is nn.Linear:
                    setattr(parent, child, EightBitLinear(layer))
                elif isinstance(layer, FrameConvolution) and layer.convolution.groups == layer.convolution.in_channels:
                    setattr(parent, child, TapConvolution(layer.convolution))
    return copied
