"""Placement: put a converted voice where the voice was in a recording of several channels.

Each channel of the recording is taken apart by what it does to the voice:

    channel = gain over time * delayed voice + short filter * voice + rest

The first two are panning, polarity, delay, doubles and early reflections; they are applied to the converted voice. The
filter is the least-squares one (Wiener, 1949; Levinson, 1946). What of the rest follows the voice is replaced too
(engine/audio/ambience.py); noise and other sounds stay.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy
import torch
from torch import Tensor

from engine.audio.ambience import Ambience, ambience_of, filtered, voice_power
from engine.audio.channels import LARGEST_DELAY_S, delayed, share_of
from engine.filters import irfft, moving_mean, quick_size, rfft
from engine.units import HOP, SAMPLE_RATE, frame_count

_WINDOW_FRAMES = 40  # 0.4 s: panning changes slowly
_BEFORE, _AFTER = round(LARGEST_DELAY_S * SAMPLE_RATE), round(0.06 * SAMPLE_RATE)  # reach of the filter
_FLATTENED_HERTZ = 100.0  # the voice's spectrum is flattened by its mean over so much while the filter is sought
_REGULARIZATION = 1e-3  # of the flattened power
_PANNED = 0.2  # correlation from which the voice is there at a gain; unrelated sounds reach less
_EXPLAINED = 0.1  # of the rest's power, from which a filter is more than chance
_LEVELLED = 0.5, 2.0  # at most by so much
_SILENT, _EDGE = round(0.05 * SAMPLE_RATE), round(0.005 * SAMPLE_RATE)  # samples: shortest silence, and fades around it
_NOTHING = 1e-4  # of a channel's power, -40 dB: a rest without a voice worth looking for


@dataclass(frozen=True, eq=False)
class Placement:
    """The place of a voice in several channels; without any, the voice is all there is."""

    channels: "tuple[_Channel, ...]"

    def place(self, converted: Tensor) -> Tensor:
        """Return the channels (channels, n) with the converted voice (n,) in place of the recording's; all float32, and
        on the device where this is."""
        if not self.channels:
            return converted[None]
        return torch.stack([channel.with_voice(converted) for channel in self.channels])


def placement_in(samples: np.ndarray, folded: np.ndarray) -> Placement:
    """Find the place of the voice in samples (channels, n) at SAMPLE_RATE.

    folded: the voice in them (n,), as `fold` returns it.
    """
    if len(samples) == 1:
        return Placement(())
    voice = _Voice(folded)
    return Placement(tuple(_taken_apart(channel, voice, number) for number, channel in enumerate(samples)))


def keep_silence(placed: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Return placed channels (channels, n), silent where samples (channels, n) are digital silence for 50 ms or more.

    Otherwise what a filter or a slow gain spreads would be heard alone in a channel that rests. One channel stays.
    """
    if len(samples) == 1:
        return placed
    kept = placed
    for number, channel in enumerate(samples):
        silences = _silences(channel)
        if not len(silences):
            continue
        kept = placed.copy() if kept is placed else kept
        is_sound, near_sound = np.ones((2, len(channel)), np.float32)
        for start, stop in silences:
            is_sound[start:stop] = 0.0
            near_sound[max(0, start - _EDGE) : stop + _EDGE] = 0.0
        gain = moving_mean(near_sound, 2 * _EDGE + 1, "reflect")
        kept[number] = np.where(is_sound > 0.0, placed[number] * gain.clip(0.0, 1.0), np.float32(0.0))
    return kept


def _silences(channel: np.ndarray) -> np.ndarray:
    """Return where digital silence of 50 ms or more begins and ends in a channel (n,): (silences, 2)."""
    is_zero = np.concatenate([[False], channel == 0.0, [False]])
    edges = np.flatnonzero(is_zero[1:] != is_zero[:-1]).reshape(-1, 2)
    return edges[edges[:, 1] - edges[:, 0] >= _SILENT]


@dataclass(frozen=True, eq=False)
class _Channel:
    """What a channel does to the voice: delay in samples, gain (n,), taps of the filter (maybe none), rest (n,)."""

    delay: int
    gain: Tensor
    taps: Tensor
    rest: Ambience
    level: float = 1.0  # of what it holds of the recording's voice, against that voice

    def with_voice(self, voice: Tensor) -> Tensor:
        """Return the channel (n,) with this voice (n,), at the level of the recording's."""
        held = self.voice_part(voice)
        if len(self.taps):  # the filter is not known where the recording's voice has no energy, and this one may have
            powers = (_power_there(one).clamp_min(1e-20) for one in (voice, held))
            held = held * (self.level * torch.div(*powers).sqrt()).clamp(*_LEVELLED)
        return held + self.rest.of(voice)

    def voice_part(self, voice: Tensor) -> Tensor:
        """Return what the channel holds of a voice (n,), but for the rest."""
        held = self.gain * _moved(voice, self.delay)
        return held + filtered(voice, self.taps, _BEFORE) if len(self.taps) else held


@dataclass(frozen=True, eq=False)
class _Voice:
    """The voice (n,) of a recording, with what is computed of it once for all channels."""

    samples: np.ndarray

    @property
    def tensor(self) -> Tensor:
        return torch.from_numpy(np.asarray(self.samples, np.float32))

    @cached_property
    def power(self) -> np.ndarray:
        """The power in the bands of the ambience, (bands, frames)."""
        return voice_power(self.samples)

    @cached_property
    def size(self) -> int:
        return quick_size(len(self.samples) + _BEFORE + _AFTER)

    @cached_property
    def flattened(self) -> np.ndarray:
        """The conjugate spectrum, divided by the mean power around each frequency."""
        spectrum = rfft(self.samples, self.size)
        power = np.abs(spectrum) ** 2
        bins = max(1, round(_FLATTENED_HERTZ * self.size / SAMPLE_RATE))
        around = moving_mean(power, bins)
        return np.asarray(spectrum.conj() / (around + 1e-9 * around.max() + 1e-20))

    @cached_property
    def correlation(self) -> np.ndarray:
        """The voice's correlation with itself, flattened, at the delays of the filter."""
        own = irfft(rfft(self.samples, self.size) * self.flattened, self.size)[: _BEFORE + _AFTER + 1]
        own[0] *= 1.0 + _REGULARIZATION
        return own

    def filter_to(self, rest: np.ndarray) -> np.ndarray:
        """Return the taps that make most of `rest` (n,) of the voice, from _BEFORE samples before to _AFTER after.

        Frequencies count alike, however strong the voice is there; where it has nothing, the filter has nothing.
        """
        shared = irfft(rfft(rest, self.size) * self.flattened, self.size)
        if self.correlation[0] <= 0.0:
            return np.zeros(0)
        return scipy.linalg.solve_toeplitz(self.correlation, np.concatenate([shared[-_BEFORE:], shared[: _AFTER + 1]]))


def _taken_apart(channel: np.ndarray, voice: _Voice, number: int) -> _Channel:
    share = share_of(channel, voice.samples, SAMPLE_RATE)
    is_panned = abs(share.correlation) > _PANNED
    gain = _gain(channel, delayed(voice.samples, share.delay)) if is_panned else np.zeros(len(channel), np.float32)
    found = _Channel(share.delay, torch.from_numpy(gain), torch.zeros(0), Ambience(torch.zeros(0)))
    rest = channel - found.voice_part(voice.tensor).numpy()
    if _power(rest) > _NOTHING * _power(channel):
        explained = replace(found, taps=torch.from_numpy(voice.filter_to(rest)).float())
        held = explained.voice_part(voice.tensor).numpy()
        if _power(channel - held) < (1.0 - _EXPLAINED) * _power(rest):
            found, rest = replace(explained, level=_level(held, voice.samples)), channel - held
    if _power(rest) > _NOTHING * _power(channel):
        return replace(found, rest=ambience_of(rest, voice.samples, number, voice.power))
    return replace(found, rest=Ambience(torch.from_numpy(np.asarray(rest, np.float32))))


def _moved(voice: Tensor, delay: int) -> Tensor:
    """Return a voice (n,) later, or earlier for a negative delay; see `delayed`."""
    if abs(delay) >= len(voice):
        return torch.zeros_like(voice)
    return torch.nn.functional.pad(voice, (delay, -delay))


def _level(held: np.ndarray, voice: np.ndarray) -> float:
    return float(np.sqrt(_power(held) / max(_power(voice), 1e-20)))


def _power(samples: np.ndarray) -> float:
    return float(np.square(samples).sum())  # which no number of threads changes, unlike a product


def _power_there(samples: Tensor) -> Tensor:
    """Return the power of samples (n,) in pieces that are too short for several threads."""
    padded = torch.nn.functional.pad(samples.square(), (0, -len(samples) % HOP))
    return padded.view(-1, HOP).sum(1).sum()


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
