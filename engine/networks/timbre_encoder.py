"""Timbre: encode the sound of a voice as one vector, from any recording of it."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.analysis.envelope import LOW_BANDS
from engine.networks.layers import ConvNextBlock, FrameConvolution

TIMBRE = 128  # numbers per voice
_CHANNELS = 128


class TimbreEncoder(nn.Module):
    """Encode a log envelope relative to its level (batch, frames, LOW_BANDS) as timbre (batch, TIMBRE).

    Frames are weighted by their loudness and pooled by mean and standard deviation (x-vectors; Snyder et al., 2018).
    """

    def __init__(self) -> None:
        super().__init__()
        self.enter = FrameConvolution(LOW_BANDS, _CHANNELS, 5)
        self.blocks = nn.ModuleList(ConvNextBlock(_CHANNELS, 2) for _ in range(3))
        self.leave = nn.Sequential(nn.LayerNorm(2 * _CHANNELS), nn.Linear(2 * _CHANNELS, TIMBRE))

    def forward(self, envelope: Tensor) -> Tensor:
        hidden, weight = self._frames_and_weights(envelope)
        weight = weight / weight.sum(1, keepdim=True)
        mean = (hidden * weight).sum(1)
        deviation = ((hidden - mean[:, None]).square() * weight).sum(1).clamp_min(1e-5).sqrt()
        return self.leave(torch.cat([mean, deviation], 1)).float()

    def over_windows(self, envelope: Tensor, starts: Tensor, stops: Tensor) -> Tensor:
        """Encode stretches of one envelope (frames, LOW_BANDS) in a single pass, (stretches, TIMBRE).

        Frames near the edge of a stretch know what lies beyond it, up to the encoder's reach of 80 ms.
        """
        hidden, weight = (value[0].double() for value in self._frames_and_weights(envelope[None]))

        def summed(values: Tensor) -> Tensor:
            total = functional.pad(values.cumsum(0), (0, 0, 1, 0))
            return total[stops] - total[starts]

        whole = summed(weight)
        mean = summed(hidden * weight) / whole
        deviation = (summed(hidden.square() * weight) / whole - mean.square()).clamp_min(1e-5).sqrt()
        return self.leave(torch.cat([mean, deviation], 1).float()).float()

    def _frames_and_weights(self, envelope: Tensor) -> tuple[Tensor, Tensor]:
        """Return what is pooled of each frame (batch, frames, channels), and its weight (batch, frames, 1)."""
        hidden = self.enter(envelope / 2 + 1)
        for block in self.blocks:
            hidden = block(hidden)
        return hidden.float(), torch.sigmoid(2 * (envelope.float().amax(2, keepdim=True) + 3))


def timbre_input(envelope: Tensor, nepers: float | Tensor) -> Tensor:
    """Return the encoder's input: the low bands relative to the recording's level."""
    return (envelope[..., :LOW_BANDS] - nepers).clamp(-8.0, 4.0)
