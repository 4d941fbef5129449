"""The discriminator, given the timbre."""

import torch

from engine.analysis.envelope import BANDS, LOW_BANDS
from engine.networks.discriminator import EnvelopeDiscriminator
from engine.networks.timbre_encoder import TIMBRE


def test_envelope_discriminator_scores_low_band_patches_given_the_timbre():
    torch.manual_seed(0)
    discriminator = EnvelopeDiscriminator()
    envelope, timbre = torch.randn(2, 40, BANDS), torch.randn(2, TIMBRE)
    scores, features = discriminator(envelope, timbre)
    batch, channels, frames, bands = scores.shape
    assert (batch, channels) == (2, 1)
    assert 1 < frames <= 10
    assert 1 < bands < LOW_BANDS
    assert len(features) == 4
    assert (discriminator(envelope, timbre + 1)[0] != scores).any()
    above = envelope.clone()
    above[..., LOW_BANDS:] += 1
    torch.testing.assert_close(discriminator(above, timbre)[0], scores)


def test_envelope_discriminator_learns_to_separate_real_and_fake():
    torch.manual_seed(0)
    discriminator, timbre = EnvelopeDiscriminator(), torch.zeros(4, TIMBRE)
    optimizer = torch.optim.Adam(discriminator.parameters(), 1e-3)
    real, fake = torch.randn(4, 24, BANDS) - 3, torch.zeros(4, 24, BANDS) - 3
    losses = []
    for _ in range(12):
        loss = (discriminator(real, timbre)[0] - 1).square().mean() + discriminator(fake, timbre)[0].square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
