"""Spectra of overlapping frames: how samples are cut into them, filtered without wrapping around, and joined again."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn

from engine.units import HOP

WINDOW = 2 * HOP  # of each frame; Hann windows at half overlap add up to one
TRANSFORM = 1536  # leaves 654 samples (15 ms) for the filter's response before it wraps around
PIECE = TRANSFORM  # samples that a filtered frame may take
PIECE_BEGINS = (TRANSFORM - WINDOW) // 4  # samples before the frame itself
BINS = TRANSFORM // 2 + 1
_IN_CACHE = 128  # frames: a processor takes two to ten times as long where their spectra do not stay in its cache
_ON_CARD = 2400  # frames of all windows, more than the longest has: their spectra take 250 MB


def cut_frames(samples: np.ndarray | Tensor, frames: int) -> Tensor:
    """Cut samples (..., n) into frames (..., frames, WINDOW), the first centred on the first sample; zeros beyond the
    ends."""
    if isinstance(samples, np.ndarray):
        samples = torch.from_numpy(samples.astype(np.float32))
    after = (frames + 1) * HOP - HOP - samples.shape[-1]  # negative where samples are left out
    return nn.functional.pad(samples, (HOP, after)).unfold(-1, WINDOW, HOP)


def blocks_of(frames: int, device: torch.device, windows: int = 1) -> Iterator[slice]:
    """Yield the frames of each of some windows that are best computed at once: a few on a processor, more elsewhere."""
    count = _IN_CACHE if device.type == "cpu" else max(1, _ON_CARD // windows)
    yield from (slice(first, min(first + count, frames)) for first in range(0, frames, count))


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
    """Return the spectra (..., BINS) of windowed frames (..., WINDOW), which begin PIECE_BEGINS samples later."""
    windowed = frames * _window(frames.device)
    return torch.fft.rfft(nn.functional.pad(windowed, (PIECE_BEGINS, TRANSFORM - WINDOW - PIECE_BEGINS)))


@lru_cache(maxsize=8)
def _window(device: torch.device) -> Tensor:
    with torch.inference_mode(False):  # training may use it as well
        return torch.hann_window(WINDOW, device=device)


def pieces_of(spectra: Tensor, times: int = 1) -> Tensor:
    """Return the samples (..., times * PIECE) of filtered frames; a response may begin before its frame.

    times: as many samples in the same time.
    """
    pieces = torch.fft.irfft(spectra, times * TRANSFORM)
    return pieces if times == 1 else times * pieces


def join_pieces(blocks: Iterable[Tensor], frames: int, times: int = 1) -> Tensor:
    """Add up the pieces (batch, n, times * PIECE) of all frames, in blocks that follow each other.

    Returns samples (batch, times * (frames - 1) * HOP).
    """
    hop, parts, joined, first = times * HOP, -(-PIECE // HOP), None, 0
    for pieces in blocks:
        if joined is None:
            joined = pieces.new_zeros(len(pieces), frames + parts - 1, hop)
        # frames one after the other, as far as each is concerned, so that the blocks make no difference to the sums
        for number, part in reversed(list(enumerate(pieces.split(hop, 2)))):
            joined[:, first + number : first + number + pieces.shape[1], : part.shape[2]] += part
        first += pieces.shape[1]
    assert joined is not None
    begin = times * (PIECE_BEGINS + HOP)
    return joined.flatten(1)[:, begin : begin + (frames - 1) * hop]
