"""Refine an approximate pitch curve, so that vibrato and glides keep their full depth.

A detector analyses about 60 ms at a time, which flattens faster movements. Here each frame is analysed through a window
of three periods, as short as its pitch allows; the instantaneous frequencies of its first harmonics (Flanagan and
Golden, 1966), each divided by its number and weighted by its amplitude, give the pitch (as in StoneMask of WORLD;
Morise et al., 2016).
"""

from collections.abc import Iterator

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
    even, odd = folded_around(samples, centres, reach)
    turns = (hertz[:, None] * (np.arange(reach + 1) / rate)).astype(np.float32)  # periods from the centre
    inside = turns < _PERIODS / 2
    angle = np.float32(2 * np.pi / _PERIODS) * turns
    cosine, sine = np.cos(angle), np.sin(angle)
    # the Blackman window, and its slope in units of 2 pi per period
    window = (0.42 + 0.5 * cosine + 0.08 * (2 * cosine**2 - 1)) * inside
    slope = (-0.5 * sine - 0.32 * sine * cosine) * (np.float32(1 / _PERIODS) * inside)
    windowed, sloped = (even * window, odd * window), (odd * slope, even * slope)
    total, weights = np.zeros(len(hertz)), np.zeros(len(hertz))
    for number, (real, imaginary) in enumerate(harmonics(turns, _HARMONICS), 1):
        spectrum, derivative = (_dot(one, real) - 1j * _dot(other, imaginary) for one, other in (windowed, sloped))
        power = np.abs(spectrum) ** 2
        periods = number - (derivative * spectrum.conj()).imag / np.maximum(power, 1e-20)  # per period of `hertz`
        amplitude = np.sqrt(power) * (number * hertz < 0.45 * rate)
        total += amplitude * periods
        weights += amplitude * number
    ratio: np.ndarray = total / np.maximum(weights, 1e-12)
    return ratio


def folded_around(samples: np.ndarray, centres: np.ndarray, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums and the differences of the samples after and before each centre, up to `reach` away, float32
    (centres, reach + 1) each, zeros beyond the ends.

    A cosine around the centre meets only the sums, a sine only the differences: half of the samples have to be
    multiplied.
    """
    behind = max(0, int(centres.max(initial=0)) - len(samples) + 1)
    padded = np.pad(np.asarray(samples, np.float32), (reach, reach + behind))
    pieces = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1)[centres]
    after, before = pieces[:, reach:], pieces[:, reach::-1]
    even, odd = after + before, after - before
    even[:, 0] = after[:, 0]
    return even, odd


def harmonics(turns: np.ndarray, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield cosine and sine of the first harmonics at `turns`, in periods of the first one."""
    angle = np.float32(2 * np.pi) * turns
    first = real, imaginary = np.cos(angle), np.sin(angle)
    for number in range(count):
        yield real, imaginary
        if number + 1 < count:
            real, imaginary = real * first[0] - imaginary * first[1], imaginary * first[0] + real * first[1]


def _dot(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the dot product of each row."""
    product: np.ndarray = np.einsum("fn,fn->f", one, other)
    return product
