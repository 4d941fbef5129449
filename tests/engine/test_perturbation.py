import numpy as np
import pytest
import torch

from engine.envelope import BANDS, LOW_BANDS, band_centres, measure_envelope
from engine.frames import SAMPLE_RATE, frame_count
from engine.perturbation import (
    add_noise_floor,
    as_at_pitch,
    random_equalizer,
    random_factor,
    random_pitches,
    warp_bands,
)
from engine.pitch import Pitch


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def resonance(hertz: float) -> torch.Tensor:
    distance = torch.from_numpy(np.log2(band_centres() / hertz)).float()
    return (-4 * distance.square())[None, None].expand(1, 3, BANDS).contiguous()


def sung(hertz: float) -> torch.Tensor:
    """The envelope that is measured of one second of two resonances sung at a pitch, (1, frames, BANDS)."""
    time_s = np.arange(SAMPLE_RATE) / SAMPLE_RATE
    partials = np.arange(1, int(10_000 / hertz)) * hertz
    gain = sum(np.exp(-(((partials - centre) / 250) ** 2)) for centre in (700, 2600)) + 0.01
    samples = (gain[:, None] * np.cos(2 * np.pi * partials[:, None] * time_s)).sum(0) * np.sqrt(hertz) / 300
    frames = frame_count(len(samples))
    pitch = Pitch(np.full(frames, hertz, np.float32), np.ones(frames, np.float32))
    return torch.from_numpy(measure_envelope(samples.astype(np.float32), pitch))[None, 20:80]


@pytest.mark.parametrize("number", [16, 24, 31])
def test_heard_as_at_a_higher_pitch_is_what_is_measured_there(number):
    pitches = np.geomspace(180, 1100, 32)
    low, high = sung(110.0), sung(pitches[number])
    moved = as_at_pitch(low, torch.ones(1, low.shape[1]), torch.tensor([number]))
    heard = band_centres() < 6000
    before = (low - high)[..., heard].abs().mean()
    after = (moved - high)[..., heard].abs().mean()
    assert after < 0.6 * before


def test_what_is_unvoiced_or_not_chosen_is_heard_as_it_is():
    envelope = torch.randn(2, 5, BANDS)
    assert torch.equal(as_at_pitch(envelope, torch.ones(2, 5), torch.tensor([-1, -1])), envelope)
    voicing = torch.tensor([[1.0, 0.0, 1.0, 0.0, 1.0]] * 2)
    moved = as_at_pitch(envelope, voicing, torch.tensor([-1, 30]))
    assert torch.equal(moved[0], envelope[0])
    assert torch.equal(moved[1, 1::2], envelope[1, 1::2])
    assert (moved[1, 0::2] - envelope[1, 0::2]).abs().mean() > 0.1


def test_a_level_spectrum_is_the_same_at_every_pitch():
    level = torch.full((4, 3, BANDS), -2.0)
    moved = as_at_pitch(level, torch.ones(4, 3), torch.tensor([0, 10, 20, 31]))
    torch.testing.assert_close(moved, level, atol=1e-4, rtol=0)


def test_so_many_are_heard_at_another_pitch_as_are_wanted():
    numbers = random_pitches(4000, 0.3, seeded())
    assert float((numbers >= 0).float().mean()) == pytest.approx(0.3, abs=0.03)
    assert set(numbers.unique().tolist()) == set(range(-1, 32))
    assert (random_pitches(50, 0.0, seeded()) == -1).all()


@pytest.mark.parametrize("bands", [LOW_BANDS, BANDS])
def test_a_factor_of_one_warps_nothing(bands):
    envelope = torch.randn(2, 5, bands)
    torch.testing.assert_close(warp_bands(envelope, torch.ones(2)), envelope, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("factor", [0.8, 1.25])
@pytest.mark.parametrize("hertz", [600.0, 1500.0, 4000.0])
def test_a_resonance_moves_by_the_factor(hertz, factor):
    warped = warp_bands(resonance(hertz), torch.tensor([factor]))
    assert band_centres()[warped[0, 0].argmax()] == pytest.approx(hertz * factor, rel=0.06)


def test_every_row_has_its_own_factor():
    warped = warp_bands(resonance(1000.0).expand(2, 3, BANDS), torch.tensor([1.0, 1.3]))
    torch.testing.assert_close(warped[:1], resonance(1000.0), atol=0.01, rtol=0)
    assert warped[1, 0].argmax() > warped[0, 0].argmax()


def test_factors_lie_evenly_around_one():
    factors = random_factor(2000, 1.3, seeded())
    assert factors.shape == (2000,)
    assert factors.min() >= 1 / 1.3
    assert factors.max() <= 1.3
    assert factors.log().mean().abs() < 0.02


def test_equalizers_are_smooth_and_as_strong_as_asked():
    gains = random_equalizer(500, BANDS, 0.3, seeded())
    assert gains.shape == (500, 1, BANDS)
    assert gains.diff(dim=2).abs().max() < 0.3
    assert random_equalizer(3, BANDS, 0.0, seeded()).abs().max() == 0
    torch.testing.assert_close(random_equalizer(500, BANDS, 0.6, seeded()), 2 * gains)


def test_a_noise_floor_only_fills_what_is_quiet():
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
def test_the_same_seed_perturbs_alike(draw):
    torch.testing.assert_close(draw(seeded(3)), draw(seeded(3)), atol=0, rtol=0)
    assert (draw(seeded(3)) != draw(seeded(4))).any()
