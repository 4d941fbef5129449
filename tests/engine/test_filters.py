"""Filters and transforms against scipy's own, to the bit."""

import numpy as np
import pytest
import scipy
from scipy import fft, ndimage, signal

from engine import filters

LENGTHS = (1, 2, 3, 5, 9, 30, 300)
SIZES = (1, 2, 3, 4, 5, 19, 51, 201)


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(0)


def assert_same(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(37,), (64,), (3, 512), (5, 1025), (2, 3, 100)])
@pytest.mark.parametrize("size", [None, 20, 64, 2048])
def test_transforms(random, kind, shape, size):
    samples = random.standard_normal(shape).astype(kind)
    spectrum = fft.rfft(samples)
    assert_same(filters.rfft(samples, size), fft.rfft(samples, size))
    assert_same(filters.irfft(spectrum, size), fft.irfft(spectrum, size))
    assert_same(filters.irfft(np.abs(spectrum), size), fft.irfft(np.abs(spectrum), size))


def test_quick_size():
    for size in (1, 17, 44100, 441_017, 1_000_003):
        assert filters.quick_size(size) == fft.next_fast_len(size, real=True)


def test_butterworth_designs_are_those_of_this_scipy():
    others = [(1, 3000.0, "lowpass", 22050), (2, (60.0, 3600.0), "bandpass", 8000)]
    others += [(order, hertz, "lowpass", 44100) for order in (2, 4, 6) for hertz in (500.0, 2511.4, 7867.02, 21000.0)]
    for order, hertz, kind, rate in [*filters._DESIGNED, *others]:
        expected = signal.butter(order, hertz, kind, fs=rate, output="sos")
        assert_same(filters.butterworth(order, hertz, kind, rate), expected)


@pytest.mark.parametrize("design", list(filters._DESIGNED))
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 2, 10, 5000])
def test_filters_in_sections(random, design, kind, count):
    sections, samples = filters.butterworth(*design), random.standard_normal(count).astype(kind)
    assert_same(filters.through(sections, samples), signal.sosfilt(sections, samples))
    for reach in {0, min(count - 1, 3), min(count - 1, 4410)}:
        expected = signal.sosfiltfilt(sections, samples, padlen=reach)
        assert_same(filters.through_and_back(sections, samples, reach), expected)


def test_through_takes_channels_in_any_layout(random):
    sections, samples = filters.butterworth(2, 25.0, "highpass", 44100), random.standard_normal((3, 800))
    for layout in (samples, samples[:, ::2], samples.T.copy().T):
        assert_same(filters.through(sections, layout), signal.sosfilt(sections, layout, axis=1))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("ends", ["nearest", "reflect"])
def test_what_is_around_frames(random, kind, ends):
    for count in LENGTHS:
        curve = random.standard_normal(count).astype(kind)
        for size in SIZES:
            assert_same(filters.moving_mean(curve, size, ends), ndimage.uniform_filter1d(curve, size, mode=ends))
            assert_same(filters.moving_maximum(curve, size, ends), ndimage.maximum_filter1d(curve, size, mode=ends))
            assert_same(filters.moving_minimum(curve, size, ends), ndimage.minimum_filter1d(curve, size, mode=ends))
            if size > 2:
                assert_same(filters.moving_median(curve, size, ends), ndimage.median_filter(curve, size, mode=ends))


@pytest.mark.parametrize("ends", ["nearest", "reflect"])
def test_median_of_flags_and_numbers(random, ends):
    for count in LENGTHS:
        for values in (random.random(count) > 0.6, random.integers(0, 4, count)):
            for size in SIZES[2:]:
                assert_same(filters.moving_median(values, size, ends), ndimage.median_filter(values, size, mode=ends))


def test_runs_of_flags(random):
    for count in LENGTHS:
        flags = random.random(count) > 0.6
        for size in SIZES:
            assert_same(filters.closed(flags, size), ndimage.binary_closing(flags, np.ones(size)))
            assert_same(filters.opened(flags, size), ndimage.binary_opening(flags, np.ones(size)))
        assert_same(filters.moving_maximum(flags, 9, "constant"), ndimage.binary_dilation(flags, iterations=4))


@pytest.mark.parametrize("count", [0, 1, 3, 50, 1000])
def test_peaks(random, count):
    curve = np.round(random.standard_normal(count) * 4)  # with plateaus
    assert_same(filters.peaks(curve, 2.0, 8), signal.find_peaks(curve, height=2.0, distance=8)[0])


@pytest.mark.parametrize("function", [filters.moving_mean, filters.moving_median, filters.closed, filters.opened])
def test_no_frames_at_all_are_refused(function):
    with pytest.raises(ValueError, match="0 frames"):
        function(np.zeros(5, bool), 0)


def test_a_part_is_the_packages_own():
    assert filters.compiled("scipy.signal._sosfilt") is scipy.signal._sosfilt
