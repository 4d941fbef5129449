import pytest
import torch

from engine.analysis.envelope import BANDS
from engine.research.pretraining.perturbation import add_noise_floor, random_equalizer, random_factor


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_random_factor_is_evenly_distributed_around_1():
    factors = random_factor(2000, 1.3, seeded())
    assert factors.shape == (2000,)
    assert factors.min() >= 1 / 1.3
    assert factors.max() <= 1.3
    assert factors.log().mean().abs() < 0.02


def test_random_equalizer_is_smooth_and_scales_with_its_strength():
    gains = random_equalizer(500, BANDS, 0.3, seeded())
    assert gains.shape == (500, 1, BANDS)
    assert gains.diff(dim=2).abs().max() < 0.3
    assert random_equalizer(3, BANDS, 0.0, seeded()).abs().max() == 0
    torch.testing.assert_close(random_equalizer(500, BANDS, 0.6, seeded()), 2 * gains)


def test_add_noise_floor_raises_only_quiet_bands():
    envelope = torch.linspace(-8, 2, BANDS).expand(40, 6, BANDS)
    noisy = add_noise_floor(envelope, seeded())
    assert (noisy >= envelope - 1e-5).all()
    added = (noisy - envelope).amax((1, 2))
    assert 10 <= (added > 0.01).sum() <= 35  # about half of the batch
    torch.testing.assert_close(noisy[..., -1], envelope[..., -1], atol=0.02, rtol=0)


@pytest.mark.parametrize(
    "draw",
    [
        lambda random: random_factor(4, 1.3, random),
        lambda random: random_equalizer(4, BANDS, 0.5, random),
        lambda random: add_noise_floor(torch.zeros(4, 3, BANDS), random),
    ],
)
def test_perturbations_are_deterministic_with_a_seed(draw):
    torch.testing.assert_close(draw(seeded(3)), draw(seeded(3)), atol=0, rtol=0)
    assert (draw(seeded(3)) != draw(seeded(4))).any()
