"""Content as it can be told from an envelope alone: what the decoder's own envelopes say, while it is trained.

The listener hears samples, and a decoder gives envelopes. So that a training can tell whether a conversion has kept its
words without synthesizing it, this network has learned from envelopes what the content is. It converts nothing.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.analysis.envelope import ACTIVE_NEPERS, LOW_BANDS, SILENT, loudness_of
from engine.errors import VoiceError
from engine.networks.base import WEIGHTS, load_weights
from engine.networks.content_encoder import CONTENT
from engine.networks.layers import ConvNextBlock, FrameConvolution

_CHANNELS = 256
_DILATIONS = (1, 2, 3, 1, 4)


class EnvelopeContentEncoder(nn.Module):
    """Log envelopes less their mean, as `envelope_input` gives them -> content (batch, frames, CONTENT)."""

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
    """The low bands (batch, frames, LOW_BANDS) of envelopes (batch, frames, BANDS) relative to the recording's level,
    less their mean over the frames within 30 dB of it."""
    relative = envelope.clamp(SILENT, 4.0)
    active = (loudness_of(envelope.detach()) > ACTIVE_NEPERS).float()[..., None] + 1e-3
    mean = (relative.detach() * active).sum(1, keepdim=True) / active.sum(1, keepdim=True)
    return (relative - mean)[..., :LOW_BANDS] / 1.5


def load_envelope_content(device: torch.device) -> EnvelopeContentEncoder:
    """The one that ships with the base, in evaluation mode. Raises VoiceError where it is missing or damaged."""
    encoder = EnvelopeContentEncoder()
    path = WEIGHTS / "envelope_content.safetensors"
    try:
        encoder.load_state_dict(load_weights(path))
    except RuntimeError as cause:
        sentence = f"The weights {path.name} belong to another version of the engine; install it again."
        raise VoiceError(sentence) from cause
    return encoder.to(device).eval().requires_grad_(False)
