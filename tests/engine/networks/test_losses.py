import pytest
import torch

from engine.analysis.envelope import BANDS
from engine.networks.losses import envelope_distance, spectral_distance

RATE = 44_100
EVERYTHING = torch.full((2,), 22_050.0)


def test_envelope_distance_of_equal_envelopes_is_zero():
    envelope = torch.randn(2, 5, BANDS)
    assert envelope_distance(envelope, envelope, torch.tensor([BANDS, 80])) == 0


def test_envelope_distance_equals_a_constant_difference():
    wanted = torch.randn(2, 5, BANDS)
    assert envelope_distance(wanted + 0.5, wanted, torch.tensor([BANDS, 80])) == pytest.approx(0.5)


def test_envelope_distance_ignores_bands_above_the_bandwidth():
    wanted = torch.zeros(2, 5, BANDS)
    predicted = wanted.clone()
    predicted[1, :, 80:] = 9.0
    assert envelope_distance(predicted, wanted, torch.tensor([BANDS, 80])) == 0
    assert envelope_distance(predicted, wanted, torch.tensor([BANDS, 81])) > 0


def test_envelope_distance_weights_frames_near_silence_by_a_third():
    wanted = torch.zeros(1, 2, BANDS)
    wanted[0, 1] = -14.0
    predicted = wanted.clone()
    predicted[0, 1] += 1.0
    assert envelope_distance(predicted, wanted, torch.tensor([BANDS])) == pytest.approx(0.25, abs=0.01)


def test_spectral_distance_of_equal_samples_is_zero():
    samples = torch.randn(2, 5000)
    assert spectral_distance(samples, samples, EVERYTHING, RATE) == 0


def test_spectral_distance_grows_with_the_difference():
    torch.manual_seed(0)
    wanted, other = torch.randn(2, 5000), torch.randn(2, 5000)
    distances = [float(spectral_distance(wanted + share * other, wanted, EVERYTHING, RATE)) for share in (0.01, 0.1, 1)]
    assert 0 < distances[0] < distances[1] < distances[2]


def test_spectral_distance_of_a_doubled_signal_is_half_plus_log_two():
    wanted = torch.randn(2, 5000)
    # half of the relative error of the magnitudes and all of their logarithm
    expected = 0.5 * 1.0 + torch.log(torch.tensor(2.0))
    assert spectral_distance(2 * wanted, wanted, EVERYTHING, RATE) == pytest.approx(float(expected), abs=0.01)


def test_spectral_distance_ignores_frequencies_above_the_bandwidth():
    wanted = torch.randn(1, 20_000, generator=torch.Generator().manual_seed(0))
    predicted = wanted + torch.sin(2 * torch.pi * 15_000 * torch.arange(20_000) / RATE)
    heard, deaf = torch.tensor([22_050.0]), torch.tensor([6_000.0])
    whole = spectral_distance(predicted, wanted, heard, RATE)
    assert spectral_distance(predicted, wanted, deaf, RATE) < 0.1 * whole


def test_spectral_distance_has_a_finite_gradient_in_silence():
    samples = torch.zeros(1, 5000, requires_grad=True)
    spectral_distance(samples, torch.randn(1, 5000), EVERYTHING[:1], RATE).backward()
    assert torch.isfinite(samples.grad).all()
