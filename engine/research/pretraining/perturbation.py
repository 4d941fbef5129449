"""Information perturbation: alter what belongs to the speaker, so that the encoder cannot rely on it.

After NANSY (Choi et al., 2021), but on log envelopes instead of samples, where it costs almost nothing: the frequency
axis is warped as by a longer or shorter vocal tract (`engine.conversion.articulation.warp_bands`), and a smooth random
equalizer and a random noise floor are added.
"""

import numpy as np
import torch
from torch import Tensor

from engine.analysis.envelope import BANDS

_EQUALIZER_CURVES = 6


def random_factor(batch: int, widest: float, random: torch.Generator) -> Tensor:
    """Draw factors between 1 / widest and widest, uniform in the logarithm, (batch,)."""
    return torch.exp((torch.rand(batch, generator=random) * 2 - 1) * np.log(widest))


def random_equalizer(batch: int, bands: int, strength: float, random: torch.Generator) -> Tensor:
    """Draw smooth random gains in nepers, (batch, 1, bands): a sum of slow cosines over the bands."""
    position = torch.arange(bands)[None] + 0.5
    curves = torch.cos(torch.pi * torch.arange(_EQUALIZER_CURVES)[:, None] * position / BANDS * 1.3)
    weights = torch.randn(batch, _EQUALIZER_CURVES, generator=random) * strength
    return (weights @ curves)[:, None]


def add_noise_floor(envelope: Tensor, random: torch.Generator) -> Tensor:
    """Add steady noise to half of the batch; envelope in nepers relative to the recording's level."""
    batch, _, bands = envelope.shape
    level = torch.rand(batch, 1, 1, generator=random) * 4.5 - 8.0
    level = level + random_equalizer(batch, bands, 0.5, random)
    level = torch.where(torch.rand(batch, 1, 1, generator=random) < 0.5, level, torch.full_like(level, -20.0))
    return 0.5 * torch.logaddexp(2 * envelope, 2 * level)
