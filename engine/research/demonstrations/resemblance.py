"""Resemblance: which frames of two recordings are most similar, by mel spectrum or by content.

Where two recordings have the same words at the same time (a performance and its conversion, or a recording before and
after processing), the most similar frame should be at the same time. How often it is shows how well a view keeps words.
"""

import numpy as np
import torch

from engine.features.retrieval import in_context
from engine.research.demonstrations.frame_features import Features, Kind

SAME_FRAMES = 3  # 30 ms: up to this, two frames are at the same time


def similarity(first: Features, second: Features, kind: Kind) -> np.ndarray:
    """Return the cosine between every frame of the first (rows) and second (columns), float32 (frames, frames).

    Each frame is taken with the one before and the one after, as in retrieval; the mel spectrum is taken relative to
    the recording's mean, or all frames would be alike.
    """
    rows, columns = (in_context(torch.from_numpy(_varying(one, kind))) for one in (first, second))
    cosine: np.ndarray = (rows @ columns.T).numpy()
    return cosine


def found_again(first: Features, second: Features, kind: Kind) -> float:
    """Return the share of active frames whose most similar frame in the other recording is at the same time, 0..1."""
    frames = min(len(first.active), len(second.active))
    loud = np.flatnonzero(first.active[:frames] & second.active[:frames])
    if not len(loud):
        return 0.0
    nearest = loud[similarity(first, second, kind)[np.ix_(loud, loud)].argmax(1)]
    return float((np.abs(nearest - loud) <= SAME_FRAMES).mean())


def _varying(features: Features, kind: Kind) -> np.ndarray:
    if kind == "content":
        return features.content
    loud = features.active if features.active.any() else slice(None)
    varying: np.ndarray = features.mel - features.mel[loud].mean(0)
    return varying
