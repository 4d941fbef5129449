"""Cross-fades between two recordings of the same sound, which are nearly equal: linear, so that their sum stays."""

import numpy as np


def rise(samples: int, first: float = 0.5) -> np.ndarray:
    """Return the share of what comes in, float32 (samples,): from 0 to 1, by default the same read backwards.

    first: where the first sample lies, in samples after the beginning.

    >>> rise(4).tolist()
    [0.125, 0.375, 0.625, 0.875]
    """
    return ((np.arange(samples) + first) / samples).astype(np.float32)


def cross_fade(before: np.ndarray, after: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Fade from one sound to another, float32 (..., n).

    Parameters: before and after (..., n); share (m,) of `after`, of which the first n are used.
    """
    share = share[: after.shape[-1]]
    return before[..., : len(share)] * (1 - share) + after[..., : len(share)] * share
