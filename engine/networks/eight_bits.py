"""Linear layers in 8 bits; for networks that are run often on few frames, convolutions along the frames tap by tap.

On few frames the processor mostly waits for the weights: with a quarter of the bytes a layer takes a quarter of the
time. And torch's convolution spends more on preparing itself than on so few frames. On many frames it multiplies three
times as much in the same time (AVX-512 with VNNI), or 1.7 times as much (AVX2).
"""

import copy
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.networks.layers import FrameConvolution

_STEPS = 127
Network = TypeVar("Network", bound=nn.Module)


class EightBitLinear(nn.Module):
    """A linear layer whose rows have one scale each; inputs are quantized by their range, sums are whole numbers."""

    def __init__(self, quantized: Tensor, bias: Tensor | None, input_bits: int = 7) -> None:
        """quantized: weights (outputs, inputs) with a scale for each row; input_bits: 7, or 8 for `paired` weights."""
        super().__init__()
        self._packed = torch.ops.quantized.linear_prepack(quantized, bias)
        self._reduced = input_bits < 8

    @classmethod
    def of(cls, layer: nn.Linear) -> "EightBitLinear":
        """Return a layer in 8 bits that does nearly the same."""
        weight = layer.weight.detach()
        scale = weight.abs().amax(1).clamp_min(1e-12).double() / _STEPS
        zeros = torch.zeros(len(weight), dtype=torch.long)
        with _unwarned():
            return cls(torch.quantize_per_channel(weight, scale, zeros, 0, torch.qint8), layer.bias.detach())

    @classmethod
    def of_steps(cls, steps: Tensor, scale: Tensor, bias: Tensor | None) -> "EightBitLinear":
        """Return a layer of weights that are stored in 8 bits, int8 (outputs, inputs) in steps of `scale` (outputs,).

        Its inputs have 8 bits as well.
        """
        steps, scale = paired(steps, scale)
        zeros = torch.zeros(len(steps), dtype=torch.long)
        with _unwarned():
            return cls(torch._make_per_channel_quantized_tensor(steps, scale.double(), zeros, 0), bias, input_bits=8)

    def forward(self, values: Tensor) -> Tensor:
        """Map (..., inputs) to (..., outputs)."""
        mapped: Tensor = torch.ops.quantized.linear_dynamic(values, self._packed, self._reduced)
        return mapped


def paired(steps: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """Make int8 weights (outputs, inputs) so small that no two neighbours add up to more than 128.

    Processors without VNNI add the products of two neighbours in 16 bits, which hold 255 x 128 and not 255 x 254: with
    more, results would be cut off there, and differ from those of other processors.
    """
    neighbours = steps[:, ::2].to(torch.int16) + steps[:, 1::2]  # of different signs they never are too large
    larger = (neighbours.abs().amax(1) / _STEPS).clamp_min(1.0)
    return torch.round(steps / larger[:, None]).to(torch.int8), scale * larger


@contextmanager
def _unwarned() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a later torch will take them away; ours is pinned
        yield


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


def multiplies_eight_bits(device: torch.device) -> bool:
    """Return whether 8 bits are the quicker ones on many frames as well: on processors with AVX2 or more.

    Others are as quick with float32, or have no such layers.
    """
    return device.type == "cpu" and torch.backends.quantized.engine in ("x86", "fbgemm")


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
                    setattr(parent, child, EightBitLinear.of(layer))
                elif isinstance(layer, FrameConvolution) and layer.convolution.groups == layer.convolution.in_channels:
                    setattr(parent, child, TapConvolution(layer.convolution))
    return copied
