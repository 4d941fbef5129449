"""Tones beyond the range of the pitch detector, which takes them for another note or for none.

Above, a whistle or a note of the whistle register is one narrow peak with nothing below it; the detector reads its half
or its third. Below, a growl repeats after a time that is longer than the detector's longest, and not after a shorter
one.
"""

import numpy as np
import scipy

from engine.analysis.runs import true_runs

ABOVE, BELOW = 1, -1
_SHORT, _LONG = 1024, 2048  # samples at 16 kHz that are analysed for tones above and below
_LOBE_BINS = 3  # on each side of a peak
_LEAST_BIN = 6  # 94 Hz
_CLEAR, _LIKELY = (0.5, 0.03), (0.25, 0.1)  # least share of the power in the peak, most power below it
_LEAST_SLOPE = 0.6  # power of the differences between samples, of the samples' power: 2 kHz have 0.6
_SOFTEST_DB = -37.0  # of levelled samples
_UNSURE = 0.6  # confidence of the detector: what it is sure of is no lower tone
_LOWEST_GROWL_HERTZ = 22.0
_PERIODIC, _LONGER = 0.8, 0.1  # autocorrelation of a growl, and how much less it is at shorter lags
_SHORTEST_LAG = 40  # samples


def find_beyond(
    samples: np.ndarray, rate: int, hop: int, confidence: np.ndarray, limits: tuple[float, float]
) -> np.ndarray:
    """Return where a tone is BELOW the limits, ABOVE them, or none (0): int8 (frames,), every `hop` samples.

    samples: levelled (engine/analysis/passage_levels.py); confidence: of the detector (frames,).
    """
    lowest, highest = limits
    frames = len(confidence)
    power = _frame_means(np.square(samples), hop, frames)
    slope = _frame_means(np.square(np.diff(samples, append=samples[-1:])), hop, frames)
    loud = power > 10.0 ** (_SOFTEST_DB / 10)
    steep = slope > _LEAST_SLOPE * power
    found = np.zeros(frames, np.int8)
    found[_are_above(samples, rate, hop, loud & steep, highest)] = ABOVE
    found[_are_below(samples, rate, hop, loud & ~steep & (confidence < _UNSURE), lowest)] = BELOW
    return found


def sustained_s(beyond: np.ndarray, side: int, shortest_frames: int, frame_rate: int) -> float:
    """Return for how many seconds sustained tones lie on one side of the range; creak and squeaks are shorter."""
    runs = true_runs(beyond == side)
    lengths = runs[:, 1] - runs[:, 0]
    return float(lengths[lengths >= shortest_frames].sum()) / frame_rate


def _are_above(samples: np.ndarray, rate: int, hop: int, asked: np.ndarray, highest: float) -> np.ndarray:
    places = np.flatnonzero(scipy.ndimage.binary_dilation(asked, iterations=4) if asked.any() else asked)
    clear, likely = np.zeros(len(asked), bool), np.zeros(len(asked), bool)
    if len(places):
        spectra = np.square(np.abs(scipy.fft.rfft(_cut(samples, places * hop, _SHORT) * _window(_SHORT), axis=1)))
        bins, peaks = np.arange(spectra.shape[1]), spectra.argmax(1)[:, None]
        peak = (spectra * (np.abs(bins - peaks) <= _LOBE_BINS)).sum(1) + 1e-12
        share = peak / (spectra[:, _LEAST_BIN:].sum(1) + 1e-12)
        lower = (spectra * ((bins >= _LEAST_BIN) & (bins < peaks - _LOBE_BINS))).sum(1) / peak
        is_high = _interpolated(spectra, peaks[:, 0]) * rate / _SHORT > highest
        clear[places], likely[places] = (
            is_high & (share > least) & (lower < most) for least, most in (_CLEAR, _LIKELY)
        )
    return scipy.ndimage.binary_propagation(clear, mask=clear | likely)


def _are_below(samples: np.ndarray, rate: int, hop: int, asked: np.ndarray, lowest: float) -> np.ndarray:
    places = np.flatnonzero(asked)
    found = np.zeros(len(asked), bool)
    if len(places):
        first, last = int(rate / lowest) + 1, int(rate / _LOWEST_GROWL_HERTZ)
        pieces = _cut(samples, places * hop, _LONG) * _window(_LONG)
        both = scipy.fft.irfft(np.square(np.abs(scipy.fft.rfft(pieces, 2 * _LONG, axis=1))), axis=1)[:, :last]
        window = scipy.fft.irfft(np.square(np.abs(scipy.fft.rfft(_window(_LONG), 2 * _LONG))))[:last]
        periodic = both / np.maximum(both[:, :1], 1e-12) * (window[0] / window)  # as if the window were flat
        longer, shorter = periodic[:, first:].max(1), periodic[:, _SHORTEST_LAG : first - first // 12].max(1)
        found[places] = (longer > _PERIODIC) & (longer > shorter + _LONGER)
    return found


def _frame_means(values: np.ndarray, hop: int, frames: int) -> np.ndarray:
    """Average values (samples,) over two hops around the centre of each frame, (frames,)."""
    padded = np.pad(values, (hop, hop * (frames + 1)))[: hop * (frames + 1)].reshape(frames + 1, hop).mean(1)
    return (padded[:-1] + padded[1:]) / 2


def _cut(samples: np.ndarray, centres: np.ndarray, size: int) -> np.ndarray:
    padded = np.pad(samples, (size // 2, size))
    return np.lib.stride_tricks.sliding_window_view(padded, size)[centres]


def _window(size: int) -> np.ndarray:
    return np.hanning(size).astype(np.float32)


def _interpolated(spectra: np.ndarray, peaks: np.ndarray) -> np.ndarray:
    """Return where the peaks lie between bins: the vertex of a parabola through the log spectrum."""
    rows, inside = np.arange(len(peaks)), peaks.clip(1, spectra.shape[1] - 2)
    before, at, after = (np.log(spectra[rows, inside + by] + 1e-20) for by in (-1, 0, 1))
    offset: np.ndarray = inside + (0.5 * (before - after) / np.minimum(before - 2 * at + after, -1e-9)).clip(-0.5, 0.5)
    return offset
