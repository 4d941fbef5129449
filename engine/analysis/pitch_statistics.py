"""Where a voice lies: low, median and high pitch of what it speaks or sings."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PitchStatistics:
    """Where a voice lives, in MIDI note numbers, over its voiced frames."""

    low: float  # 5th percentile
    median: float
    high: float  # 95th percentile


def pitch_statistics(semitones: np.ndarray) -> PitchStatistics:
    """Statistics of the MIDI note numbers of voiced frames; empty gives those of a middle voice."""
    if not len(semitones):
        return PitchStatistics(50.0, 57.0, 64.0)
    low, median, high = np.percentile(semitones, (5, 50, 95))
    return PitchStatistics(round(float(low), 2), round(float(median), 2), round(float(high), 2))
