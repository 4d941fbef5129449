import pytest
import torch

from engine.analysis.envelope import BANDS
from engine.networks.losses import envelope_distance


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
