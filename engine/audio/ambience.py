"""Ambience: what of a channel follows the voice although no short filter makes it of the voice.

That is late reverb, chorus, or the same words sung once more. Its power in each band follows the voice's, or what a
double or a room makes of that; how much of each is found by non-negative least squares (Lawson and Hanson, 1974). A
decorrelated copy of the converted voice takes its place, with the power that the converted voice would leave there
(Breebaart et al., "Parametric coding of stereo audio", 2005). What does not follow the voice, such as noise and other
sounds, is kept.
"""

import numpy as np
from scipy import optimize, signal

from engine.units import SAMPLE_RATE

_LENGTH, _HOP = 2048, 512  # of the spectra, in samples
_FIRST_BAND_HERTZ, _BANDS = 80.0, 28
_DOUBLED_FRAMES = 9  # 0.1 s: how far apart the same words are when they are sung again
_DECAYS_S = (0.2, 0.8)  # by 60 dB, of rooms; mixtures of the two come close to others
_QUIET = 10  # percentile of the power, in each band, that is there without the voice
_EXPLAINED = 0.4  # of the rest's movement, from which the voice is its cause
_REPLACED = 10 ** (-26 / 10)  # of the voice's power; a quieter rest is masked by the voice
_LARGEST_GAIN = 10.0
_SLOW_FRAMES = 87  # a second
_LARGEST_RATIO = 4.0  # of powers
_SPREAD_S = 0.04  # how long the decorrelated copy's response is
_TRANSFORM = signal.ShortTimeFFT(signal.windows.hann(_LENGTH, sym=False), _HOP, SAMPLE_RATE)


class Ambience:
    """The rest (n,) of channel `number`, of which a short filter of the voice (n,) has been taken, at SAMPLE_RATE."""

    def __init__(self, rest: np.ndarray, voice: np.ndarray, number: int) -> None:
        self._number, self._kept = number, rest
        spectrum = _spectrum(rest)
        power, cause = _band_power(spectrum), _band_power(_spectrum(voice))
        self._parts, explained = _causes(power, cause)
        self._follows = power.sum() > _REPLACED * cause.sum() and explained > _EXPLAINED
        if self._follows:
            steady = np.minimum(power, np.percentile(power, _QUIET, axis=1, keepdims=True))
            self._level = _slow_ratio((power - steady).sum(0), self._following(cause).sum(0))
            self._kept = _sound(spectrum * _per_bin(np.sqrt(steady / np.maximum(power, 1e-20))), len(rest))

    def of(self, converted: np.ndarray) -> np.ndarray:
        """Return the rest (n,) as the converted voice (n,) would have it."""
        if not self._follows:
            return self._kept
        wanted = self._following(_band_power(_spectrum(converted))) * self._level
        spectrum = _spectrum(signal.oaconvolve(converted, _decorrelating(self._number))[: len(converted)])
        gain = np.sqrt(wanted / np.maximum(_band_power(spectrum), 1e-12)).clip(max=_LARGEST_GAIN)
        return self._kept + _sound(spectrum * _per_bin(gain), len(converted))

    def _following(self, power: np.ndarray) -> np.ndarray:
        """Return the power (bands, frames) that a voice of this power leaves in the rest."""
        return np.stack([parts @ _effects(band) for parts, band in zip(self._parts, power, strict=True)])


# ---- powers ----


def _causes(power: np.ndarray, cause: np.ndarray) -> tuple[np.ndarray, float]:
    """Return how much of each effect of `cause` makes `power` in each band, and how much of its movement that explains.

    Both powers are (bands, frames), the first result (bands, effects), the second 0..1. Bands count by the root of
    their movement, so that one loud band does not decide alone.
    """
    found, weights, explained = [], [], []
    for wanted, known in zip(power, cause, strict=True):
        effects = _effects(known)
        parts, error = optimize.nnls(np.vstack([effects, np.full_like(known, known.mean())]).T, wanted)
        movement = max(float(wanted.std()) * np.sqrt(len(wanted)), 1e-12)
        found.append(parts[: len(effects)])
        weights.append(np.sqrt(movement))
        explained.append(max(0.0, 1.0 - (error / movement) ** 2))
    return np.stack(found), float(np.average(explained, weights=weights))


def _effects(power: np.ndarray) -> np.ndarray:
    """Return what a power (frames,) can leave in the rest: itself, a double, two rooms; (effects, frames)."""
    doubled = np.convolve(power, np.ones(_DOUBLED_FRAMES) / _DOUBLED_FRAMES, "same")
    return np.stack([power, doubled, *(_decayed(power, seconds) for seconds in _DECAYS_S)])


def _decayed(power: np.ndarray, seconds: float) -> np.ndarray:
    """Return the power (frames,) after a room that decays by 60 dB in so many seconds."""
    kept = 10.0 ** (-6.0 * _HOP / SAMPLE_RATE / seconds)
    return np.asarray(signal.lfilter([1.0 - kept], [1.0, -kept], power))


def _slow_ratio(wanted: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return wanted over known power (frames,) within about a second: a voice may be doubled in one line only."""
    reach = min(_SLOW_FRAMES // 2, (len(wanted) - 1) // 2)
    window = np.hanning(2 * reach + 3)[1:-1]
    smooth = [np.convolve(np.pad(power, reach, "edge"), window, "valid") for power in (wanted, known)]
    return np.asarray((smooth[0] / np.maximum(smooth[1], 1e-12)).clip(max=_LARGEST_RATIO))


# ---- spectra ----


def _decorrelating(number: int) -> np.ndarray:
    """Return a short decaying noise of unit energy, another for each channel."""
    count = round(_SPREAD_S * SAMPLE_RATE)
    noise = np.random.default_rng(number).standard_normal(count) * np.exp(-3.0 * np.arange(count) / count)
    return noise / np.sqrt((noise**2).sum())


def _spectrum(samples: np.ndarray) -> np.ndarray:
    """Return the short-time spectrum of samples (n,), complex (bins, frames)."""
    return _TRANSFORM.stft(np.pad(samples, (0, max(0, _LENGTH - len(samples)))))


def _sound(spectrum: np.ndarray, count: int) -> np.ndarray:
    """Return the samples (count,) of a short-time spectrum."""
    return np.asarray(_TRANSFORM.istft(spectrum, k1=max(count, _LENGTH))[:count], np.float32)


def _edges() -> np.ndarray:
    """Return the first bin of each band, and the end of the last; bands widen with the frequency."""
    hertz = np.geomspace(_FIRST_BAND_HERTZ, SAMPLE_RATE / 2, _BANDS)
    edges = np.concatenate([[0], np.round(hertz * _LENGTH / SAMPLE_RATE).astype(int)])
    edges[-1] = _LENGTH // 2 + 1
    return np.unique(edges)


def _band_power(spectrum: np.ndarray) -> np.ndarray:
    return np.add.reduceat(np.abs(spectrum) ** 2, _edges()[:-1], axis=0)


def _per_bin(bands: np.ndarray) -> np.ndarray:
    return np.repeat(bands, np.diff(_edges()), axis=0)
