"""A recording as a stream, whether it lies in memory or in a file."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from engine.audio.files import Audio, Resampler, refuse_no_sound
from engine.units import SAMPLE_RATE

_BLOCK_S = 4


class Source(Protocol):
    """Samples to be read once from the beginning."""

    @property
    def rate(self) -> int:
        """Hertz."""
        ...

    @property
    def channels(self) -> int:
        """How many there are."""
        ...

    def blocks(self, samples_per_block: int) -> Iterator[np.ndarray]:
        """float32 (channels, n)."""
        ...


@dataclass(frozen=True)
class HeldRecording:
    """A recording in memory as a Source."""

    audio: Audio

    @property
    def rate(self) -> int:
        return self.audio.rate

    @property
    def channels(self) -> int:
        return self.audio.channels

    @property
    def sample_count(self) -> int:
        """Samples per channel."""
        return self.audio.sample_count

    def blocks(self, samples_per_block: int) -> Iterator[np.ndarray]:
        for start in range(0, self.audio.sample_count, samples_per_block):
            block = self.audio.samples[:, start : start + samples_per_block]
            refuse_no_sound(block, "The recording")
            yield block


def at_engine_rate(source: Source) -> Iterator[np.ndarray]:
    """Blocks (channels, n) of a source at SAMPLE_RATE; in all exactly its length at that rate."""
    blocks = source.blocks(_BLOCK_S * source.rate)
    if source.rate == SAMPLE_RATE:
        yield from blocks
        return
    resampler = Resampler(source.rate, SAMPLE_RATE, source.channels)
    for block in blocks:
        yield resampler.push(block)
    yield resampler.push(np.zeros((source.channels, 0), np.float32), last=True)
