"""The parts of a note's pitch: where it lies, how it drifts, and its vibrato.

A note is modelled as slow drift, vibrato of one rate, and a rest (glides, flutter), each a Gaussian process with a
covariance of its own; their likeliest curves follow in closed form, and so does which rate is the likeliest (Rasmussen
and Williams, "Gaussian Processes for Machine Learning", 2006, equations 2.23 and 2.30). Unlike a filter this has no
edges: a note with two periods of vibrato comes apart as well as a long one. Frames that fit badly, as in a scoop to the
note, weigh less (as under Student's t distribution) and are left to the rest.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from engine.analysis.pitch import VOICED
from engine.units import FRAME_RATE

LONGEST_NOTE_S = 10.0
_DRIFT_SEMITONES, _DRIFT_S = 0.3, 0.25  # how far it goes (standard deviation), and over how long it is alike
_VIBRATO_SEMITONES, _VIBRATO_S = 0.5, 0.6  # likewise
_RATES_HERTZ = np.arange(4.0, 8.5, 0.5)  # of vibrato; of trained singers 5.4 to 6.7 (Prame, JASA 1994)
_REST_SEMITONES = 0.02
_CENTRE_SEMITONES = 4.0  # how far the centre may lie from the median
_UNVOICED_SEMITONES = 6.0  # how far off a frame without voice may be
_FREEDOM = 3.0  # of Student's t distribution
_ROUNDS = 4  # in which bad frames lose their weight
_FURTHEST = 1.5  # semitones from the median; what is further away is no vibrato


@dataclass(frozen=True, eq=False)
class NoteShape:
    """What a note's curve is made of: MIDI number of its centre, and semitones, float64 (frames,)."""

    centre: float
    drift: np.ndarray
    vibrato: np.ndarray


def note_shape(semitones: np.ndarray, voicing: np.ndarray) -> NoteShape:
    """Take a note apart: MIDI numbers and voicing 0..1, float64 (frames,), no longer than LONGEST_NOTE_S.

    >>> now = np.arange(200) / 100
    >>> shape = note_shape(60 + 0.5 * np.sin(2 * np.pi * 6 * now), np.ones(200))
    >>> round(shape.centre, 2), round(float(shape.vibrato.max()), 2), bool(abs(shape.drift).max() < 0.02)
    (60.0, 0.5, True)
    """
    voiced = voicing > VOICED if (voicing > VOICED).any() else np.ones(len(semitones), bool)
    middle = float(np.median(semitones[voiced]))
    given = (semitones - middle).clip(-_FURTHEST, _FURTHEST)
    apart = np.arange(len(given)) / FRAME_RATE
    steady = scipy.linalg.toeplitz(_DRIFT_SEMITONES**2 * _alike(apart, _DRIFT_S)) + _CENTRE_SEMITONES**2
    alike = _VIBRATO_SEMITONES**2 * _alike(apart, _VIBRATO_S)
    doubt = spread = np.where(voiced, _REST_SEMITONES, _UNVOICED_SEMITONES) ** 2
    found = [scipy.linalg.toeplitz(alike * np.cos(2 * np.pi * rate * apart)) for rate in _RATES_HERTZ]
    for _ in range(_ROUNDS):
        explained = [_explained(given, steady + vibrato + np.diag(spread)) for vibrato in found]
        best = max(range(len(found)), key=lambda number: explained[number][0])
        slow, fast = (part @ explained[best][1] for part in (steady, found[best]))
        found = [found[best]]
        spread = doubt * (_FREEDOM + (given - slow - fast) ** 2 / doubt) / (_FREEDOM + 1)
    centre = float(slow[voiced].mean())
    return NoteShape(middle + centre, slow - centre, fast)


def _explained(curve: np.ndarray, covariance: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the log likelihood of a curve, but for a constant, and the curve times the inverse of its covariance."""
    root = scipy.linalg.cho_factor(covariance, lower=True, check_finite=False)
    pulled = scipy.linalg.cho_solve(root, curve, check_finite=False)
    return float(-0.5 * curve @ pulled - np.log(np.diag(root[0])).sum()), pulled


def _alike(apart_s: np.ndarray, seconds: float) -> np.ndarray:
    alike: np.ndarray = np.exp(-0.5 * (apart_s / seconds) ** 2)
    return alike
