"""Spectra of overlapping frames: how samples are cut into them, filtered without wrapping around, and joined again."""

import numpy as np
import torch
from torch import Tensor, nn

from engine.units import HOP

WINDOW = 2 * HOP  # of each frame; Hann windows at half overlap add up to one
TRANSFORM = 1536  # leaves 654 samples (15 ms) for the filter's response before it wraps around
PIECE = TRANSFORM  # samples that a filtered frame may take
PIECE_BEGINS = (TRANSFORM - WINDOW) // 4  # samples before the frame itself
BINS = TRANSFORM // 2 + 1


def cut_frames(samples: np.ndarray, frames: int) -> Tensor:
    """Cut samples (n,) into frames (frames, 2 * HOP), the first centred on the first sample; zeros beyond the ends."""
    wanted = (frames + 1) * HOP
    padded = np.pad(np.asarray(samples, np.float32), (HOP, max(0, wanted - HOP - len(samples))))
    return torch.from_numpy(padded[:wanted]).unfold(0, WINDOW, HOP)


def minimum_phase(log_gain: Tensor) -> Tensor:
    """Compute the minimum phase in radians for a log gain (..., bins).

    Done by folding the real cepstrum (Oppenheim and Schafer, Discrete-Time Signal Processing, chapter 13).
    """
    cepstrum = torch.fft.irfft(log_gain, TRANSFORM)
    fold = torch.zeros(TRANSFORM, device=log_gain.device)
    fold[1 : TRANSFORM // 2] = 2.0
    fold[0] = fold[TRANSFORM // 2] = 1.0
    return torch.fft.rfft(cepstrum * fold).imag


def frame_spectra(frames: Tensor) -> Tensor:
    """Return the spectra (..., BINS) of windowed frames (..., WINDOW)."""
    return torch.fft.rfft(frames * torch.hann_window(WINDOW, device=frames.device), TRANSFORM)


def response(log_gain: Tensor) -> Tensor:
    """Return the complex response of minimum phase with a log gain (..., bins)."""
    return torch.polar(log_gain.exp(), minimum_phase(log_gain))


def pieces_of(spectra: Tensor) -> Tensor:
    """Return the samples (..., PIECE) of filtered frames; a response may begin before its frame."""
    return torch.fft.irfft(spectra, TRANSFORM).roll(PIECE_BEGINS, dims=-1)


def overlap_add(spectra: Tensor) -> Tensor:
    """Join filtered frames (batch, frames, bins): samples (batch, (frames - 1) * HOP)."""
    pieces = pieces_of(spectra)
    batch, frames, _piece = pieces.shape
    parts = -(-PIECE // HOP)
    pieces = nn.functional.pad(pieces, (0, parts * HOP - PIECE)).view(batch, frames, parts, HOP)
    joined = pieces.new_zeros(batch, frames + parts - 1, HOP)
    for number in range(parts):
        joined[:, number : number + frames] += pieces[:, :, number]
    return joined.flatten(1)[:, PIECE_BEGINS + HOP : PIECE_BEGINS + HOP + (frames - 1) * HOP]
