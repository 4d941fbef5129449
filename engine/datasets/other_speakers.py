"""Detect other speakers: recordings whose timbre is far from that of most others.

The base model encodes the timbre of each recording. Vectors of one person in one place have almost the same direction,
those of another person a different one. The threshold depends on how similar the rest are: single sung vowels differ
more than read sentences. Timbre also reflects rooms and microphones, so a detected recording may be the same person
recorded differently, which is worth knowing too.
"""

import numpy as np

FEWEST_RECORDINGS = 4  # with fewer there is no clear majority
_ALIKE = 0.79  # cosine; recordings more similar than this to the majority are not reported
_DEVIATIONS = 6.0  # median absolute deviations below the median
_LEAST_DEVIATION = 0.01


def find_other_speakers(timbres: np.ndarray) -> np.ndarray:
    """Return which timbres differ from the majority, bool (recordings,); timbres: float (recordings, TIMBRE)."""
    if len(timbres) < FEWEST_RECORDINGS:
        return np.zeros(len(timbres), bool)
    alike = _alike_to_majority(timbres)
    middle = np.median(alike)
    deviation = max(float(np.median(np.abs(alike - middle))), _LEAST_DEVIATION)
    found: np.ndarray = alike < min(_ALIKE, middle - _DEVIATIONS * deviation)
    return found


def _alike_to_majority(timbres: np.ndarray) -> np.ndarray:
    """Return the cosine of each timbre with the mean of the most similar half, float (recordings,)."""
    directions = timbres / np.linalg.norm(timbres, axis=1, keepdims=True)
    alike = directions @ directions.T
    nearest = alike[np.median(alike, axis=1).argmax()]
    centre = directions[nearest >= np.median(nearest)].mean(0)
    return directions @ (centre / np.linalg.norm(centre))
