"""Resemblance: which moments of one recording are most like those of another, by mel spectrum or by content.

Where two recordings say the same at the same time (a performance and its conversion, or a recording and what was done
to it), the most similar moment should be the same moment. How often it is, is how well a view keeps what is said.
"""

import numpy as np
import torch

from engine.demonstrations.frame_features import Features, Kind
from engine.features.retrieval import in_context

SAME_FRAMES = 3  # 30 ms: nearer than this is the same moment


def similarity(first: Features, second: Features, kind: Kind) -> np.ndarray:
    """Cosine between every frame of the one (rows) and of the other (columns), float32 (frames, frames).

    Frames are compared with one before and one after them, as retrieval does; of the mel spectrum, what it differs from
    the recording's mean is compared, else all would be alike.
    """
    rows, columns = (in_context(torch.from_numpy(_varying(one, kind))) for one in (first, second))
    cosine: np.ndarray = (rows @ columns.T).numpy()
    return cosine


def found_again(first: Features, second: Features, kind: Kind) -> float:
    """Share of the loud frames whose most similar frame in the other recording is at the same moment, 0..1."""
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
