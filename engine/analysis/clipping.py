"""Clipping: repeated flat tops at an extreme, at full scale or below.

A lossy codec rounds the corners of flat tops, so samples beyond full scale count too.
"""

import numpy as np

from engine.analysis.runs import true_runs

_FLAT = 1e-4  # of the extreme: largest variation within a flat top
_SAME_EXTREME = 1e-3  # of the extreme: blocks whose extremes differ by more were not clipped at the same level
_FLAT_SAMPLES = 3  # at 44.1 kHz; at higher rates the peaks of an unclipped wave are longer
_FEWEST_FLAT_TOPS = 3
_LOWEST_CLIPPING = 0.05  # of full scale


class ClippingMeter:
    """Finds the flat tops of a recording, block by block."""

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self._samples = 0
        # of each channel and sign: extreme of the block, first samples, lengths
        self._tops: dict[tuple[int, int], list[tuple[float, np.ndarray, np.ndarray]]] = {}

    def add(self, block: np.ndarray) -> None:
        """Measure the next block, float32 (channels, n)."""
        for channel, samples in enumerate(block):
            for sign in (1, -1):
                self._find((channel, sign), samples * sign)
        self._samples += block.shape[1]

    @property
    def runs(self) -> int:
        """The number of flat tops."""
        return sum(len(starts) for starts, _ in self._clipped())

    def times_s(self) -> np.ndarray:
        """Return times in seconds of clipped samples, at least one per 5 ms of clipping."""
        step = max(1, self.rate // 200)
        times = [
            np.arange(start, start + length, step)
            for starts, lengths in self._clipped()
            for start, length in zip(starts, lengths, strict=True)
        ]
        return np.concatenate(times) / self.rate if times else np.zeros(0)

    def _find(self, key: tuple[int, int], samples: np.ndarray) -> None:
        extreme = float(samples.max(initial=0.0))
        if extreme < _LOWEST_CLIPPING:
            return
        beyond = extreme > 1.0
        at_top = samples >= (1.0 if beyond else extreme * (1 - _FLAT))
        starts, stops = true_runs(at_top).T
        lengths = stops - starts
        long = lengths >= (1 if beyond else max(_FLAT_SAMPLES, round(_FLAT_SAMPLES * self.rate / 44_100)))
        # a block without flat tops counts too: its extreme shows that the recording goes higher
        tops = (min(extreme, 1.0), starts[long] + self._samples, lengths[long])
        self._tops.setdefault(key, []).append(tops)

    def _clipped(self) -> list[tuple[np.ndarray, np.ndarray]]:
        found = []
        for tops in self._tops.values():
            extreme = max(level for level, _, _ in tops)
            same = [top for top in tops if top[0] >= extreme * (1 - _SAME_EXTREME)]
            enough = sum(len(starts) for _, starts, _ in same) >= _FEWEST_FLAT_TOPS
            for level, starts, lengths in tops:
                # a quieter part, clipped before it was combined with the rest, has enough by itself
                at_extreme = enough and level >= extreme * (1 - _SAME_EXTREME)
                if at_extreme or len(starts) >= _FEWEST_FLAT_TOPS:
                    found.append((starts, lengths))
        return found
