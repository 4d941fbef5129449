"""Headroom: what is above full scale, as stems of floats and decoded files can be, is lowered as a whole.

A limiter would take the dynamics of a recording that runs into it all the time. So a recording that stays above full
scale gets one gain, for all of it and for all of its channels, before it is analysed. What is above for a moment alone,
a click or a bump, is left to the limiter: it must not make the whole recording softer.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from engine.audio.channels import Samples
from engine.audio.streams import Source
from engine.filters import moving_maximum, moving_minimum
from engine.texts import joined, numeral, tr
from engine.units import amplitude, decibels

_HOP_S = 0.02  # whose peak is measured: at least one period of the lowest note
_SUSTAINED_HOPS = 3  # around a peak, as loud but for _CREST: else it is a click, or the burst of a consonant
_FEWEST_HOPS = 10  # in all, as loud but for _CREST: less is a bump
_CREST = 0.5  # of a peak: what a voice's own peaks may stand out
_TOLERATED_DB = 1.0  # resamplers and lossy codecs go so far beyond a full scale that was kept
_AIM_DB = -8.0  # where these peaks come to lie: those of 36 takes were at most 7.4 dB above their recording's
_WORTH_SAYING_DB = 3.0  # of a moment above full scale
_SOFTEST_DB = -120.0


@dataclass(frozen=True)
class Headroom:
    """How far a recording is above full scale.

    sustained_db: the level of its peaks that last; peak_db, peak_s: of its highest sample, and when it is.
    """

    sustained_db: float = _SOFTEST_DB
    peak_db: float = _SOFTEST_DB
    peak_s: float = 0.0

    @property
    def lowered_db(self) -> float:
        """By how much it is lowered as a whole, in tenths of a decibel; 0 unless it stays above full scale."""
        return round(self.sustained_db - _AIM_DB, 1) if self.sustained_db > _TOLERATED_DB else 0.0

    @property
    def warning(self) -> str | None:
        """Sentences for the user: by how much it is lowered, and which moment the limiter softens."""
        said = []
        if self.lowered_db:
            said.append(
                tr(
                    "This recording is up to {sustained_db} dB above full scale, so all of the result is {lowered_db} "
                    "dB softer, with its dynamics as they were; files with 32 bits keep the level of the recording.",
                    sustained_db=numeral(self.sustained_db, ".1f"),
                    lowered_db=numeral(self.lowered_db, ".1f"),
                )
            )
        if self.peak_db - self.lowered_db > _WORTH_SAYING_DB:
            said.append(
                tr(
                    "A moment at {peak_s} s is {peak_db} dB above full scale: only that moment is made softer.",
                    peak_s=numeral(self.peak_s, ".2f"),
                    peak_db=numeral(self.peak_db, ".1f"),
                )
            )
        return joined(" ", said) or None


class Metered:
    """A source whose headroom is measured while it is read."""

    def __init__(self, source: Source) -> None:
        self._source, self.rate, self.channels = source, source.rate, source.channels
        self._peaks = [np.zeros(0, np.float32)]

    def blocks(self, samples_per_block: int | None = None) -> Iterator[Samples]:
        """Yield the blocks of the source."""
        hop = max(1, round(_HOP_S * self.rate))
        for block in self._source.blocks(samples_per_block):
            peaks = np.abs(block).max(0, initial=0.0)
            self._peaks.append(np.maximum.reduceat(peaks, np.arange(0, len(peaks), hop)) if len(peaks) else peaks)
            yield block

    @property
    def headroom(self) -> Headroom:
        """The headroom of what was read."""
        peaks = np.concatenate(self._peaks)
        if not len(peaks):
            return Headroom()
        levels = np.array([_sustained(peaks), peaks.max()])
        sustained_db, peak_db = decibels(levels, _SOFTEST_DB).tolist()
        return Headroom(sustained_db, peak_db, float(peaks.argmax() * _HOP_S))


def _sustained(peaks: np.ndarray) -> float:
    """Return the highest peak of a hop (hops,) that is no click and no bump."""
    softest = moving_minimum(peaks, _SUSTAINED_HOPS, "reflect")
    lasting = np.sort(peaks[_CREST * peaks <= moving_maximum(softest, _SUSTAINED_HOPS, "reflect")])[::-1]
    others = min(_FEWEST_HOPS, len(lasting)) - 1
    is_lasting = lasting[others:] >= _CREST * lasting[: len(lasting) - others]
    return float(lasting[is_lasting.argmax()])


class Lowered:
    """A source that is softer by a number of decibels; 0 changes nothing."""

    def __init__(self, source: Source, lowered_db: float) -> None:
        self._source, self.rate, self.channels = source, source.rate, source.channels
        self._gain = np.float32(amplitude(np.array(-lowered_db)))

    def blocks(self, samples_per_block: int | None = None) -> Iterator[Samples]:
        """Yield the blocks of the source, at their gain."""
        for block in self._source.blocks(samples_per_block):
            yield block if self._gain == 1.0 else block * self._gain
