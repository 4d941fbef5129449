"""How far envelopes are apart, for training."""

import torch
from torch import Tensor


def envelope_distance(predicted: Tensor, wanted: Tensor, bands: Tensor) -> Tensor:
    """Return the mean absolute difference of log envelopes (batch, frames, BANDS) in nepers.

    Bands above a recording's bandwidth (`bands`, (batch,)) do not count; frames close to silence count a third.
    """
    weight = envelope_weight(wanted, bands)
    return ((predicted - wanted).abs() * weight).sum() / weight.sum()


def envelope_weight(wanted: Tensor, bands: Tensor) -> Tensor:
    """Return the weight of each band and frame in `envelope_distance`, (batch, frames, BANDS)."""
    known = torch.arange(wanted.shape[2], device=wanted.device)[None, None] < bands[:, None, None]
    audible = 1.0 / 3 + 2.0 / 3 * torch.sigmoid(2 * (wanted.amax(2, keepdim=True) + 4.5))
    return known * audible
