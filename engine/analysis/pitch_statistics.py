"""The low, median and high pitch of a voice."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PitchStatistics:
    """How high a voice is, in MIDI note numbers of its voiced frames.

    - low, median, high: the percentiles 5, 50 and 95
    """

    low: float
    median: float
    high: float


def pitch_statistics(semitones: np.ndarray) -> PitchStatistics:
    """Compute statistics of the MIDI note numbers of voiced frames; no frames give those of a medium voice."""
    if not len(semitones):
        return PitchStatistics(50.0, 57.0, 64.0)
    low, median, high = np.percentile(semitones, (5, 50, 95))
    return PitchStatistics(round(float(low), 2), round(float(median), 2), round(float(high), 2))
