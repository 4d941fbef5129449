"""Building blocks of the engine's networks. Sequences are (batch, frames, channels) throughout."""

from functools import lru_cache

import torch
from torch import Tensor, nn
from torch.nn import functional

HIGHEST_LEARNED_HERTZ = 1400.0  # of the pitch in training: networks take higher notes for this one
_FEW_FRAMES = 150


class FrameConvolution(nn.Module):
    """Convolve along the frames, keeping their number; `groups=channels` makes it depthwise."""

    def __init__(self, inputs: int, outputs: int, width: int, dilation: int = 1, groups: int = 1) -> None:
        super().__init__()
        padding = dilation * (width - 1) // 2
        self.convolution = nn.Conv1d(inputs, outputs, width, padding=padding, dilation=dilation, groups=groups)

    def forward(self, sequence: Tensor) -> Tensor:
        # Treated as an image with `dilation` columns, so that frames one dilation apart lie above each other: torch's
        # channels-last kernels are 3 to 10 times as fast on a CPU.
        batch, frames, channels = sequence.shape
        columns, groups = self.convolution.dilation[0], self.convolution.groups
        rows = -(-frames // columns)
        whole = functional.pad(sequence, (0, 0, 0, rows * columns - frames)) if frames % columns else sequence
        image = whole.reshape(batch, rows, columns, channels).permute(0, 3, 1, 2)
        weight, bias = self.convolution.weight[..., None], self.convolution.bias
        mixed = functional.conv2d(image, weight, bias, padding=(weight.shape[2] // 2, 0), groups=groups)
        return mixed.permute(0, 2, 3, 1).reshape(batch, rows * columns, -1)[:, :frames]


class ConvNextBlock(nn.Module):
    """Depthwise convolution, normalization, optional modulation by a condition, and a residual two-layer network.

    The block of ConvNeXt (Liu et al., 2022) in one dimension as in Vocos (Siuzdak, 2023); the modulation is FiLM
    (Perez et al., 2018).
    """

    def __init__(self, channels: int, expansion: int = 2, dilation: int = 1, condition: int = 0) -> None:
        super().__init__()
        self.mix_frames = FrameConvolution(channels, channels, 7, dilation, groups=channels)
        self.normalize = nn.LayerNorm(channels)
        self.modulate = nn.Linear(condition, 2 * channels) if condition else None
        if self.modulate is not None:
            nn.init.zeros_(self.modulate.bias)
            if not self.modulate.weight.is_meta:  # of what has no values, torch would ask its compiler
                nn.init.normal_(self.modulate.weight, std=0.02)
        self.widen = nn.Linear(channels, expansion * channels)
        self.narrow = nn.Linear(expansion * channels, channels)
        self.scale = nn.Parameter(torch.full((channels,), 0.2))

    def forward(
        self, sequence: Tensor, condition: Tensor | None = None, last: int | None = None, within: Tensor | None = None
    ) -> Tensor:
        """Return (batch, frames, channels), or of these only the `last` frames.

        within: (batch, frames, 1), 0 after the end of shorter sequences, which they do not hear.
        """
        mixed = self.mix_frames(sequence if within is None else sequence * within)
        if last is not None:
            mixed, sequence = mixed[:, -last:], sequence[:, -last:]
        hidden = self.normalize(mixed)
        if self.modulate is not None and condition is not None:
            gain, offset = self.modulate(condition)[:, None].chunk(2, dim=2)
            hidden = hidden * (1 + gain) + offset
        hidden = self.narrow(functional.gelu(self.widen(hidden)))
        return sequence + hidden * self.scale


def receptive_frames(dilations: tuple[int, ...], first_width: int) -> int:
    """Return the frames on each side that an output frame of a stack of ConvNextBlocks depends on."""
    return first_width // 2 + sum(3 * dilation for dilation in dilations)


def frames_after_blocks(dilations: tuple[int, ...], last: int) -> list[int]:
    """Return how many frames each ConvNextBlock of a stack must give, so that the `last` ones are as of all frames."""
    return [last + sum(3 * dilation for dilation in dilations[number + 1 :]) for number in range(len(dilations))]


def moving_average(curves: Tensor, frames: int, weight: Tensor | None = None) -> Tensor:
    """Average curves (frames, n) with a Hann window reaching `frames` to each side, cut off at the ends.

    weight: (frames, 1), above zero: the weight of each frame.
    """
    weight = torch.ones(len(curves), 1, device=curves.device) if weight is None else weight
    columns = torch.cat([curves * weight, weight], 1)
    if len(curves) <= _FEW_FRAMES:  # as of a live block: one product is cheaper
        sums = _averaging_matrix(len(curves), frames, curves.device) @ columns
    else:
        window = torch.hann_window(2 * frames + 3, periodic=False, device=curves.device)[None, None, 1:-1]
        sums = functional.conv1d(columns.T[:, None], window, padding=frames)[:, 0].T
    return sums[:, :-1] / sums[:, -1:]


@lru_cache(maxsize=64)
def _averaging_matrix(count: int, reach: int, device: torch.device) -> Tensor:
    """Return the weight of each frame in each average, (count, count): a Hann window `reach` frames to each side."""
    with torch.inference_mode(False):  # training may use it as well
        window = torch.hann_window(2 * reach + 3, periodic=False, device=device)[1:-1]
        apart = torch.arange(count, device=device)
        apart = apart - apart[:, None]
        return torch.where(apart.abs() <= reach, window[(apart + reach).clamp(0, 2 * reach)], 0.0)
