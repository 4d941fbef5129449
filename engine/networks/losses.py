"""Loss functions of training."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.analysis.envelope import LOW_BANDS
from engine.networks.timbre_encoder import TIMBRE


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


class EnvelopeDiscriminator(nn.Module):
    """Distinguish measured from decoded envelopes, patch by patch (PatchGAN; Isola et al., 2017), given the timbre.

    (batch, frames, LOW_BANDS) -> scores (batch, 1, frames', bands') and the hidden layers for feature matching.
    """

    def __init__(self) -> None:
        super().__init__()
        weight_norm = nn.utils.parametrizations.weight_norm
        shapes = [(1, 24, (2, 2)), (24, 48, (2, 2)), (48, 96, (1, 2)), (96, 96, (1, 2))]
        self.layers = nn.ModuleList(weight_norm(nn.Conv2d(i, o, (3, 5), stride, (1, 2))) for i, o, stride in shapes)
        self.condition = nn.Linear(TIMBRE, 96)
        self.leave = nn.Conv2d(96, 1, (3, 3), padding=1)

    def forward(self, envelope: Tensor, timbre: Tensor) -> tuple[Tensor, list[Tensor]]:
        hidden = (envelope[:, None, :, :LOW_BANDS].clamp_min(-8.0) / 2 + 1.5).contiguous()
        features = []
        for number, layer in enumerate(self.layers):
            hidden = functional.leaky_relu(layer(hidden), 0.2)
            if number == 2:
                hidden = hidden + self.condition(timbre)[:, :, None, None]
            features.append(hidden)
        return self.leave(hidden), features


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
