"""Log-mel frames for the causal student, on the engine's grid: frame i is centred on 10 ms x i."""

import numpy as np
import torch
from torch import Tensor

MEL_TRANSFORM, MEL_HOP = 400, 160  # samples at 16 kHz, as the listener's
_FLOOR = 1e-9
_ACTIVE_DECADES = 3.0  # below the loud frames (30 dB)


def log_mel(samples: Tensor, filters: Tensor) -> Tensor:
    """Compute frames (frames, mels) in decades of power from samples (n,) at 16 kHz with filters (mels, bins)."""
    window = torch.hann_window(MEL_TRANSFORM)
    padded = torch.nn.functional.pad(samples, (MEL_TRANSFORM // 2, MEL_TRANSFORM // 2))
    return log_mel_inside(padded.unfold(0, MEL_TRANSFORM, MEL_HOP) * window, filters)


def log_mel_inside(windows: Tensor, filters: Tensor) -> Tensor:
    """Compute frames (frames, mels) of windowed samples (frames, MEL_TRANSFORM)."""
    power = torch.fft.rfft(windows).abs().square()
    return (power @ filters.T).clamp_min(_FLOOR).log10()


def active_mean(frames: np.ndarray) -> np.ndarray:
    """Average the frames (frames, mels) that are within 30 dB of the loud ones, (mels,)."""
    loudness = frames.max(1)
    return frames[loudness > np.percentile(loudness, 95) - _ACTIVE_DECADES].mean(0)
