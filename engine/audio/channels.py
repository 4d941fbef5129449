"""Channels: fold several channels to the one voice that they hold.

The mean of the channels would lose an inverted voice, comb one that reaches the channels at different times, and add
the noise of channels without it. So channels that hold the same sound are brought into phase and in time before they
are added, and others are left out. Delays are found by generalized cross-correlation with phase transform (Knapp and
Carter, 1976).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.filters import butterworth, irfft, quick_size, rfft, through
from engine.units import SAMPLE_RATE

Samples = npt.NDArray[np.float32]  # (channels, samples), full scale is -1..1

LARGEST_DELAY_S = 0.03  # between channels; what comes later is an echo
_VOICE_HERTZ = (200.0, 4000.0)  # where channels are compared: without rumble and hiss
_FRAME_S = 0.1
_QUIET, _LOUD = 10, 90  # percentiles of the power
ALIKE = 0.4  # correlation from which a channel is added
_IN_TIME = 0.95  # correlation from which no delay is looked for
_CLEARER = 0.1  # by which a delay has to raise the correlation
_AUDIBLE = 0.5  # of the strongest channel's power: the first such channel leads, so that equal ones do not alternate
_WEAK = 0.1  # of the mean strength: weaker frequencies keep their weight in the search for a delay


@dataclass(frozen=True)
class Share:
    """What a channel holds of another one's sound: `gain` times that sound, `delay` samples later.

    correlation: of the two in time, -1..1.
    """

    gain: float
    delay: int
    correlation: float


def fold(samples: np.ndarray, rate: int = SAMPLE_RATE) -> np.ndarray:
    """Return the voice in samples (channels, n) at `rate`, at its level in the channel that leads: float32 (n,).

    For equal channels it is their mean.

    >>> voice = np.sin(np.arange(4000) / 20).astype(np.float32)
    >>> bool(np.allclose(fold(np.stack([voice, -voice])), voice))
    True
    """
    if len(samples) == 1:
        return samples[0]
    leading, shares = shares_of(samples, rate)
    total, weight = np.zeros(samples.shape[1]), np.zeros(samples.shape[1])
    for number, share in shares.items():
        if abs(share.correlation) < ALIKE:
            continue
        total += share.gain * delayed(samples[number], -share.delay)
        weight += share.gain**2 * delayed(np.ones(len(weight)), -share.delay)
    return np.asarray(total / weight, np.float32) if weight.all() else samples[leading]


def delayed(samples: np.ndarray, delay: int) -> np.ndarray:
    """Return samples (n,) `delay` samples later, or earlier for a negative delay, of the same length."""
    if delay == 0:
        return samples
    if abs(delay) >= len(samples):
        return np.zeros_like(samples)
    kept = samples[: len(samples) - delay] if delay > 0 else samples[-delay:]
    return np.pad(kept, (delay, 0) if delay > 0 else (0, -delay))


def share_of(channel: np.ndarray, sound: np.ndarray, rate: int) -> Share:
    """Return what a channel (n,) holds of a sound (n,), in time or up to LARGEST_DELAY_S earlier or later."""
    found = _share_at(channel, sound, 0)
    if abs(found.correlation) < _IN_TIME:
        other = _share_at(channel, sound, _delay_between(channel, sound, rate))
        if abs(other.correlation) > abs(found.correlation) + _CLEARER:
            return other
    return found


def shares_of(samples: np.ndarray, rate: int) -> tuple[int, dict[int, Share]]:
    """Return the number of the channel that leads in samples (channels, n), and what each channel holds of it: those
    with a correlation of at least ALIKE hold the same voice."""
    compared = _in_voice_band(samples, rate)
    strength = np.array([_moving_power(channel, rate) for channel in compared])
    leading = int(np.argmax(strength >= _AUDIBLE * strength.max()))
    return leading, {number: share_of(channel, compared[leading], rate) for number, channel in enumerate(compared)}


def _in_voice_band(samples: np.ndarray, rate: int) -> np.ndarray:
    low, high = _VOICE_HERTZ
    if rate < 4 * low:
        return samples
    band = (low, min(high, 0.45 * rate))
    sections = butterworth(2, band, "bandpass", rate)
    return through(sections, samples)


def _moving_power(channel: np.ndarray, rate: int) -> float:
    """Return the power of a channel (n,) by how much it moves: all of it for a voice with pauses, little for noise."""
    length = min(len(channel), round(_FRAME_S * rate))
    if not length:
        return 0.0
    power = (channel[: len(channel) // length * length].reshape(-1, length) ** 2).mean(1)
    quiet, loud = np.percentile(power, (_QUIET, _LOUD))
    return float((loud - quiet) ** 2 / loud) if loud > 0.0 else 0.0


def _share_at(channel: np.ndarray, sound: np.ndarray, delay: int) -> Share:
    moved = delayed(sound, delay)
    shared, power, own = (_dot(*both) for both in ((channel, moved), (moved, moved), (channel, channel)))
    if power <= 0.0 or own <= 0.0:
        return Share(0.0, delay, 0.0)
    return Share(shared / power, delay, shared / float(np.sqrt(power * own)))


def _dot(one: np.ndarray, other: np.ndarray) -> float:
    """Return the sum of products, which no number of threads changes."""
    return float((one * other).sum())


def _delay_between(channel: np.ndarray, sound: np.ndarray, rate: int) -> int:
    """Return by how many samples a channel (n,) lies later than a sound (n,), within LARGEST_DELAY_S."""
    most = min(round(LARGEST_DELAY_S * rate), len(sound) - 1)
    size = quick_size(len(sound) + most)
    crossed = rfft(channel, size) * np.conj(rfft(sound, size))
    strength = np.abs(crossed)
    correlation = irfft(crossed / np.maximum(strength, _WEAK * strength.mean() + 1e-20), size)
    near = np.concatenate([correlation[size - most :], correlation[: most + 1]])
    return int(np.argmax(np.abs(near))) - most
