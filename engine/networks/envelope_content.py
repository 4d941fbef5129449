"""Estimate content from an envelope alone, to check the decoder's envelopes during training.

The listener takes samples, but a decoder produces envelopes. This network has learned to predict content from
envelopes, so that training can measure whether a conversion keeps its words without synthesizing it. It takes no part
in conversion.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.analysis.envelope import ACTIVE_NEPERS, LOW_BANDS, SILENT, loudness_of
from engine.networks.base import WEIGHTS, load_weights, with_weights
from engine.networks.content_encoder import CONTENT
from engine.networks.layers import ConvNextBlock, FrameConvolution

_CHANNELS = 256
_DILATIONS = (1, 2, 3, 1, 4)


class EnvelopeContentEncoder(nn.Module):
    """Predict content (batch, frames, CONTENT) from log envelopes prepared by `envelope_input`."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = FrameConvolution(LOW_BANDS, _CHANNELS, 5)
        self.blocks = nn.ModuleList(ConvNextBlock(_CHANNELS, 2, dilation) for dilation in _DILATIONS)
        self.leave = nn.Sequential(nn.LayerNorm(_CHANNELS), nn.Linear(_CHANNELS, CONTENT))

    def forward(self, envelope: Tensor) -> Tensor:
        hidden = self.enter(envelope)
        for block in self.blocks:
            hidden = block(hidden)
        return functional.layer_norm(self.leave(hidden).float(), (CONTENT,))


def envelope_input(envelope: Tensor) -> Tensor:
    """Prepare envelopes (batch, frames, BANDS), relative to the recording's level, as network input.

    Returns the low bands (batch, frames, LOW_BANDS) minus their mean over the frames within 30 dB of the level.
    """
    relative = envelope.clamp(SILENT, 4.0)
    active = (loudness_of(envelope.detach()) > ACTIVE_NEPERS).float()[..., None] + 1e-3
    mean = (relative.detach() * active).sum(1, keepdim=True) / active.sum(1, keepdim=True)
    return (relative - mean)[..., :LOW_BANDS] / 1.5


def load_envelope_content(device: torch.device) -> EnvelopeContentEncoder:
    """Load the encoder supplied with the base model, in evaluation mode.

    Raises VoiceError if it is missing or damaged.
    """
    path = WEIGHTS / "envelope_content.safetensors"
    return with_weights(EnvelopeContentEncoder(), load_weights(path), path).to(device)
