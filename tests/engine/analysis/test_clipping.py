import numpy as np
import pytest

from engine.analysis.clipping import ClippingMeter

RATE = 44_100


def wave(peak: float) -> np.ndarray:
    return (peak * np.sin(2 * np.pi * 200 * np.arange(RATE) / RATE))[None].astype(np.float32)


@pytest.mark.parametrize(
    ("samples", "is_clipped"),
    [(wave(0.9), False), (wave(1.0), False), (wave(1.6).clip(-1, 1), True), (0.5 * wave(1.6).clip(-1, 1), True)],
)
def test_clipping_meter_finds_flat_tops(samples, is_clipped):
    meter = ClippingMeter(RATE)
    for start in range(0, RATE, 10_007):
        meter.add(samples[:, start : start + 10_007])
    assert (meter.runs > 0) is is_clipped
    assert (len(meter.times_s()) > 0) is is_clipped
