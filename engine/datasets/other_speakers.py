"""Other speakers: recordings whose timbre is far from that of most others.

The base hears a timbre in each recording. Those of one person in one place point almost the same way; another person's
points elsewhere. How far is far depends on how alike the rest are: single sung vowels differ more than read sentences.
It also hears rooms and microphones, so what is found may be the same person recorded differently; that is worth knowing
too.
"""

import numpy as np

FEWEST_RECORDINGS = 4  # among fewer nobody can say who is the other one
_ALIKE = 0.79  # cosine; whoever is more alike than this to the majority is not called another speaker
_DEVIATIONS = 6.0  # median absolute deviations below the median
_LEAST_DEVIATION = 0.01


def find_other_speakers(timbres: np.ndarray) -> np.ndarray:
    """bool (recordings,): whose timbre is not the majority's; timbres: float (recordings, TIMBRE)."""
    if len(timbres) < FEWEST_RECORDINGS:
        return np.zeros(len(timbres), bool)
    alike = _alike_to_majority(timbres)
    middle = np.median(alike)
    deviation = max(float(np.median(np.abs(alike - middle))), _LEAST_DEVIATION)
    found: np.ndarray = alike < min(_ALIKE, middle - _DEVIATIONS * deviation)
    return found


def _alike_to_majority(timbres: np.ndarray) -> np.ndarray:
    """Cosine of each timbre with the mean of the half that lies closest together, float (recordings,)."""
    directions = timbres / np.linalg.norm(timbres, axis=1, keepdims=True)
    alike = directions @ directions.T
    nearest = alike[np.median(alike, axis=1).argmax()]
    centre = directions[nearest >= np.median(nearest)].mean(0)
    return directions @ (centre / np.linalg.norm(centre))
