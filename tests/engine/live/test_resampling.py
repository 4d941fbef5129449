import numpy as np
import pytest
import soxr

from engine.errors import SettingsError
from engine.live.resampling import StreamResampler


@pytest.mark.parametrize(("source", "target"), [(44_100, 16_000), (48_000, 44_100), (44_100, 48_000), (8_000, 44_100)])
def test_push_matches_soxr_after_the_stated_delay(source, target):
    time = np.arange(source) / source
    tones = sum(np.sin(2 * np.pi * hertz * time) for hertz in (300.0, 1700.0, 3100.0)) * np.hanning(source)
    stream = StreamResampler(source, target)
    found = np.concatenate([stream.push(block) for block in tones.reshape(-1, source // 50)])
    expected = soxr.resample(tones, source, target, "VHQ")
    assert len(found) == target
    assert stream.delay_s < 0.003
    spectrum = np.fft.rfft(found) * np.exp(2j * np.pi * np.fft.rfftfreq(target) * stream.delay_s * target)
    assert np.abs(np.fft.irfft(spectrum, target) - expected).max() < 0.002


def test_push_does_not_depend_on_the_block_size():
    noise = np.random.default_rng(2).standard_normal(48_000)
    streams = StreamResampler(48_000, 44_100), StreamResampler(48_000, 44_100)
    found = [
        np.concatenate([stream.push(block) for block in np.split(noise, count)])
        for stream, count in zip(streams, (50, 10), strict=True)
    ]
    np.testing.assert_allclose(*found, atol=1e-6)


def test_push_refuses_a_block_with_a_fractional_output_length():
    with pytest.raises(SettingsError, match="not a whole number"):
        StreamResampler(48_000, 44_100).push(np.zeros(100))
