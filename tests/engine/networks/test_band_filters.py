import numpy as np
import torch

from engine.analysis.envelope import BANDS, band_centres
from engine.networks.band_filters import Mix, filter_table, log_gain, response
from engine.networks.spectral_frames import BINS, TRANSFORM, minimum_phase
from engine.units import SAMPLE_RATE

CURVE = torch.from_numpy(np.random.default_rng(0).standard_normal((3, BANDS))).float() - 6.0


def test_log_gain_interpolates_between_the_centres_of_bands():
    hertz = np.arange(BINS) * SAMPLE_RATE / TRANSFORM
    wanted = np.stack([np.interp(hertz, band_centres(), row) for row in CURVE.numpy()])
    np.testing.assert_allclose(log_gain(CURVE, filter_table()).numpy(), wanted, atol=1e-5)


def test_response_has_the_gain_and_its_minimum_phase_and_what_is_added():
    table, added = filter_table(), torch.linspace(-2.0, 2.0, BANDS)
    found = torch.complex(*response(CURVE, table, 0.5, added))
    gain = log_gain(CURVE, table)
    wanted = 0.5 * torch.polar(gain.exp(), minimum_phase(gain) + log_gain(added, table))
    torch.testing.assert_close(found, wanted, atol=1e-6, rtol=1e-4)


def test_mix_is_the_sum_of_products():
    noise = torch.Generator().manual_seed(0)
    one, other, filtered, again = torch.randn(4, 5, BINS, dtype=torch.complex64, generator=noise)
    gain = torch.rand(5, BINS, generator=noise)
    mix = Mix(one, filtered.real, filtered.imag)
    mix.add(other, gain)
    mix.add(again, filtered.real, filtered.imag)
    torch.testing.assert_close(mix.spectra(), one * filtered + other * gain + again * filtered)
