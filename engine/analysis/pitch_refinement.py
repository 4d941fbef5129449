"""Refine an approximate pitch curve, so that vibrato and glides keep their full depth.

A detector analyses about 60 ms at a time, which flattens faster movements. Here each frame is analysed through a window
of three periods, as short as its pitch allows; the instantaneous frequencies of its first harmonics (Flanagan and
Golden, 1966), each divided by its number and weighted by its amplitude, give the pitch (as in StoneMask of WORLD;
Morise et al., 2016).
"""

import numpy as np

_PERIODS = 3  # of the window
_HARMONICS = 4
_AT_ONCE = 256  # frames of similar pitch, so that their windows have similar lengths
_FURTHEST = 0.02  # relative, a third of a semitone; larger differences mean creak, an onset, or another harmonic
_FURTHER = 0.035  # at the detector's limits, where it gives the limit for what is beyond
_AT_LIMIT = 1.01
_UNSURE, _SURE = 0.4, 0.7  # voicing where refinement begins, and where it is complete


def refine_pitch(
    samples: np.ndarray,
    rate: int,
    hertz: np.ndarray,
    voicing: np.ndarray,
    frame_rate: int,
    limits: tuple[float, float] = (0.0, np.inf),
) -> np.ndarray:
    """Refine the pitch curve of mono `samples` where it is voiced; hertz and voicing (frames,) -> float32 (frames,).

    limits: of the detector, in hertz.
    """
    lowest, highest = limits
    at_limit = (hertz < lowest * _AT_LIMIT) | (hertz > highest / _AT_LIMIT)
    furthest = np.where(at_limit, _FURTHER, _FURTHEST)
    share = ((voicing - _UNSURE) / (_SURE - _UNSURE)).clip(0, 1)
    frames = np.flatnonzero(share > 0)
    frames = frames[np.argsort(hertz[frames])]
    centres = np.round(frames * rate / frame_rate).astype(np.int64)
    refined, samples = hertz.astype(np.float64), np.asarray(samples, np.float32)
    for first in range(0, len(frames), _AT_ONCE):
        chosen = frames[first : first + _AT_ONCE]
        ratio = _refine_frames(samples, rate, centres[first : first + _AT_ONCE], refined[chosen])
        found = refined[chosen] * np.where(np.abs(ratio - 1) < furthest[chosen], ratio, 1.0)
        refined[chosen] *= (found / refined[chosen]) ** share[chosen]
    return refined.astype(np.float32)


def _refine_frames(samples: np.ndarray, rate: int, centres: np.ndarray, hertz: np.ndarray) -> np.ndarray:
    """Return the pitch around each centre (in samples) relative to `hertz`; all (frames,)."""
    reach = int(np.ceil(_PERIODS / 2 * rate / hertz.min()))
    offsets = np.arange(-reach, reach + 1)
    windows = samples_around(samples, centres, reach)
    turns = (hertz[:, None] * (offsets / rate)).astype(np.float32)  # periods from the centre
    inside = np.abs(turns) < _PERIODS / 2
    around = np.exp(np.complex64(2j * np.pi / _PERIODS) * turns)
    # the Blackman window, and its slope in units of 2 pi per period
    window = 0.42 + 0.5 * around.real + 0.08 * (2 * around.real**2 - 1)
    slope = (-0.5 * around.imag - 0.32 * around.imag * around.real) / np.float32(_PERIODS)
    windowed, sloped = windows * window * inside, windows * slope * inside
    carrier = around.conj() ** _PERIODS
    wave = np.ones_like(carrier)
    total, weights = np.zeros(len(hertz)), np.zeros(len(hertz))
    for number in range(1, _HARMONICS + 1):
        wave = wave * carrier
        spectrum, derivative = (windowed * wave).sum(1), (sloped * wave).sum(1)
        power = np.abs(spectrum) ** 2
        periods = number - (derivative * spectrum.conj()).imag / np.maximum(power, 1e-20)  # per period of `hertz`
        amplitude = np.sqrt(power) * (number * hertz < 0.45 * rate)
        total += amplitude * periods
        weights += amplitude * number
    ratio: np.ndarray = total / np.maximum(weights, 1e-12)
    return ratio


def samples_around(samples: np.ndarray, centres: np.ndarray, reach: int) -> np.ndarray:
    """Return the samples within `reach` of each centre, float32 (centres, 2 * reach + 1), zeros beyond the ends."""
    place = centres[:, None] + np.arange(-reach, reach + 1)
    there = (place >= 0) & (place < len(samples))
    windows = np.zeros(place.shape, np.float32)
    windows[there] = samples[place[there]]
    return windows
