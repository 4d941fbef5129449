"""Resample recordings, whole or block by block, to exact lengths."""

import numpy as np
import numpy.typing as npt
import soxr

from engine.audio.channels import Samples

QUALITY = "HQ"  # soxr: 20-bit precision, linear phase


def resampled_length(sample_count: int, from_rate: int, to_rate: int) -> int:
    """Return sample_count * to_rate / from_rate, with halves rounded up."""
    return (2 * sample_count * to_rate + from_rate) // (2 * from_rate)


def resample(samples: npt.NDArray[np.floating], from_rate: int, to_rate: int) -> Samples:
    """Resample float (..., samples) to float32 (..., resampled_length(samples, from_rate, to_rate)).

    >>> resample(np.zeros((2, 44100), np.float32), 44100, 16000).shape
    (2, 16000)
    """
    *outer, count = samples.shape
    if from_rate == to_rate:
        return samples.astype(np.float32)
    rows = samples.reshape(int(np.prod(outer)), count).astype(np.float32)
    return Resampler(from_rate, to_rate, len(rows)).push(rows, last=True).reshape(*outer, -1)


class Resampler:
    """Resample a stream block by block; the blocks together equal `resample` of the whole."""

    def __init__(self, from_rate: int, to_rate: int, channels: int) -> None:
        self._stream = soxr.ResampleStream(from_rate, to_rate, channels, dtype="float32", quality=QUALITY)
        self._from_rate, self._to_rate = from_rate, to_rate
        self._taken = self._given = 0

    def push(self, block: Samples, last: bool = False) -> Samples:
        """Take float32 (channels, n) and return float32 (channels, m).

        m is often 0 at first, as soxr has latency. With `last` the remainder is returned, so that the total is exactly
        resampled_length of the total input.
        """
        frames = np.ascontiguousarray(block.T, np.float32)
        ready = self._stream.resample_chunk(frames, last=last)
        self._taken += len(frames)
        if last:
            due = resampled_length(self._taken, self._from_rate, self._to_rate) - self._given
            ready = np.pad(ready[:due], ((0, max(0, due - len(ready))), (0, 0)))
        self._given += len(ready)
        return np.ascontiguousarray(ready.T)
