"""Content: what is said or sung, per frame, with as little as possible of who says it.

A narrow bottleneck that is trained on perturbed spectra (see engine.perturbation) against a speaker classifier with
reversed gradient, and with phone labels where the corpus could be labelled.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.envelope import ACTIVE_NEPERS, LOW_BANDS, SILENT, loudness_of
from engine.layers import ConvNextBlock, FrameConvolution, receptive_frames

CONTENT = 64  # numbers per frame
_CHANNELS = 256
_DILATIONS = (1, 1, 2, 2, 3, 1, 4, 4)
_NOISE = 0.15


class ContentEncoder(nn.Module):
    """Normalized log envelope (batch, frames, LOW_BANDS) -> content (batch, frames, CONTENT), each of unit variance."""

    receptive_frames = receptive_frames(_DILATIONS, 5)

    def __init__(self) -> None:
        super().__init__()
        self.enter = FrameConvolution(LOW_BANDS, _CHANNELS, 5)
        self.blocks = nn.ModuleList(ConvNextBlock(_CHANNELS, 2, dilation) for dilation in _DILATIONS)
        self.leave = nn.Sequential(nn.LayerNorm(_CHANNELS), nn.Linear(_CHANNELS, CONTENT))

    def forward(self, envelope: Tensor) -> Tensor:
        hidden = self.enter(envelope)
        for block in self.blocks:
            hidden = block(hidden)
        content = functional.layer_norm(self.leave(hidden).float(), (CONTENT,))
        # noise limits how much a number can carry, so the bottleneck keeps what the decoder needs most
        return content + _NOISE * torch.randn_like(content) if self.training else content


def mix_content(content: Tensor, other: Tensor, strength: float | Tensor) -> Tensor:
    """Content moved by `strength` 0..1 towards another, both (..., CONTENT), in unit variance as it was."""
    # the mean of several sounds is smaller than each
    return functional.layer_norm(content + strength * (other - content), (CONTENT,))


def content_input(envelope: Tensor, nepers: float | Tensor, mean: Tensor) -> Tensor:
    """What the encoder listens to: the low bands, relative to the recording's level and mean colour.

    envelope (..., frames, BANDS); nepers and mean as in `engine.envelope.Level`. The mean takes out the microphone
    and some of the speaker; limits keep digital silence from standing out.
    """
    low = (envelope[..., :LOW_BANDS] - nepers).clamp(-8.0, 4.0)
    return (low - mean[..., None, :LOW_BANDS]) / 1.5


def active_mean(envelope: Tensor) -> Tensor:
    """Mean of relative envelopes (batch, frames, BANDS) over the frames within 30 dB of the level, (batch, BANDS)."""
    active = (loudness_of(envelope) > ACTIVE_NEPERS).float()[..., None] + 1e-3
    return (envelope.clamp_min(SILENT) * active).sum(1) / active.sum(1)
