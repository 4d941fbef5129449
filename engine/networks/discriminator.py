"""The discriminator of the training of the acoustic networks."""

from torch import Tensor, nn
from torch.nn import functional

from engine.analysis.envelope import LOW_BANDS
from engine.networks.timbre_encoder import TIMBRE


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
