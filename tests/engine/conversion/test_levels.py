"""Loudness on a pretended graphics card, against the processor's."""

import numpy as np
import pytest
import torch

from engine.analysis.loudness import match_loudness, measure_loudness, without_top
from engine.conversion.levels import match_there, measure_there, without_top_there
from engine.units import HOP, frame_count
from tests.engine.pretended_gpu import THERE, crossings, pretended_gpu


@pytest.mark.parametrize("count", [1, HOP - 1, HOP, 3 * HOP + 5, 44_100])
def test_measure_there_is_measure_loudness(sing, count):
    samples = sing(2.0)[30_000 : 30_000 + count]
    with pretended_gpu():
        found = measure_there(torch.from_numpy(samples).to(THERE)).cpu().numpy()
    np.testing.assert_allclose(found, measure_loudness(samples), atol=1e-3)


def test_measure_there_of_silence_is_the_floor():
    assert (measure_there(torch.zeros(1000)) == -120.0).all()


@pytest.mark.parametrize("hertz", [300.0, 3_400.0, 8_000.0, 20_000.0])
def test_without_top_there_is_without_top(sing, hertz):
    samples = sing(1.0)
    with pretended_gpu():
        found = without_top_there(torch.from_numpy(samples).to(THERE), hertz).cpu().numpy()
    np.testing.assert_allclose(found, without_top(samples, hertz), atol=1e-5)


def test_match_there_is_match_loudness_and_crosses_nothing(sing):
    samples = sing(1.0)[:-100]
    frames = frame_count(len(samples))
    current = measure_loudness(samples)
    wanted = np.linspace(-110.0, -5.0, frames, dtype=np.float32)  # beyond all limits
    expected = match_loudness(samples, current, wanted, -60.0)
    with pretended_gpu():
        there = [torch.from_numpy(one).to(THERE) for one in (samples, current, wanted)]
        with crossings() as crossed:
            found = match_there(*there, -60.0)
        assert crossed == []
        np.testing.assert_allclose(found.cpu().numpy(), expected, atol=1e-6)
    assert np.abs(expected).max() > 0.01
