"""Content: what is said or sung, per frame, with as little as possible of who says it.

A narrow bottleneck over the listener's features. It is trained on recordings as they are and as other people might have
said them (see engine.features.augmentations), against a speaker classifier with reversed gradient.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.networks.layers import ConvNextBlock
from engine.networks.listener import FEATURES, on_frames

CONTENT = 64  # numbers per frame
_CHANNELS = 256
_DILATIONS = (1, 1, 2)
_NOISE = 0.15
_LARGEST = 6.0  # standard deviations; a few of the listener's numbers burst at times


class ContentEncoder(nn.Module):
    """The listener's features of a recording -> content, (batch, frames, CONTENT), each frame of unit variance.

    Features are taken relative to their mean over the recording, which is mostly speaker and microphone, in standard
    deviations of the sounds within recordings.
    """

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(FEATURES, _CHANNELS)
        self.blocks = nn.ModuleList(ConvNextBlock(_CHANNELS, 2, dilation) for dilation in _DILATIONS)
        self.leave = nn.Sequential(nn.LayerNorm(_CHANNELS), nn.Linear(_CHANNELS, CONTENT))
        self.usual: Tensor
        self.between: Tensor
        self.within: Tensor
        self.register_buffer("usual", torch.zeros(FEATURES))  # mean of the features over all speakers
        self.register_buffer("between", torch.ones(FEATURES))  # variance of the recordings' means
        self.register_buffer("within", torch.ones(FEATURES))  # variance of the sounds within a recording

    def forward(self, features: Tensor, mean: Tensor, frames: int) -> Tensor:
        """features (batch, k, FEATURES) every 20 ms and their mean (batch, FEATURES) as `likeliest_mean` gives it."""
        relative = (features.float() - mean[:, None]) / self.within.sqrt()
        hidden = on_frames(self.enter(relative.clamp(-_LARGEST, _LARGEST)), frames)
        for block in self.blocks:
            hidden = block(hidden)
        content = functional.layer_norm(self.leave(hidden).float(), (CONTENT,))
        # noise limits how much a number can carry, so the bottleneck keeps what the decoder needs most
        return content + _NOISE * torch.randn_like(content) if self.training else content

    def likeliest_mean(self, mean: Tensor, sounds: Tensor | float) -> Tensor:
        """The mean (..., FEATURES) of a speaker and a microphone, where so many sounds have this mean.

        Of one held vowel the plain mean is that vowel, and relative to it nothing would be left to be said. The linear
        estimator of least mean square error (Kay, Fundamentals of Statistical Signal Processing, 1993, chapter 12).
        """
        share = self.between / (self.between + self.within / sounds)
        return self.usual + share * (mean - self.usual)


def mix_content(content: Tensor, other: Tensor, strength: float | Tensor) -> Tensor:
    """Content moved by `strength` 0..1 towards another, both (..., CONTENT), in unit variance as it was."""
    # the mean of several sounds is smaller than each
    return functional.layer_norm(content + strength * (other - content), (CONTENT,))
