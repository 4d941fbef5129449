"""Filters that are given as curves over the bands of an envelope: their gain and minimum phase at each bin.

Both are linear in the curve, so that one product with a table gives them, without a transform.
"""

import numpy as np
import torch
from torch import Tensor

from engine.analysis.envelope import BANDS, band_centres
from engine.networks.spectral_frames import BINS, TRANSFORM, minimum_phase
from engine.units import SAMPLE_RATE


def filter_table() -> Tensor:
    """Return what a neper in each band adds to the log gain and to the minimum phase, float32 (BANDS, 2 * BINS).

    A curve over bands is interpolated linearly at the frequency of each bin.
    """
    hertz = np.arange(BINS) * SAMPLE_RATE / TRANSFORM
    gain = torch.from_numpy(np.stack([np.interp(hertz, band_centres(), row) for row in np.eye(BANDS)]))
    return torch.cat([gain, minimum_phase(gain)], 1).float()


def log_gain(curve: Tensor, table: Tensor) -> Tensor:
    """Return the log gain (..., BINS) of a curve (..., BANDS) in nepers."""
    return curve @ table[:, :BINS]


def response(curve: Tensor, table: Tensor, share: Tensor | None = None, phase: Tensor | None = None) -> list[Tensor]:
    """Return the real and the imaginary part (..., BINS) of the response of minimum phase of a curve (..., BANDS).

    share: (..., BINS), to multiply it by; phase: (..., BANDS), in radians, to add.
    """
    gain, turned = (curve @ table).split(BINS, -1)
    gain = gain.exp() if share is None else share * gain.exp()
    turned = turned if phase is None else turned + log_gain(phase, table)
    return [gain * turned.cos(), gain * turned.sin()]


def multiplied(spectra: Tensor, filters: list[Tensor]) -> list[Tensor]:
    """Multiply complex spectra by filters, both in real and imaginary parts.

    In parts, since torch's complex product rounds otherwise where threads divide it.
    """
    (real, imaginary), (gain, cross) = (spectra.real, spectra.imag), filters
    return [real * gain - imaginary * cross, real * cross + imaginary * gain]
