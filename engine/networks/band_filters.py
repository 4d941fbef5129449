"""Filters that are given as curves over the bands of an envelope: their gain and minimum phase at each bin.

Both are linear in the curve, so that one product with a table gives them, without a transform.
"""

import numpy as np
import torch
from torch import Tensor

from engine.analysis.envelope import BANDS, band_centres
from engine.networks.spectral_frames import BINS, TRANSFORM, minimum_phase
from engine.units import SAMPLE_RATE

_FEWEST_ROWS = 32  # of a product that is the same with any number of threads on processors without AVX-512


def filter_table() -> Tensor:
    """Return what a neper in each band adds to the log gain and to the minimum phase, float32 (BANDS, 2 * BINS).

    A curve over bands is interpolated linearly at the frequency of each bin.
    """
    hertz = np.arange(BINS) * SAMPLE_RATE / TRANSFORM
    gain = torch.from_numpy(np.stack([np.interp(hertz, band_centres(), row) for row in np.eye(BANDS)]))
    return torch.cat([gain, minimum_phase(gain)], 1).float()


def log_gain(curve: Tensor, table: Tensor) -> Tensor:
    """Return the log gain (..., BINS) of a curve (..., BANDS) in nepers."""
    return _of_curve(curve, table[:, :BINS])


def response(curve: Tensor, table: Tensor, share: Tensor | float, phase: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return real and imaginary part (..., BINS) of the response of minimum phase of a curve (..., BANDS) in nepers.

    share: (..., BINS), to multiply it by; phase: (..., BANDS), in radians, to add.
    """
    gain, turned = _of_curve(curve, table).split(BINS, -1)
    gain = share * gain.exp()
    turned = turned if phase is None else turned + log_gain(phase, table)
    return gain * turned.cos(), gain * turned.sin()


def _of_curve(curve: Tensor, table: Tensor) -> Tensor:
    """Return the product of a curve (..., BANDS) and a table, the same with any number of threads."""
    missing = _FEWEST_ROWS - curve.numel() // BANDS
    if missing <= 0 or torch.backends.cpu.get_cpu_capability().startswith("AVX512"):
        return curve @ table
    padded = torch.cat([curve.reshape(-1, BANDS), curve.new_zeros(missing, BANDS)])
    return (padded @ table)[:-missing].reshape(*curve.shape[:-1], -1)


class Mix:
    """A sum of complex spectra, each multiplied by a filter.

    It keeps real and imaginary part apart: torch's product of complex numbers rounds otherwise where threads divide it.
    """

    def __init__(self, spectra: Tensor, real: Tensor, imaginary: Tensor) -> None:
        self._real = torch.addcmul(spectra.real * real, spectra.imag, imaginary, value=-1)
        self._imaginary = torch.addcmul(spectra.real * imaginary, spectra.imag, real)

    def add(self, spectra: Tensor, real: Tensor, imaginary: Tensor | None = None) -> None:
        """Add spectra (..., BINS), multiplied by a filter of these parts; without a second one, of these gains."""
        self._real = torch.addcmul(self._real, spectra.real, real)
        self._imaginary = torch.addcmul(self._imaginary, spectra.imag, real)
        if imaginary is not None:
            self._real = torch.addcmul(self._real, spectra.imag, imaginary, value=-1)
            self._imaginary = torch.addcmul(self._imaginary, spectra.real, imaginary)

    def spectra(self) -> Tensor:
        """Return the sum, complex (..., BINS)."""
        return torch.complex(self._real, self._imaginary)
