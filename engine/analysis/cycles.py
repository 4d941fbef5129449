"""How much a voice changes from one cycle of its pitch to the next.

A rough voice has power between its harmonics: growl, tremor, laughter and screams change the level and the length of
each cycle. Yet a cycle keeps the shape of the one before, since it is the same glottis and the same vowel.
Accompaniment and a second voice change the shape, as they have another pitch. So each cycle is foretold from the one
before it, at whatever distance and level suits best.
"""

import numpy as np

from engine.filters import irfft, rfft
from engine.units import SAMPLE_RATE

_LOWEST_HERTZ, _HIGHEST_HERTZ = 60.0, 2500.0
_DECIMATION = 2  # leaves 45 us between two lags, a ninth of a period of the highest frequency
_CYCLES = 5  # compared in a moment, over its middle half
_LAG_SHARE = 0.12  # of the cycle, by which it may be shorter or longer
_LEVEL_S, _MOST_BENDS = 0.0035, 3  # the level bends once in so long, as a polynomial: 70 Hz is followed
_SHORTEST = 12  # samples compared


def measure_changes(spans: np.ndarray, hertz: np.ndarray) -> np.ndarray:
    """Return what the cycle before does not foretell, in dB of the whole, float64 (moments,).

    spans: (moments, samples) at SAMPLE_RATE, of 50 ms or more; hertz: (moments,), the pitch. NaN where a moment is too
    short for its cycles.
    """
    spectra = rfft(spans)
    bins = np.fft.rfftfreq(spans.shape[1], 1 / SAMPLE_RATE)
    spectra[:, (bins < _LOWEST_HERTZ) | (bins > _HIGHEST_HERTZ)] = 0
    size = spans.shape[1] // _DECIMATION
    heard = irfft(spectra[:, : size // 2 + 1], size)
    periods = SAMPLE_RATE / _DECIMATION / hertz
    return np.array([_change_db(*moment) for moment in zip(heard, periods, strict=True)])


def _change_db(heard: np.ndarray, period: float) -> float:
    length, lag, reach = max(round(period), _SHORTEST), round(period), max(1, round(_LAG_SHARE * period))
    starts = np.linspace(len(heard) / 4, 3 * len(heard) / 4, _CYCLES).astype(int) - length // 2
    starts = starts[(starts >= lag + reach) & (starts + length <= len(heard))]
    if not len(starts):
        return np.nan
    pieces = np.lib.stride_tricks.sliding_window_view(heard, length)
    cycles, before = pieces[starts], _alike_before(pieces, starts, lag, reach)
    bends = int(np.clip(round(period * _DECIMATION / SAMPLE_RATE / _LEVEL_S), 1, _MOST_BENDS))
    levels = np.linalg.qr(np.linspace(-1, 1, length)[:, None] ** np.arange(bends + 1))[0]
    basis = np.linalg.qr(before[:, :, None] * levels)[0]
    foretold = np.square(np.einsum("cs,csb->cb", cycles, basis)).sum()
    power = np.square(cycles).sum() + 1e-12
    return float(10 * np.log10(max(power - foretold, 1e-6 * power) / power))


def _alike_before(pieces: np.ndarray, starts: np.ndarray, lag: int, reach: int) -> np.ndarray:
    """Return the piece most like each cycle, about one period before it, (cycles, samples)."""
    candidates = pieces[starts[:, None] - np.arange(lag - reach, lag + reach + 1)]
    alike = np.einsum("cs,cls->cl", pieces[starts], candidates)
    alike /= np.sqrt(np.einsum("cls,cls->cl", candidates, candidates) + 1e-12)
    found: np.ndarray = candidates[np.arange(len(starts)), alike.argmax(1)]
    return found
