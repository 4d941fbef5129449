"""Recordings with a voice of its own in each channel: an interview with a microphone for each person.

`fold` finds the voice in each block by itself, so that such a recording would change from one person to the other.
Where the channels lead by turns, one channel is chosen for the whole: the one in which most is said.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.audio.files import open_audio
from engine.audio.streams import Source
from engine.filters import rfft

_VOICE_HERTZ = (200.0, 4000.0)
_FRAME_S = 0.1
_LEADS_DB = 6.0  # more than an instrument's or a singer's movement between two microphones
_AUDIBLE_DB = 30.0  # below the loud moments of the loudest channel
_STANDS_OUT_DB = 15.0  # over the channel's own pauses, which hum and hiss do not
_LEAST_S, _LEAST_SHARE = 2.0, 0.1  # in which a channel leads, and of all sounding moments
_QUIET, _LOUD = 10, 95  # percentiles


@dataclass(frozen=True)
class OneChannel:
    """One channel of a source, from 0."""

    source: Source
    channel: int
    channels: int = 1

    @property
    def rate(self) -> int:
        """Sample rate in hertz."""
        return self.source.rate

    def blocks(self, samples_per_block: int | None = None) -> Iterator[np.ndarray]:
        """Yield float32 (1, n)."""
        for block in self.source.blocks(samples_per_block):
            yield block[self.channel : self.channel + 1]


def channel_of_one_voice(path: Path) -> int | None:
    """Return the channel in which most is said where channels hold voices of their own; None where they hold the same.

    A file of one channel is not read. Raises AudioError.
    """
    with open_audio(path) as recording:
        if recording.channels == 1:
            return None
        levels = [_levels_db(block, recording.rate) for block in recording.blocks()]
    return leading_channel(np.concatenate(levels, axis=1)) if levels else None


def leading_channel(levels_db: np.ndarray) -> int | None:
    """Return the channel that leads most where several lead by turns; levels_db: (channels, frames of 0.1 s).

    >>> turns = np.full((2, 200), -90.0)
    >>> turns[0, :80], turns[1, 100:] = -20.0, -20.0
    >>> leading_channel(turns), leading_channel(turns[[0, 0]])
    (1, None)
    """
    if not levels_db.size:
        return None
    loud_db = np.percentile(levels_db, _LOUD, axis=1)
    sounding = levels_db.max(axis=0) > loud_db.max() - _AUDIBLE_DB
    if not sounding.any():
        return None
    first = levels_db.argmax(axis=0)
    others_db = np.sort(levels_db, axis=0)[-2]
    leads = sounding & (levels_db.max(axis=0) - others_db > _LEADS_DB)
    moving = loud_db - np.percentile(levels_db, _QUIET, axis=1) > _STANDS_OUT_DB
    counts = np.bincount(first[leads], minlength=len(levels_db)) * moving
    enough = counts > max(_LEAST_S / _FRAME_S, _LEAST_SHARE * sounding.sum())
    return int(counts.argmax()) if enough.sum() > 1 else None


def _levels_db(block: np.ndarray, rate: int) -> np.ndarray:
    """Return the level of each channel in the band of voices, (channels, frames)."""
    length = round(_FRAME_S * rate)
    frames = block.shape[1] // length
    pieces = block[:, : frames * length].reshape(len(block), frames, length)
    power = np.square(np.abs(rfft(pieces)))
    hertz = np.fft.rfftfreq(length, 1 / rate)
    band = power[:, :, (hertz > _VOICE_HERTZ[0]) & (hertz < _VOICE_HERTZ[1])].sum(axis=2)
    return np.asarray(10 * np.log10(band / length**2 + 1e-14))
