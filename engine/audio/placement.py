"""Placement: put a converted voice where the voice was in a recording of several channels.

Each channel of the recording is taken apart by what it does to the voice:

    channel = gain over time * delayed voice + short filter * voice + rest

The first two are panning, polarity, delay, doubles and early reflections; they are applied to the converted voice. The
filter is the least-squares one (Wiener, 1949; Levinson, 1946). What of the rest follows the voice is replaced too
(engine/audio/ambience.py); noise and other sounds stay.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import fft, linalg, ndimage, signal

from engine.audio.ambience import Ambience
from engine.audio.channels import LARGEST_DELAY_S, delayed, fold, share_of
from engine.units import HOP, SAMPLE_RATE, frame_count

_WINDOW_FRAMES = 40  # 0.4 s: panning changes slowly
_REACH = round(LARGEST_DELAY_S * SAMPLE_RATE), round(0.06 * SAMPLE_RATE)  # of the filter, before and after the voice
_FLATTENED_HERTZ = 100.0  # the voice's spectrum is flattened by its mean over so much while the filter is sought
_REGULARIZATION = 1e-3  # of the flattened power
_PANNED = 0.2  # correlation from which the voice is there at a gain; unrelated sounds reach less
_EXPLAINED = 0.1  # of the rest's power, from which a filter is more than chance
_NOTHING = 1e-4  # of a channel's power, -40 dB: a rest without a voice worth looking for


@dataclass(frozen=True, eq=False)
class _Channel:
    """What a channel does to the voice: delay in samples, gain (n,), taps of the filter (none: no filter), rest (n,)."""

    delay: int
    gain: np.ndarray
    taps: np.ndarray
    rest: np.ndarray
    ambience: Ambience | None

    def hold(self, voice: np.ndarray) -> np.ndarray:
        """Return what this channel holds of a voice (n,)."""
        held = self.gain * delayed(voice, self.delay)
        if len(self.taps):
            held = held + signal.oaconvolve(voice, self.taps)[_REACH[0] :][: len(voice)]
        return held


class Placement:
    """The place of the voice in samples (channels, n) at SAMPLE_RATE; `place` puts another voice there."""

    def __init__(self, samples: np.ndarray) -> None:
        voice = fold(samples)
        alone = len(samples) == 1
        self._channels = [] if alone else [_taken_apart(channel, voice, number) for number, channel in enumerate(samples)]

    def place(self, converted: np.ndarray) -> np.ndarray:
        """Return the channels (channels, n) with the converted voice (n,) in place of the recording's, float32."""
        if not self._channels:
            return converted[None]
        placed = []
        for channel in self._channels:
            rest = channel.ambience.of(converted) if channel.ambience else channel.rest
            placed.append(channel.hold(converted) + rest)
        return np.asarray(placed, np.float32)


def _taken_apart(channel: np.ndarray, voice: np.ndarray, number: int) -> _Channel:
    share = share_of(channel, voice, SAMPLE_RATE)
    gain = _gain(channel, delayed(voice, share.delay)) if abs(share.correlation) > _PANNED else np.zeros(len(voice))
    found = _Channel(share.delay, gain, np.zeros(0), channel, None)
    rest = channel - found.hold(voice)
    if _power(rest) > _NOTHING * _power(channel):
        filtered = replace(found, taps=_filter_between(rest, voice))
        left = channel - filtered.hold(voice)
        if _power(left) < (1.0 - _EXPLAINED) * _power(rest):
            found, rest = filtered, left
    ambience = Ambience(rest, voice, number) if _power(rest) > _NOTHING * _power(channel) else None
    return replace(found, rest=rest, ambience=ambience)


def _power(samples: np.ndarray) -> float:
    return float(samples @ samples)


def _gain(channel: np.ndarray, voice: np.ndarray) -> np.ndarray:
    """Return the least-squares gain of the voice in a channel, smoothed over time, per sample (n,)."""
    shared, power = _windowed_mean(channel * voice), _windowed_mean(voice * voice)
    gain = np.where(power > 1e-10, shared / np.maximum(power, 1e-10), 1.0)
    return np.interp(np.arange(len(voice)), np.arange(len(gain)) * HOP, gain).astype(np.float32)


def _windowed_mean(values: np.ndarray) -> np.ndarray:
    frames = frame_count(len(values))
    padded = np.zeros(frames * HOP, np.float64)
    padded[: len(values)] = values
    kernel = np.hanning(_WINDOW_FRAMES + 2)[1:-1]
    whole = np.convolve(padded.reshape(frames, HOP).mean(1), kernel / kernel.sum())
    return whole[(_WINDOW_FRAMES - 1) // 2 :][:frames]  # mode "same" would pad short recordings


def _filter_between(rest: np.ndarray, voice: np.ndarray) -> np.ndarray:
    """Return the filter, from _REACH[0] samples before to _REACH[1] after, that makes most of `rest` of the voice.

    Frequencies count alike, however strong the voice is there; where it has none, the filter is zero.
    """
    before, after = _REACH
    size = fft.next_fast_len(len(voice) + before + after, real=True)
    spectrum = fft.rfft(voice, size)
    power = np.abs(spectrum) ** 2
    flat = ndimage.uniform_filter1d(power, max(1, round(_FLATTENED_HERTZ * size / SAMPLE_RATE)), mode="nearest")
    weight = 1.0 / (flat + 1e-9 * flat.max() + 1e-20)
    own = fft.irfft(power * weight, size)[: before + after + 1]
    shared = fft.irfft(fft.rfft(rest, size) * spectrum.conj() * weight, size)
    own[0] *= 1.0 + _REGULARIZATION
    if own[0] <= 0.0:
        return np.zeros(0)
    return linalg.solve_toeplitz(own, np.concatenate([shared[size - before :], shared[: after + 1]]))
