"""Log-mel frames for the causal student, on the engine's grid: frame i is centred on 10 ms x i."""

import torch
from torch import Tensor

MEL_TRANSFORM, MEL_HOP = 400, 160  # samples at 16 kHz, as the listener's
_FLOOR = 1e-9


def log_mel_inside(windows: Tensor, filters: Tensor) -> Tensor:
    """Compute frames (frames, mels) of windowed samples (frames, MEL_TRANSFORM)."""
    power = torch.fft.rfft(windows).abs().square()
    return (power @ filters.T).clamp_min(_FLOOR).log10()
