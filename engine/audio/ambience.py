"""Ambience: what of a channel follows the voice although no short filter makes it of the voice.

That is late reverb, chorus, or the same words sung once more. Its power in each band follows the voice's, or what a
double or a room makes of that; how much of each is found by non-negative least squares (Lawson and Hanson, 1974).
Copies of the converted voice take its place, a later one for doubles and a diffuse one for rooms, with the power that
the converted voice would leave there (after Breebaart et al., "Parametric coding of stereo audio", 2005). What does not
follow the voice, such as noise and other sounds, is kept.
"""

import numpy as np
from scipy import ndimage, optimize, signal

from engine.audio.channels import delayed
from engine.units import SAMPLE_RATE

_LENGTH, _HOP = 2048, 1024  # of the spectra, in samples
_FIRST_BAND_HERTZ, _BANDS = 80.0, 28
_DOUBLE_FRAMES = (-1, 0, 1, 2)  # where the same words are when they are sung again
_DECAYS_S = (0.2, 0.7, 2.4)  # by 60 dB, of rooms; mixtures of them come close to others
_QUIET = 10  # percentile of the power, in each band, that is there without the voice
_EXPLAINED = 0.4  # of the rest's movement, from which the voice is its cause
_REPLACED = 10 ** (-26 / 10)  # of the voice's power; a quieter rest is masked by the voice
_LARGEST_GAIN = 30.0
_LEVEL_FRAMES = 7  # 0.16 s
_LARGEST_RATIO = 4.0  # of powers
_LATER_S = 0.012, 0.022  # a double, behind the voice
_SPREAD_S, _TAIL_S, _TAIL = 0.1, 2.4, 0.03  # decays of a room's response, and how much of it is tail


class Ambience:
    """The rest (n,) of channel `number`, of which a short filter of the voice (n,) has been taken, at SAMPLE_RATE."""

    def __init__(self, rest: np.ndarray, voice: np.ndarray, number: int) -> None:
        self._kept, self._number = rest, number
        spectrum = _spectrum(rest)
        power, cause = _band_power(spectrum), _band_power(_spectrum(voice))
        self._parts, steady, explained = _causes(power, cause)
        self._follows = power.sum() > _REPLACED * cause.sum() and explained > _EXPLAINED
        if self._follows:
            steady = np.minimum(power, np.minimum(steady, np.percentile(power, _QUIET, axis=1))[:, None])
            following = np.stack([parts @ _effects(band) for parts, band in zip(self._parts, cause, strict=True)])
            self._level = _level_ratio((power - steady).sum(0), following.sum(0))
            self._kept = _sound(spectrum * _per_bin(np.sqrt(steady / np.maximum(power, 1e-20))), len(rest))

    def of(self, converted: np.ndarray) -> np.ndarray:
        """Return the rest (n,) as the converted voice (n,) would have it."""
        if not self._follows:
            return self._kept
        made = (self._doubles(converted) + self._rooms(converted)) * np.sqrt(self._level)
        return self._kept + _sound(made, len(converted))

    def _doubles(self, converted: np.ndarray) -> np.ndarray:
        """Return the spectrum (bins, frames) of one later copy, as strong in each band as all doubles are together."""
        gain = np.sqrt(self._parts[:, : len(_DOUBLE_FRAMES)].sum(1, keepdims=True))
        later_s = np.random.default_rng(self._number).uniform(*_LATER_S)
        return _spectrum(delayed(converted, round(later_s * SAMPLE_RATE))) * _per_bin(gain)

    def _rooms(self, converted: np.ndarray) -> np.ndarray:
        """Return the spectrum (bins, frames) of a diffuse copy, with the power that the rooms would have."""
        power = _band_power(_spectrum(converted))
        rooms = self._parts[:, len(_DOUBLE_FRAMES) :]
        wanted = np.stack([parts @ _decays(band) for parts, band in zip(rooms, power, strict=True)])
        diffuse = _spectrum(signal.oaconvolve(converted, _response(self._number))[: len(converted)])
        gain = np.sqrt(wanted / np.maximum(_band_power(diffuse), 1e-12)).clip(max=_LARGEST_GAIN)
        return diffuse * _per_bin(gain)


# ---- powers ----


def _causes(power: np.ndarray, cause: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return how much of each effect of `cause` makes `power`, what is steady of it, and how much of its movement that
    explains.

    Both powers are (bands, frames), the results (bands, effects), (bands,) and 0..1. Bands count by the root of their
    movement, so that one loud band does not decide alone.
    """
    found, steady, weights, explained = [], [], [], []
    for wanted, known in zip(power, cause, strict=True):
        effects = _effects(known)
        parts, error = optimize.nnls(np.vstack([effects, np.full_like(known, known.mean())]).T, wanted)
        movement = max(float(wanted.std()) * np.sqrt(len(wanted)), 1e-12)
        found.append(parts[: len(effects)])
        steady.append(parts[-1] * known.mean())
        weights.append(np.sqrt(movement))
        explained.append(max(0.0, 1.0 - (error / movement) ** 2))
    return np.stack(found), np.array(steady), float(np.average(explained, weights=weights))


def _effects(power: np.ndarray) -> np.ndarray:
    """Return what a power (frames,) can leave in the rest: doubles, and rooms; (effects, frames)."""
    return np.vstack([*(ndimage.shift(power, frames, order=0) for frames in _DOUBLE_FRAMES), _decays(power)])


def _decays(power: np.ndarray) -> np.ndarray:
    """Return the power (frames,) after rooms of several decays, (rooms, frames)."""
    return np.stack([_decayed(power, seconds) for seconds in _DECAYS_S])


def _decayed(power: np.ndarray, seconds: float) -> np.ndarray:
    """Return the power (frames,) after a room that decays by 60 dB in so many seconds."""
    kept = 10.0 ** (-6.0 * _HOP / SAMPLE_RATE / seconds)
    return np.asarray(signal.lfilter([1.0 - kept], [1.0, -kept], power))


def _level_ratio(wanted: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return wanted over known power (frames,), smoothed: a room may be longer, or a voice doubled in one line only."""
    reach = min(_LEVEL_FRAMES // 2, (len(wanted) - 1) // 2)
    window = np.hanning(2 * reach + 3)[1:-1]
    smooth = [np.convolve(np.pad(power, reach, "edge"), window, "valid") for power in (wanted, known)]
    return np.asarray((smooth[0] / np.maximum(smooth[1], 1e-12)).clip(max=_LARGEST_RATIO))


# ---- spectra ----


def _response(number: int) -> np.ndarray:
    """Return a decaying noise (taps,) of unit energy, another for each channel: short, with the long tail of a room."""
    seconds = np.arange(round(_TAIL_S * SAMPLE_RATE)) / SAMPLE_RATE
    decay = 10.0 ** (-3.0 * seconds / _SPREAD_S) + _TAIL * 10.0 ** (-3.0 * seconds / _TAIL_S)
    noise = np.random.default_rng(number).standard_normal(len(seconds)) * decay
    return np.asarray(noise / np.sqrt((noise**2).sum()), np.float32)


def _spectrum(samples: np.ndarray) -> np.ndarray:
    """Return the short-time spectrum of samples (n,), complex (bins, frames)."""
    whole = np.pad(samples, (0, max(0, _LENGTH - len(samples))))
    return np.asarray(signal.stft(whole, nperseg=_LENGTH, noverlap=_LENGTH - _HOP)[2])


def _sound(spectrum: np.ndarray, count: int) -> np.ndarray:
    """Return the samples (count,) of a short-time spectrum."""
    return np.asarray(signal.istft(spectrum, nperseg=_LENGTH, noverlap=_LENGTH - _HOP)[1][:count], np.float32)


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
