"""Content: what is said or sung, per frame, with as little as possible of the speaker.

A narrow bottleneck over the listener's features. It is trained on recordings as they are and as they might sound from
other people (see engine.features.augmentations), against a speaker classifier with reversed gradient.
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
_LARGEST = 6.0  # standard deviations; a few of the listener's features have outliers


class ContentEncoder(nn.Module):
    """Encode the listener's features as content (batch, frames, CONTENT), each frame with unit variance.

    Features are taken relative to their mean over the recording, which reflects mostly speaker and microphone, in units
    of the standard deviation within recordings.
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
        self.register_buffer("within", torch.ones(FEATURES))  # variance within a recording

    def forward(self, features: Tensor, mean: Tensor, frames: int, within: Tensor | None = None) -> Tensor:
        """features (batch, k, FEATURES) every 20 ms and their mean (batch, FEATURES) from `likeliest_mean`.

        within: (batch, frames, 1), 0 after the end of shorter recordings.
        """
        relative = (features.float() - mean[:, None]) / self.within.sqrt()
        hidden = on_frames(self.enter(relative.clamp(-_LARGEST, _LARGEST)), frames)
        for block in self.blocks:
            hidden = block(hidden, within=within)
        content = functional.layer_norm(self.leave(hidden).float(), (CONTENT,))
        # noise limits how much each number can carry, so the bottleneck keeps what the decoder needs most
        return content + _NOISE * torch.randn_like(content) if self.training else content

    def likeliest_mean(self, mean: Tensor, sounds: Tensor | float) -> Tensor:
        """Estimate the mean (..., FEATURES) of speaker and microphone from the mean of `sounds` different sounds.

        The plain mean of one sustained vowel is that vowel, and relative to it no content would remain. This is the
        linear minimum mean square error estimator (Kay, Fundamentals of Statistical Signal Processing, 1993, chapter
        12).
        """
        share = self.between / (self.between + self.within / sounds)
        return self.usual + share * (mean - self.usual)


def mix_content(content: Tensor, other: Tensor, strength: float | Tensor) -> Tensor:
    """Interpolate content by `strength` 0..1 towards another, both (..., CONTENT), keeping unit variance."""
    # the mean of several frames has less variance than each
    return functional.layer_norm(content + strength * (other - content), (CONTENT,))
