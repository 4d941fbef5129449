"""Loss functions of training."""

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


def spectral_distance(predicted: Tensor, wanted: Tensor, bandwidth_hertz: Tensor, rate: int) -> Tensor:
    """Return the multi-resolution STFT loss (Yamamoto et al., 2020) of samples (batch, samples).

    The relative error of the magnitudes plus the mean absolute difference of their logarithms, below each recording's
    bandwidth (batch,).
    """
    total = predicted.new_zeros(())
    for size in (2048, 1024, 512, 256):
        window = torch.hann_window(size, device=predicted.device)
        magnitudes = [
            torch.stft(x, size, size // 4, size, window, return_complex=True).abs().clamp_min(1e-5)
            for x in (predicted, wanted)
        ]
        hertz = torch.arange(size // 2 + 1, device=predicted.device) * (rate / size)
        known = (hertz[None] < bandwidth_hertz[:, None]).float()[:, :, None]
        difference = (magnitudes[0] - magnitudes[1]) * known
        reference = (magnitudes[1] * known).square().sum((1, 2)).sqrt()
        convergence = (difference.square().sum((1, 2)).sqrt() / (reference + 1e-2)).mean()
        logarithms = ((magnitudes[0].log() - magnitudes[1].log()).abs() * known).sum() / (
            known.sum() * magnitudes[0].shape[2]
        )
        total = total + 0.5 * convergence + logarithms
    return total / 4
