"""The decoder: predict a voice's spectral envelope from content, pitch, loudness and timbre."""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from engine.analysis.envelope import BANDS
from engine.networks.batches import inside, together
from engine.networks.content_encoder import CONTENT
from engine.networks.layers import (
    HIGHEST_LEARNED_HERTZ,
    ConvNextBlock,
    FrameConvolution,
    frames_after_blocks,
    receptive_frames,
)
from engine.networks.timbre_encoder import TIMBRE
from engine.units import hertz_to_semitones

_CHANNELS = 320
_DILATIONS = (1, 2, 1, 2, 1, 1)
PROSODY = 3  # log pitch, voicing, loudness


class EnvelopeDecoder(nn.Module):
    """Decode content (batch, frames, CONTENT), prosody (batch, frames, PROSODY) and timbre (batch, TIMBRE).

    Returns the log envelope relative to the recording's level (batch, frames, BANDS), or of it only the `last` frames.
    """

    receptive_frames = receptive_frames(_DILATIONS, 5)

    def __init__(self) -> None:
        super().__init__()
        self.enter = FrameConvolution(CONTENT + PROSODY, _CHANNELS, 5)
        self.blocks = nn.ModuleList(ConvNextBlock(_CHANNELS, 2, dilation, TIMBRE) for dilation in _DILATIONS)
        self.leave = nn.Sequential(nn.LayerNorm(_CHANNELS), nn.Linear(_CHANNELS, BANDS))

    def forward(
        self, content: Tensor, prosody: Tensor, timbre: Tensor, last: int | None = None, within: Tensor | None = None
    ) -> Tensor:
        """within: (batch, frames, 1), 0 after the end of shorter sequences, which are filled up with zeros."""
        hidden = self.enter(torch.cat([content, prosody], 2))
        for block, kept in zip(self.blocks, frames_after_blocks(_DILATIONS, last or hidden.shape[1]), strict=True):
            hidden = block(hidden, timbre, kept if last else None, within)
        return self.leave(hidden).float() * 2.0 - 3.0


def decode_together(
    decoder: EnvelopeDecoder, contents: Sequence[Tensor], prosody: Sequence[Tensor], timbre: Tensor
) -> list[Tensor]:
    """Decode several windows, content (frames, CONTENT) and prosody (frames, PROSODY) each, in one timbre (TIMBRE,):
    the log envelope (frames, BANDS) of each."""
    lengths = [len(one) for one in contents]
    timbres = timbre[None].expand(len(contents), -1)
    decoded = decoder(together(contents), together(prosody), timbres, within=inside(lengths, timbre.device))
    return [row[:frames] for row, frames in zip(decoded, lengths, strict=True)]


def between_decoders(first: EnvelopeDecoder, second: EnvelopeDecoder, share: float) -> EnvelopeDecoder:
    """Interpolate the weights of two decoders; `share` (0..1) is that of the second, exact at both ends.

    The result is in evaluation mode. Decoders are fine-tuned briefly from one base; networks on the straight line
    between such weights work equally well (model soups; Wortsman et al., 2022).
    """
    if share in (0.0, 1.0):
        return second if share else first
    decoder = copy.deepcopy(first).eval().requires_grad_(False)
    for own, other in zip(decoder.parameters(), second.parameters(), strict=True):
        own.mul_(1.0 - share).add_(other.detach(), alpha=share)  # in place, as this runs for every conversion
    return decoder


def prosody_input(semitones: Tensor, voicing: Tensor, loudness: Tensor) -> Tensor:
    """Stack pitch (MIDI numbers), voicing (0..1) and relative loudness (nepers), each (..., frames), as input."""
    semitones = semitones.clamp_max(float(hertz_to_semitones(HIGHEST_LEARNED_HERTZ)))
    return torch.stack([(semitones - 57.0) / 12.0, voicing * 2 - 1, loudness.clamp(-8.0, 2.0) / 2 + 1], -1)
