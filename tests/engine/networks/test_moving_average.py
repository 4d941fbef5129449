import pytest
import torch

from engine.networks.moving_average import moving_average


def test_what_is_even_stays_up_to_the_ends():
    torch.testing.assert_close(moving_average(torch.full((7, 2), 3.0), 20), torch.full((7, 2), 3.0))


def test_a_pulse_becomes_the_window():
    curves = torch.zeros(21, 1)
    curves[10] = 1.0
    average = moving_average(curves, 3)[:, 0]
    assert (average > 1e-6).nonzero()[:, 0].tolist() == list(range(7, 14))
    assert average.sum() == pytest.approx(1.0)
    assert average.argmax() == 10
    torch.testing.assert_close(average, average.flip(0))


def test_frames_without_weight_do_not_count():
    curves, weight = torch.tensor([[1.0], [100.0], [1.0]]), torch.tensor([[1.0], [1e-6], [1.0]])
    torch.testing.assert_close(moving_average(curves, 2, weight), torch.ones(3, 1), atol=1e-3, rtol=0)
