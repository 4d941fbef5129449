"""Phrases: what is sung or spoken between two breaths."""

from dataclasses import dataclass

import numpy as np

from engine.analysis.notes import audible
from engine.analysis.pitch import Pitch
from engine.analysis.runs import true_runs
from engine.filters import closed
from engine.units import FRAME_RATE

SHORTEST_REST_S = 0.35  # consonants and breaths within a phrase are shorter
_SHORTEST_S = 0.2


@dataclass(frozen=True)
class Phrase:
    """A phrase, from its first voiced frame to its last.

    - start_s, end_s: where it begins and ends, in seconds
    """

    start_s: float
    end_s: float


def find_phrases(pitch: Pitch, loudness_db: np.ndarray) -> list[Phrase]:
    """Find the phrases of a recording: voiced passages without a rest of 0.35 s.

    Parameters
    ----------
    pitch : Pitch
        Of the recording, (frames,).
    loudness_db : float (frames,)
        In dB of full scale, as in an Analysis.

    Returns
    -------
    list of Phrase
        In order of time.

    Examples
    --------
    >>> from engine import analyse
    >>> analysis = analyse("vocal.flac")
    >>> phrases = find_phrases(analysis.pitch, analysis.loudness_db)
    >>> all(one.end_s < other.start_s for one, other in zip(phrases, phrases[1:]))
    True
    """
    bridged = round(SHORTEST_REST_S * FRAME_RATE)
    voiced = np.pad(audible(pitch, loudness_db), bridged)  # closing would shrink what touches the ends
    runs = true_runs(closed(voiced, bridged)) - bridged
    found = [Phrase(start / FRAME_RATE, stop / FRAME_RATE) for start, stop in runs.tolist()]
    return [one for one in found if one.end_s - one.start_s >= _SHORTEST_S]
