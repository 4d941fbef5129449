"""Resampling of a stream in whole blocks, with the short delay of a linear-phase filter.

Stream resamplers of libraries work in blocks of their own: soxr's holds back up to 40 ms. Here each block gives its
whole share of samples at once, so the delay is that of the filter alone (polyphase; Crochiere and Rabiner, 1983).
"""

from math import gcd

import numpy as np
from scipy import signal

from engine.errors import SettingsError
from engine.texts import ntr

_ZERO_CROSSINGS = 20  # of the filter on each side
_BETA = 8.0  # of its Kaiser window: 80 dB


class StreamResampler:
    """Resample blocks from one rate to another. delay_s: the filter's delay, 0 for equal rates."""

    def __init__(self, source_rate: int, target_rate: int) -> None:
        common = gcd(source_rate, target_rate)
        self._up, self._down = target_rate // common, source_rate // common
        reach = _ZERO_CROSSINGS * max(self._up, self._down)  # in steps of the common multiple of both rates
        cutoff = 0.94 / max(self._up, self._down)
        self._filter = (signal.firwin(2 * reach + 1, cutoff, window=("kaiser", _BETA)) * self._up).astype(np.float64)
        kept = -(-2 * reach // self._up)
        self._kept = -(-kept // self._down) * self._down  # so that both grids meet where the new samples begin
        self._past = np.zeros(self._kept)
        self.delay_s = 0.0 if self._up == self._down else reach / (self._up * source_rate)

    def push(self, block: np.ndarray) -> np.ndarray:
        """Resample the next block (n,), whose share at the other rate must be whole: float32 (n * up / down,).

        Raises SettingsError otherwise.
        """
        if self._up == self._down:
            return block.astype(np.float32)
        count, left = divmod(len(block) * self._up, self._down)
        if left:
            raise SettingsError(
                ntr(
                    "{block} sample is not a whole number of samples at the other rate.",
                    "{block} samples are not a whole number of samples at the other rate.",
                    block=len(block),
                )
            )
        whole = np.concatenate([self._past, block])
        self._past = whole[len(whole) - self._kept :]
        first = self._kept * self._up // self._down
        return signal.upfirdn(self._filter, whole, self._up, self._down)[first : first + count].astype(np.float32)
