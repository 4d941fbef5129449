"""Subharmonics: in growl every second pulse of the glottis is weaker or late, and a detector may take two for one.

Then the odd harmonics of the detected pitch are far weaker than all even ones beside them, which no vowel does: a
formant lifts one even harmonic, but not three. The pitch is the even ones' (as in the subharmonic-to-harmonic ratio of
Sun, 2002).
"""

import numpy as np

from engine.analysis.pitch_refinement import folded_around, harmonics
from engine.filters import moving_median

_PERIODS = 5  # of the window, so that odd and even harmonics are apart
_HARMONICS = 8
_ODD_DB, _ALL_ODD_DB = -12.0, -13.0  # of each odd harmonic below its stronger neighbour, and of all below all even ones
_SMOOTH_FRAMES = 5
_AT_ONCE = 256  # frames of similar pitch


def are_subharmonics(samples: np.ndarray, rate: int, hop: int, hertz: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Return where hertz (frames,), every `hop` samples, are an octave below the pitch, bool (frames,).

    samples: mono (samples,); asked: which frames are analysed, bool (frames,).
    """
    found = np.zeros(len(hertz), bool)
    frames = np.flatnonzero(asked)
    frames = frames[np.argsort(hertz[frames])]
    for first in range(0, len(frames), _AT_ONCE):
        chosen = frames[first : first + _AT_ONCE]
        found[chosen] = _odd_are_weak(_harmonic_powers(samples, rate, chosen * hop, hertz[chosen]))
    return moving_median(found, _SMOOTH_FRAMES, "reflect") & asked


def _odd_are_weak(powers: np.ndarray) -> np.ndarray:
    """powers: (frames, _HARMONICS), from the first harmonic on."""
    odd, even = powers[:, ::2], powers[:, 1::2]
    before = np.pad(even, ((0, 0), (1, 0)))[:, :3]  # the first harmonic has none before it
    neighbours = np.maximum(before, even[:, :3])
    each = (odd[:, :3] < 10.0 ** (_ODD_DB / 10) * neighbours).all(1)
    weak: np.ndarray = each & (odd.sum(1) < 10.0 ** (_ALL_ODD_DB / 10) * even.sum(1))
    return weak


def _harmonic_powers(samples: np.ndarray, rate: int, centres: np.ndarray, hertz: np.ndarray) -> np.ndarray:
    """Return the power of each harmonic around centres (frames,), under a Blackman window: (frames, _HARMONICS)."""
    reach = int(np.ceil(_PERIODS / 2 * rate / hertz.min()))
    even, odd = folded_around(samples, centres, reach)
    turns = (hertz[:, None] * (np.arange(reach + 1) / rate)).astype(np.float32)
    angle = np.float32(2 * np.pi / _PERIODS) * turns
    window = (0.42 + 0.5 * np.cos(angle) + 0.08 * np.cos(2 * angle)) * (turns < _PERIODS / 2)
    even, odd, powers = even * window, odd * window, []
    for real, imaginary in harmonics(turns, _HARMONICS):
        sums = (np.einsum("fn,fn->f", one, other) for one, other in ((even, real), (odd, imaginary)))
        powers.append(sum(np.square(one) for one in sums))
    return np.stack(powers, 1)
