"""Transforms and filters of scipy, without the packages they lie in.

To load `scipy.fft`, `scipy.signal` and `scipy.ndimage` takes longer than to convert a phrase, and a conversion needs a
few of their functions. Here their compiled parts are loaded by themselves. What is returned is what scipy returns, to
the bit. All work along the last axis; curves and flags have one.
"""

import sys
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Literal

import numpy as np

Band = Literal["lowpass", "highpass", "bandpass"]
_LOADING = Lock()
_ENDS = {"nearest": 0, "reflect": 2, "constant": 4}  # of a curve, by their numbers in ndimage's nd_image.h
# Butterworth filters that every conversion needs, by order, corners in hertz, kind and rate, as scipy designs them
_DESIGNED: dict[tuple[int, float | tuple[float, float], Band, int], list[list[float]]] = {
    (2, 25.0, "highpass", 44100): [
        [0.9974845279889571, -1.9949690559779143, 0.9974845279889571, 1.0, -1.9949627283684663, 0.9949753835873623]
    ],
    (2, (200.0, 4000.0), "bandpass", 44100): [
        [
            *(0.052409818710787155, 0.10481963742157431, 0.052409818710787155, 1.0, -1.2690965470638802),
            0.48479288277162275,
        ],
        [1.0, -2.0, 1.0, 1.0, -1.9600389255134525, 0.9609109804014363],
    ],
    (2, (60.0, 4000.0), "bandpass", 16000): [
        [0.2860256087272726, 0.5720512174545452, 0.2860256087272726, 1.0, -0.01369789835766528, 0.17752215967100302],
        [1.0, -2.0, 1.0, 1.0, -1.9666870513058867, 0.9672459511865413],
    ],
}


def compiled(name: str) -> ModuleType:
    """Return a compiled module of scipy; the package around it is not loaded."""
    with _LOADING:
        if name not in sys.modules:
            package, *folders, _ = name.split(".")
            folder = Path(import_module(package).__path__[0], *folders)
            spec = PathFinder.find_spec(name, [str(folder)])
            if spec is None or spec.loader is None:
                return import_module(name)
            module = sys.modules[name] = module_from_spec(spec)  # where the package, loaded later, looks for it
            spec.loader.exec_module(module)
        return sys.modules[name]


# ---- spectra ----


def rfft(samples: np.ndarray, size: int | None = None) -> np.ndarray:
    """Return the spectrum of real samples (..., n), cut or padded with zeros to `size`, as `scipy.fft.rfft` does."""
    return _transforms().r2c(_sized(samples, size), (samples.ndim - 1,), True, 0, None, 1)


def irfft(spectrum: np.ndarray, size: int | None = None) -> np.ndarray:
    """Return the real samples (..., size) of a spectrum, by default all, as `scipy.fft.irfft` does."""
    size = 2 * (spectrum.shape[-1] - 1) if size is None else size
    whole = _sized(spectrum if np.iscomplexobj(spectrum) else spectrum + 0j, size // 2 + 1)
    return _transforms().c2r(whole, (spectrum.ndim - 1,), size, False, 2, None, 1)


def quick_size(size: int) -> int:
    """Return the least size of a real transform that is quick and at least this, as `scipy.fft.next_fast_len`."""
    return int(_transforms().good_size(size, True))


def _transforms() -> ModuleType:
    return compiled("scipy.fft._pocketfft.pypocketfft")


def _sized(values: np.ndarray, size: int | None) -> np.ndarray:
    missing = 0 if size is None else size - values.shape[-1]
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)]) if missing > 0 else values[..., :size]


# ---- filters in second-order sections ----


@cache
def butterworth(order: int, hertz: float | tuple[float, float], kind: Band, rate: int) -> np.ndarray:
    """Design a filter in second-order sections (sections, 6), as `scipy.signal.butter` does."""
    known = _DESIGNED.get((order, hertz, kind, rate))
    if known:
        return np.array(known)
    if kind == "lowpass" and order % 2 == 0 and isinstance(hertz, float):
        return _lowpass(order, hertz, rate)
    return np.asarray(import_module("scipy.signal").butter(order, hertz, kind, fs=rate, output="sos"))


def _lowpass(order: int, hertz: float, rate: int) -> np.ndarray:
    """Design a low-pass filter of even order: the poles of the analogue one, by the bilinear transform."""
    poles = -np.exp(1j * np.pi * np.arange(1 - order, order, 2) / (2 * order))
    corner = float(4.0 * np.tan(np.pi * (2 * hertz / rate) / 2.0))
    poles *= corner
    gain = corner**order * np.real(1.0 / np.prod(4.0 - poles))
    poles = (4.0 + poles) / (4.0 - poles)
    poles = poles[poles.imag > 0]
    poles = poles[np.argsort(np.abs(1 - np.abs(poles)))][::-1]  # those nearest to the unit circle last
    back = np.array([np.convolve([1, -pole], [1, -pole.conj()]).real for pole in poles])
    ahead = np.tile([1.0, 2.0, 1.0], (len(poles), 1))
    ahead[0] *= gain
    return np.concatenate([ahead, back], 1)


def through(sections: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Return samples (..., n) through second-order sections (sections, 6), float64, as `scipy.signal.sosfilt` does."""
    return _passed(sections, samples, np.zeros((len(sections), 2)))


def through_and_back(sections: np.ndarray, samples: np.ndarray, reach: int) -> np.ndarray:
    """Return samples (n,) filtered forwards, then backwards, float64; before, they go on by `reach` at either end,
    turned about it, as `scipy.signal.sosfiltfilt` does."""
    before, after = 2 * samples[:1] - samples[reach:0:-1], 2 * samples[-1:] - samples[-2 : -reach - 2 : -1]
    longer = np.concatenate([before, samples, after]) if reach else samples
    settled = _settled(sections)
    forwards = _passed(sections, longer, settled * longer[:1])
    both = _passed(sections, forwards[::-1], settled * forwards[-1:])[::-1]
    return both[reach : len(both) - reach]


def _passed(sections: np.ndarray, samples: np.ndarray, state: np.ndarray) -> np.ndarray:
    found = np.array(samples, np.float64, order="C")
    rows = found.reshape(-1, found.shape[-1])
    compiled("scipy.signal._sosfilt")._sosfilt(sections, rows, np.repeat(state[None], len(rows), axis=0))
    return found


def _settled(sections: np.ndarray) -> np.ndarray:
    """Return the state (sections, 2) after an endless step, as `scipy.signal.sosfilt_zi` does."""
    states, scale = [], 1.0
    for section in sections:
        ahead, back = section[:3], section[3:]
        companion = np.array([[-back[1], 1.0], [-back[2], 0.0]])
        states.append(scale * np.linalg.solve(np.eye(2) - companion, ahead[1:] - back[1:] * ahead[0]))
        scale *= ahead.sum() / back.sum()
    return np.array(states)


# ---- what is around each frame ----


def moving_mean(curve: np.ndarray, size: int, ends: str = "nearest") -> np.ndarray:
    """Return the mean of `size` frames around each of a curve (n,), as `scipy.ndimage.uniform_filter1d` does."""
    found = np.empty_like(curve)
    _refuse_none(size)
    _frames().uniform_filter1d(curve, size, 0, found, _ENDS[ends], 0.0, 0)
    return found


def moving_median(curve: np.ndarray, size: int, ends: str = "nearest") -> np.ndarray:
    """Return the median of `size` frames around each of a curve or flags (n,), as `scipy.ndimage.median_filter`."""
    _refuse_none(size)
    if 1 < len(curve) < (size - 1) // 2:  # the quick one knows ends that are as long as the curve at most
        found = np.empty_like(curve)
        _frames().rank_filter(curve, size // 2, np.ones(size, bool), found, _ENDS[ends], 0.0, [0])
        return found
    numbers = np.ascontiguousarray(curve if curve.dtype in (np.float32, np.float64) else curve.astype(np.int64))
    found = np.empty_like(numbers)
    rank = compiled("scipy.ndimage._rank_filter_1d").rank_filter
    rank(numbers, size // 2, size, found, _ENDS[ends], numbers.dtype.type(0), 0)
    return found.astype(curve.dtype, copy=False)


def moving_maximum(curve: np.ndarray, size: int, ends: str = "nearest", later: int = 0) -> np.ndarray:
    """Return the largest of `size` frames around each of a curve (n,), as `scipy.ndimage.maximum_filter1d` does.

    later: by how many frames the last of them lies later; an even number of them has one more before than after.
    """
    return _extreme(curve, size, ends, -later, is_minimum=False)


def moving_minimum(curve: np.ndarray, size: int, ends: str = "nearest") -> np.ndarray:
    """Return the smallest of `size` frames around each of a curve (n,), as `scipy.ndimage.minimum_filter1d` does."""
    return _extreme(curve, size, ends, 0, is_minimum=True)


def closed(flags: np.ndarray, size: int) -> np.ndarray:
    """Return flags (n,) without gaps of fewer than `size` frames, as `scipy.ndimage.binary_closing` does."""
    return moving_minimum(moving_maximum(flags, size, "constant", later=1 - size % 2), size, "constant")


def opened(flags: np.ndarray, size: int) -> np.ndarray:
    """Return flags (n,) without runs of fewer than `size` frames, as `scipy.ndimage.binary_opening` does."""
    return moving_maximum(moving_minimum(flags, size, "constant"), size, "constant", later=1 - size % 2)


def _extreme(curve: np.ndarray, size: int, ends: str, origin: int, is_minimum: bool) -> np.ndarray:
    found = np.empty_like(curve)
    _refuse_none(size)
    _frames().min_or_max_filter1d(curve, size, 0, found, _ENDS[ends], 0.0, origin, int(is_minimum))
    return found


def _refuse_none(size: int) -> None:
    """Raise ValueError for what would write beyond an array."""
    if size < 1:
        raise ValueError(f"{size} frames have no mean, median or extreme.")


def _frames() -> ModuleType:
    return compiled("scipy.ndimage._nd_image")


def peaks(curve: np.ndarray, least: float, apart: int) -> np.ndarray:
    """Return the indices (peaks,) of peaks of a curve (n,), float64: `least` high and so many frames apart, the higher
    ones first, as `scipy.signal.find_peaks` does."""
    part = compiled("scipy.signal._peak_finding_utils")
    places = part._local_maxima_1d(np.ascontiguousarray(curve))[0]
    places = places[curve[places] >= least]
    return np.asarray(places[part._select_by_peak_distance(places, curve[places], float(apart))])
