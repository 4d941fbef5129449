"""Ambience: what of a channel follows the voice although no short filter makes it of the voice.

That is late reverb, chorus, or the same words sung once more. Its power in each band follows the voice's, or what a
double or a room makes of that; how much of each is found by non-negative least squares (Lawson and Hanson, 1974).
Copies of the converted voice take its place, a later one for doubles and a diffuse one for rooms, with the power that
the converted voice would leave there (after Breebaart et al., "Parametric coding of stereo audio", 2005). What does not
follow the voice, such as noise and other sounds, is kept.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import scipy
import torch
from torch import Tensor, nn

from engine.filters import irfft, rfft, through
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
_SHORTEST_BLOCK = 8192  # samples that are filtered at a time
_SPREAD_S, _TAIL_S, _TAIL = 0.1, 2.4, 0.03  # decays of a room's response, and how much of it is tail


@dataclass(frozen=True, eq=False)
class Ambience:
    """What a channel holds beside the voice: `kept` (n,), and what follows the voice, where something does."""

    kept: Tensor
    following: "Following | None" = None

    def of(self, converted: Tensor) -> Tensor:
        """Return the rest (n,) as the converted voice (n,) would have it, on its device, where this is too."""
        return self.kept if self.following is None else self.kept + self.following.of(converted)


@dataclass(frozen=True, eq=False)
class Following:
    """Doubles and rooms of a voice: how much of each (bands, effects), at what power (frames,).

    later: samples by which the double comes after the voice. response: of the room, as `filtered` takes it.
    """

    parts: Tensor
    level: Tensor
    later: int
    response: Tensor

    def of(self, converted: Tensor) -> Tensor:
        """Return the doubles and rooms (n,) of the converted voice (n,)."""
        made = (self._doubles(converted) + self._rooms(converted)) * self.level.sqrt()
        return _sound(made, len(converted))

    def _doubles(self, converted: Tensor) -> Tensor:
        """Return the spectrum (bins, frames) of one later copy, as strong in each band as all doubles are together."""
        gain = self.parts[:, : len(_DOUBLE_FRAMES)].sum(1, keepdim=True).sqrt()
        return spectrum_of(nn.functional.pad(converted, (self.later, 0))[: len(converted)]) * _per_bin(gain)

    def _rooms(self, converted: Tensor) -> Tensor:
        """Return the spectrum (bins, frames) of a diffuse copy, with the power that the rooms would have."""
        power = band_power(spectrum_of(converted))
        rooms = self.parts[:, len(_DOUBLE_FRAMES) :]
        decayed = torch.stack([_decayed_there(power, _kept_share(seconds)) for seconds in _DECAYS_S], 1)
        wanted = (rooms[..., None] * decayed).sum(1)
        diffuse = spectrum_of(filtered(converted, self.response))
        gain = (wanted / band_power(diffuse).clamp_min(1e-12)).sqrt().clamp_max(_LARGEST_GAIN)
        return diffuse * _per_bin(gain)


def ambience_of(rest: np.ndarray, voice: np.ndarray, number: int, cause: np.ndarray | None = None) -> Ambience:
    """Take apart the rest (n,) of channel `number`, of which a short filter of the voice (n,) has been taken.

    All at SAMPLE_RATE. cause: `voice_power` of that voice, if it is known.
    """
    cause = voice_power(voice) if cause is None else cause
    kept = torch.from_numpy(np.asarray(rest, np.float32))
    spectrum = spectrum_of(kept)
    power = band_power(spectrum).double().numpy()
    parts, steady, explained = _causes(power, cause)
    if power.sum() <= _REPLACED * cause.sum() or explained <= _EXPLAINED:
        return Ambience(kept)
    steady = np.minimum(power, np.minimum(steady, np.percentile(power, _QUIET, axis=1))[:, None])
    following = np.stack([some @ _effects(band) for some, band in zip(parts, cause, strict=True)])
    level = torch.from_numpy(_level_ratio((power - steady).sum(0), following.sum(0))).float()
    share = torch.from_numpy(np.sqrt(steady / np.maximum(power, 1e-20))).float()
    later = round(np.random.default_rng(number).uniform(*_LATER_S) * SAMPLE_RATE)
    again = Following(torch.from_numpy(parts).float(), level, later, torch.from_numpy(_response(number)))
    return Ambience(_sound(spectrum * _per_bin(share), len(rest)), again)


def voice_power(voice: np.ndarray) -> np.ndarray:
    """Return the power of a voice (n,) in each band, float64 (bands, frames)."""
    return band_power(spectrum_of(torch.from_numpy(np.asarray(voice, np.float32)))).double().numpy()


def filtered(samples: Tensor, taps: Tensor, before: int = 0) -> Tensor:
    """Return samples (n,) through a filter (taps,) of which so many lie before the present, both float32 on a device.

    In blocks (overlap-save). On the processor they are transformed by scipy: torch would divide few long transforms
    among its threads, and round them otherwise for each number of them.
    """
    size = max(_SHORTEST_BLOCK, 1 << (2 * len(taps) - 1).bit_length())
    step = size - len(taps) + 1
    blocks = -(-len(samples) // step)
    padded = nn.functional.pad(samples, (len(taps) - 1 - before, blocks * step - len(samples) + before))
    pieces = padded.unfold(0, size, step)
    if samples.device.type == "cpu":
        response = rfft(taps.numpy(), size)
        found = torch.from_numpy(irfft(rfft(pieces.numpy()) * response, size))
    else:
        found = torch.fft.irfft(torch.fft.rfft(pieces) * torch.fft.rfft(taps, size), size)
    return found[:, len(taps) - 1 :].flatten()[: len(samples)]


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
        parts, error = scipy.optimize.nnls(np.vstack([effects, np.full_like(known, known.mean())]).T, wanted)
        movement = max(float(wanted.std()) * np.sqrt(len(wanted)), 1e-12)
        found.append(parts[: len(effects)])
        steady.append(parts[-1] * known.mean())
        weights.append(np.sqrt(movement))
        explained.append(max(0.0, 1.0 - (error / movement) ** 2))
    return np.stack(found), np.array(steady), float(np.average(explained, weights=weights))


def _effects(power: np.ndarray) -> np.ndarray:
    """Return what a power (frames,) can leave in the rest: doubles, and rooms; (effects, frames)."""
    return np.vstack([*(scipy.ndimage.shift(power, frames, order=0) for frames in _DOUBLE_FRAMES), _decays(power)])


def _decays(power: np.ndarray) -> np.ndarray:
    """Return the power (frames,) after rooms of several decays, (rooms, frames)."""
    return np.stack([_decayed(power, seconds) for seconds in _DECAYS_S])


def _decayed(power: np.ndarray, seconds: float) -> np.ndarray:
    """Return the power (frames,) after a room that decays by 60 dB in so many seconds."""
    kept = _kept_share(seconds)
    return through(np.array([[1.0 - kept, 0.0, 0.0, 1.0, -kept, 0.0]]), power)


def _decayed_there(power: Tensor, kept: float) -> Tensor:
    """Return the power (bands, frames) after a room that keeps this share of it from frame to frame.

    Each step adds what came twice as long before, so that there are few of them on any device.
    """
    found, behind = (1.0 - kept) * power, 1
    while behind < power.shape[1]:
        found = torch.cat([found[:, :behind], found[:, behind:] + kept**behind * found[:, :-behind]], 1)
        behind *= 2
    return found


def _kept_share(seconds: float) -> float:
    return float(10.0 ** (-6.0 * _HOP / SAMPLE_RATE / seconds))


def _level_ratio(wanted: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return wanted over known power (frames,), smoothed: a room may be longer, or a voice doubled in one line only."""
    reach = min(_LEVEL_FRAMES // 2, (len(wanted) - 1) // 2)
    window = np.hanning(2 * reach + 3)[1:-1]
    smooth = [np.convolve(np.pad(power, reach, "edge"), window, "valid") for power in (wanted, known)]
    return np.asarray((smooth[0] / np.maximum(smooth[1], 1e-12)).clip(max=_LARGEST_RATIO))


# ---- spectra ----


@lru_cache(maxsize=8)
def _response(number: int) -> np.ndarray:
    """Return a decaying noise (taps,) of unit energy, another for each channel: short, with the long tail of a room."""
    seconds = np.arange(round(_TAIL_S * SAMPLE_RATE)) / SAMPLE_RATE
    decay = 10.0 ** (-3.0 * seconds / _SPREAD_S) + _TAIL * 10.0 ** (-3.0 * seconds / _TAIL_S)
    noise = np.random.default_rng(number).standard_normal(len(seconds)) * decay
    return np.asarray(noise / np.sqrt((noise**2).sum()), np.float32)


def spectrum_of(samples: Tensor) -> Tensor:
    """Return the short-time spectrum of samples (n,), complex (bins, frames), of unit gain."""
    missing = max(0, _LENGTH - len(samples))
    missing += -(len(samples) + missing) % _HOP
    padded = nn.functional.pad(samples, (_HOP, missing + _HOP))
    window = torch.hann_window(_LENGTH, device=samples.device)
    return torch.fft.rfft(padded.unfold(0, _LENGTH, _HOP) * (window / (_LENGTH / 2))).T


def _sound(spectrum: Tensor, count: int) -> Tensor:
    """Return the samples (count,) of a short-time spectrum."""
    window = torch.hann_window(_LENGTH, device=spectrum.device) * (_LENGTH / 2)
    halves = (torch.fft.irfft(spectrum.T, _LENGTH) * window).view(-1, 2, _HOP)
    weight = torch.hann_window(_LENGTH, device=spectrum.device).square().view(2, _HOP).sum(0)  # of all that overlap
    return ((halves[1:, 0] + halves[:-1, 1]) / weight).flatten()[:count]


@lru_cache(maxsize=1)
def _edges() -> list[int]:
    """Return the first bin of each band, and the end of the last; bands widen with the frequency."""
    hertz = np.geomspace(_FIRST_BAND_HERTZ, SAMPLE_RATE / 2, _BANDS)
    edges = np.concatenate([[0], np.round(hertz * _LENGTH / SAMPLE_RATE).astype(int)])
    edges[-1] = _LENGTH // 2 + 1
    return np.unique(edges).tolist()


def band_power(spectrum: Tensor) -> Tensor:
    """Return the power in each band of a spectrum (bins, frames): (bands, frames)."""
    power = torch.addcmul(spectrum.real.square(), spectrum.imag, spectrum.imag)
    return torch.stack([power[first:stop].sum(0) for first, stop in pairwise(_edges())])


def _per_bin(bands: Tensor) -> Tensor:
    ranges = pairwise(_edges())
    return torch.cat([band.expand(stop - first, -1) for band, (first, stop) in zip(bands, ranges, strict=True)])
