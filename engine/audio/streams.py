"""Recordings as streams, from memory or from a file."""

from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np

from engine.audio.resampling import Resampler
from engine.units import SAMPLE_RATE

BLOCK_S = 4  # read at a time where nothing else is asked for: short beside any recording, long beside any filter
_SKIPPED = 1 << 18  # samples read at a time when skipping


class Source(Protocol):
    """Samples that can be read from the beginning: an Audio, or an AudioSource, once."""

    @property
    def rate(self) -> int:
        """Sample rate in hertz."""
        ...

    @property
    def channels(self) -> int:
        """Number of channels."""
        ...

    def blocks(self, samples_per_block: int | None = None) -> Iterator[np.ndarray]:
        """Yield float32 (channels, n), by default BLOCK_S at a time."""
        ...


def at_engine_rate(source: Source) -> Iterator[np.ndarray]:
    """Yield blocks (channels, n) of a source at SAMPLE_RATE, in total exactly its length at that rate."""
    return at_rate(source, SAMPLE_RATE)


def at_rate(source: Source, rate: int) -> Iterator[np.ndarray]:
    """Yield blocks (channels, n) of a source at a rate in hertz, in total exactly its length at that rate."""
    blocks = source.blocks()
    if source.rate == rate:
        yield from blocks
        return
    resampler = Resampler(source.rate, rate, source.channels)
    for block in blocks:
        yield resampler.push(block)
    yield resampler.push(np.zeros((source.channels, 0), np.float32), last=True)


class Reader:
    """Read consecutive blocks (channels, n) in pieces of any length, forward only."""

    def __init__(self, blocks: Iterable[np.ndarray], channels: int) -> None:
        self._blocks = iter(blocks)
        self._rest = np.zeros((channels, 0), np.float32)
        self.position = 0  # samples read so far
        self.ended = False

    def read(self, count: int) -> np.ndarray:
        """Return the next `count` samples, float32 (channels, n): fewer at the end, none after it."""
        held, have = [self._rest], self._rest.shape[1]
        while have < count and not self.ended:
            block = next(self._blocks, None)
            self.ended = block is None
            if block is not None:
                held.append(block)
                have += block.shape[1]
        joined = np.concatenate(held, axis=1) if len(held) > 1 else self._rest
        self._rest = joined[:, count:]
        self.position += min(count, have)
        return joined[:, :count]

    def skip_to(self, position: int) -> None:
        """Go forward to this sample; stays where it is if that has been passed. Stops at the end."""
        while self.position < position and self.read(min(position - self.position, _SKIPPED)).shape[1]:
            pass


def stretch_of(blocks: Iterable[np.ndarray], first: int, stop: int | None) -> Iterator[np.ndarray]:
    """Yield samples first..stop-1 of consecutive blocks (channels, n), or all from `first`; no more are read."""
    passed = 0
    for block in blocks:
        kept = block[:, max(0, first - passed) : None if stop is None else max(0, stop - passed)]
        passed += block.shape[1]
        if kept.shape[1]:
            yield kept
        if stop is not None and passed >= stop:
            return
