"""Octave errors: a pitch detector sometimes mistakes a note for the one an octave above or below.

A voice hardly ever leaps an octave within a few hundredths of a second, but a detector often does. So the curve is cut
where it leaps, and of all ways to shift the parts by octaves, the one is chosen that leaps least and stays closest to
the surrounding notes, which are known to be correct.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from engine.analysis.pitch import VOICED

_LEAP_SEMITONES = 8.0  # within _LEAP_FRAMES, the time the detector takes from one octave to another
_LEAP_FRAMES = 3
_LONGEST_REST_FRAMES = 10  # a longer rest allows any leap
_SHORTEST_FRAMES = 3  # a shorter part is a transition between octaves
_CHOICES = np.arange(-2, 3)  # octaves
_SUNG_SEMITONES = 7.0  # leaps up to here are free; each semitone beyond costs 1
_AWAY = 0.25  # cost per semitone of distance from the surrounding notes
_MOVED = 1.5  # cost per octave of shift


@dataclass(frozen=True)
class _Part:
    """Frames first..stop-1 of a curve, without leaps; notes as MIDI numbers."""

    first: int
    stop: int
    begins: float
    middle: float
    ends: float
    fixed: bool  # outside the section to correct


def octave_errors(semitones: np.ndarray, voicing: np.ndarray, inside: slice) -> tuple[np.ndarray, np.ndarray]:
    """Return the octaves by which each frame should move, int8 (frames,), and where they are known, bool (frames,).

    The octaves are zero outside `inside`; frames without a known octave are unvoiced or in transition between octaves.

    semitones, voicing: (frames,) of the section and its surroundings.
    """
    octaves, sure = np.zeros(len(semitones), np.int8), np.zeros(len(semitones), bool)
    parts = _parts(semitones, voicing, inside)
    for part, octave in zip(parts, _best(parts), strict=True):
        octaves[part.first : part.stop] = octave
        sure[part.first : part.stop] = True
    return octaves, sure


def _parts(semitones: np.ndarray, voicing: np.ndarray, inside: slice) -> list[_Part]:
    voiced = voicing > VOICED
    leaps = np.zeros(len(semitones), bool)  # frames in the middle of a leap
    span = np.abs(semitones[_LEAP_FRAMES:] - semitones[:-_LEAP_FRAMES]) > _LEAP_SEMITONES
    for lag in range(1, _LEAP_FRAMES):
        leaps[lag : lag + len(span)] |= span
    steady = (voiced & ~leaps).astype(np.int8)
    edges = {0, inside.start, min(inside.stop, len(semitones)), len(semitones)}
    edges |= set((np.flatnonzero(np.diff(steady)) + 1).tolist())
    bounds = sorted(edges)
    found = []
    for first, stop in pairwise(bounds):
        if steady[first] and stop - first >= _SHORTEST_FRAMES:
            piece = semitones[first:stop]
            begins, middle, ends = (float(np.median(some)) for some in (piece[:3], piece, piece[-3:]))
            outside = stop <= inside.start or first >= inside.stop
            found.append(_Part(first, stop, begins, middle, ends, fixed=outside))
    return found


def _best(parts: list[_Part]) -> list[int]:
    """Return the octave shift of each part with the lowest total cost (Viterbi)."""
    around = [part for part in parts if part.fixed] or parts
    home = _weighted_median(around)
    costs: list[np.ndarray] = []
    ways: list[np.ndarray] = []
    for number, part in enumerate(parts):
        own = _AWAY * np.abs(part.middle + 12 * _CHOICES - home) + _MOVED * np.abs(_CHOICES)
        if part.fixed:
            own = np.where(_CHOICES == 0, 0.0, np.inf)
        if number == 0:
            costs.append(own)
            continue
        before = parts[number - 1]
        leaps = np.abs((part.begins + 12 * _CHOICES)[None] - (before.ends + 12 * _CHOICES)[:, None])
        unlikely = (leaps - _SUNG_SEMITONES).clip(0) * (part.first - before.stop <= _LONGEST_REST_FRAMES)
        total = costs[-1][:, None] + unlikely
        ways.append(total.argmin(0))
        costs.append(total.min(0) + own)
    if not parts:
        return []
    choice = int(costs[-1].argmin())
    chosen = [choice]
    for way in reversed(ways):
        choice = int(way[choice])
        chosen.append(choice)
    return [int(_CHOICES[choice]) for choice in reversed(chosen)]


def _weighted_median(parts: list[_Part]) -> float:
    if not parts:
        return 0.0
    return float(np.median(np.repeat([part.middle for part in parts], [part.stop - part.first for part in parts])))
