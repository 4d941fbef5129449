"""Stereo placement: keep the position of a voice in a multichannel recording.

The mid (the mean of the channels) is converted. Each channel is modelled as the mid at some gain plus a residual
uncorrelated with it; the converted mid takes the same gains, and the residual (width, ambience) is kept unchanged.
"""

import numpy as np

from engine.units import HOP, frame_count

_WINDOW_FRAMES = 40  # 0.4 s: panning changes slowly


def mid_of(samples: np.ndarray) -> np.ndarray:
    """Return the mean of the channels: (channels, n) -> (n,)."""
    return samples.mean(0)


def place(converted: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Place the converted mid (n,) as in the source channels (channels, n); returns (channels, n)."""
    if source.shape[0] == 1:
        return converted[None]
    mid = mid_of(source)
    gains = np.stack([_gain(channel, mid) for channel in source])
    return (converted * gains + (source - gains * mid)).astype(np.float32)


def _gain(channel: np.ndarray, mid: np.ndarray) -> np.ndarray:
    """Return the least-squares gain of the mid in a channel, smoothed over time, per sample (n,)."""
    shared, power = _windowed_mean(channel * mid), _windowed_mean(mid * mid)
    gain = np.where(power > 1e-10, shared / np.maximum(power, 1e-10), 1.0)
    return np.interp(np.arange(len(mid)), np.arange(len(gain)) * HOP, gain).astype(np.float32)


def _windowed_mean(values: np.ndarray) -> np.ndarray:
    frames = frame_count(len(values))
    padded = np.zeros(frames * HOP, np.float64)
    padded[: len(values)] = values
    kernel = np.hanning(_WINDOW_FRAMES + 2)[1:-1]
    whole = np.convolve(padded.reshape(frames, HOP).mean(1), kernel / kernel.sum())
    return whole[(_WINDOW_FRAMES - 1) // 2 :][:frames]  # mode "same" would pad short recordings
