"""Placement: where a voice stands in a recording of several channels.

The mid (the mean of the channels) is converted. Each channel is the mid at some gain plus a rest that has nothing to do
with it; the converted mid takes the same gains, and the rest (width, ambience) is kept as it is.
"""

import numpy as np

from engine.units import HOP, frame_count

_WINDOW_FRAMES = 40  # 0.4 s: panning is slow


def mid_of(samples: np.ndarray) -> np.ndarray:
    """The mean of the channels: (channels, n) -> (n,)."""
    return samples.mean(0)


def place(converted: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Converted mid (n,) and source channels (channels, n) -> channels (channels, n), each where the source had it."""
    if source.shape[0] == 1:
        return converted[None]
    mid = mid_of(source)
    gains = np.stack([_gain(channel, mid) for channel in source])
    return (converted * gains + (source - gains * mid)).astype(np.float32)


def _gain(channel: np.ndarray, mid: np.ndarray) -> np.ndarray:
    """Least-squares gain of the mid in a channel, smooth over time, per sample (n,)."""
    shared, power = _windowed_mean(channel * mid), _windowed_mean(mid * mid)
    gain = np.where(power > 1e-10, shared / np.maximum(power, 1e-10), 1.0)
    return np.interp(np.arange(len(mid)), np.arange(len(gain)) * HOP, gain).astype(np.float32)


def _windowed_mean(values: np.ndarray) -> np.ndarray:
    frames = frame_count(len(values))
    padded = np.zeros(frames * HOP, np.float64)
    padded[: len(values)] = values
    kernel = np.hanning(_WINDOW_FRAMES + 2)[1:-1]
    whole = np.convolve(padded.reshape(frames, HOP).mean(1), kernel / kernel.sum())
    return whole[(_WINDOW_FRAMES - 1) // 2 :][:frames]  # not mode "same": for a short recording that is the kernel's
