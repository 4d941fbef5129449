"""Runs: unbroken stretches of True in an array of flags."""

import numpy as np


def true_runs(flags: np.ndarray) -> np.ndarray:
    """Return the first index of each run of True in `flags` (n,) and the one past its last, int64 (runs, 2).

    >>> true_runs(np.array([True, True, False, True])).tolist()
    [[0, 2], [3, 4]]
    """
    return np.flatnonzero(np.diff(flags, prepend=False, append=False)).reshape(-1, 2)
