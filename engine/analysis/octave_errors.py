"""Octave errors: a pitch detector sometimes mistakes a note for the one an octave above or below.

A voice hardly ever leaps an octave within a few hundredths of a second, but a detector often does. So the curve is cut
where it leaps, and of all ways to shift the parts by octaves, the one is chosen that leaps least and stays closest to
the surrounding notes, which are known to be correct. Where nobody said what is to be corrected, such leaps are only
pointed out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from engine.analysis.pitch import VOICED, Pitch
from engine.analysis.runs import true_runs
from engine.units import FRAME_RATE

_LEAP_SEMITONES = 8.0  # within _LEAP_FRAMES, the time the detector takes from one octave to another
_LEAP_FRAMES = 3
_LONGEST_REST_FRAMES = 10  # a longer rest allows any leap
_SHORTEST_FRAMES = 3  # a shorter part is a transition between octaves
_CHOICES = np.arange(-2, 3)  # octaves
_SUNG_SEMITONES = 7.0  # leaps up to here are free; each semitone beyond costs 1
_AWAY = 0.25  # cost per semitone of distance from the surrounding notes
_MOVED = 1.5  # cost per octave of shift
_OCTAVE_LEAP = (9.5, 14.5)  # semitones: an octave that was not sung, and a step of the melody at the same time
_LONGEST_DOUBT_FRAMES = 150  # what stays longer in another octave was sung there


@dataclass(frozen=True)
class OctaveDoubt:
    """A stretch whose pitch is probably an octave off.

    start_s, end_s: in seconds; by: octaves that bring it back, 1 if it was taken for a note too low, else -1.
    """

    start_s: float
    end_s: float
    by: int


@dataclass(frozen=True)
class _Part:
    """Frames first..stop-1 of a curve, without leaps; notes as MIDI numbers."""

    first: int
    stop: int
    begins: float
    middle: float
    ends: float
    fixed: bool  # outside the section to correct


def octave_doubts(pitch: Pitch) -> list[OctaveDoubt]:
    """Find where a curve leaps an octave within 30 ms, which nobody sings, and back to the rest of its phrase.

    Of a phrase that leaps only once, its shorter part is in doubt.

    >>> hertz = np.full(300, 220.0, np.float32)
    >>> hertz[100:130] = 440.0
    >>> octave_doubts(Pitch(hertz, np.ones(300, np.float32)))
    [OctaveDoubt(start_s=1.0, end_s=1.3, by=-1)]
    """
    semitones = pitch.semitones.astype(np.float64)
    found: list[OctaveDoubt] = []
    for phrase in _phrases(_parts(semitones, pitch.voicing, slice(0, len(pitch)))):
        levels = np.array(_octave_levels(phrase))
        seconds = np.bincount(levels - levels.min(), [part.stop - part.first for part in phrase])
        home = int(seconds.argmax()) + int(levels.min())
        # a leap lies between the parts that it separates
        leaps = [(before.stop + after.first) // 2 for before, after in pairwise(phrase)]
        bounds = [phrase[0].first, *leaps, phrase[-1].stop]
        for first, last in true_runs(levels != home).tolist():
            start, stop = bounds[first], bounds[last]
            if stop - start <= _LONGEST_DOUBT_FRAMES:
                by = int(np.sign(home - levels[first]))
                found.append(OctaveDoubt(start / FRAME_RATE, stop / FRAME_RATE, by))
    return found


def _phrases(parts: list[_Part]) -> Iterator[list[_Part]]:
    """Yield parts without a long rest between them."""
    phrase: list[_Part] = []
    for part in parts:
        if phrase and part.first - phrase[-1].stop > _LONGEST_REST_FRAMES:
            yield phrase
            phrase = []
        phrase.append(part)
    if phrase:
        yield phrase


def _octave_levels(phrase: list[_Part]) -> list[int]:
    """Return how many octave leaps above its beginning each part of a phrase lies."""
    levels = [0]
    for before, after in pairwise(phrase):
        leap = after.begins - before.ends
        is_octave = _OCTAVE_LEAP[0] <= abs(leap) <= _OCTAVE_LEAP[1]
        levels.append(levels[-1] + int(np.sign(leap)) * is_octave)
    return levels


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
