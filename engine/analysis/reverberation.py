"""Reverberation, measured blindly: when a sound stops, its level decays no faster than the room.

The fastest of the free decays of a recording are therefore those of the room (the idea of blind estimates from free
decays: Ratnam et al., 2003; Prego et al., 2015).
"""

import numpy as np

from engine.analysis.runs import true_runs
from engine.filters import moving_mean
from engine.units import FRAME_RATE

_SMOOTHING_FRAMES = 5  # reverberation tails fluctuate
_LOUD_START_DB = 20.0  # a decay begins at most this far below the loud moments ...
_DECAY_START_DB, _DECAY_FLOOR_DB = 3.0, 3.0  # ... and is measured from below its start to above the quiet moments
_SHORTEST_DECAY_FRAMES = 6
_LEAST_DECAY_DB = 6.0


def free_decays(level_db: np.ndarray) -> list[float]:
    """Measure the seconds per 60 dB of every section in which a level (frames,) only falls."""
    smooth = moving_mean(level_db.astype(np.float64), _SMOOTHING_FRAMES)
    floor_db = np.percentile(smooth, 5) + _DECAY_FLOOR_DB
    loud_db = np.percentile(smooth, 95) - _LOUD_START_DB
    falling = np.concatenate([np.diff(smooth) < 0, [False]])
    found = []
    for start, stop in true_runs(falling).tolist():
        line = smooth[start : stop + 1]
        line = line[(line < line[0] - _DECAY_START_DB) & (line > floor_db)]
        if smooth[start] < loud_db or len(line) < _SHORTEST_DECAY_FRAMES or line[0] - line[-1] < _LEAST_DECAY_DB:
            continue
        found.append(float(-60.0 / (np.polyfit(np.arange(len(line)), line, 1)[0] * FRAME_RATE)))
    return found
