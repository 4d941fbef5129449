"""What excites the synthesizer's filters: band-limited pulses, noise, and the frames that recordings are cut into."""

import numpy as np
import torch
from torch import Tensor

from engine.units import HOP, SAMPLE_RATE

_NOISE_BLOCK = 1 << 16
_BLOCKS = 1 << 62  # those before the recording count down from here
_FRAMES_AT_ONCE = 256


def pulse_train(hertz: Tensor, start_cycles: Tensor | float = 0.0) -> tuple[Tensor, Tensor]:
    """Generate band-limited pulses of unit power density from frame pitch (batch, frames).

    Returns samples (batch, (frames - 1) * HOP) and the phase in cycles at the end. The sum of all cosines below half
    the sample rate in closed form (discrete summation; Moorer, 1976); the highest one fades in and out, so that a glide
    makes no clicks.
    """
    batch, _frames = hertz.shape
    log_hertz = hertz.double().log2()
    fraction = torch.arange(HOP, dtype=torch.float64, device=hertz.device) / HOP
    glide = log_hertz[:, :-1, None] * (1 - fraction) + log_hertz[:, 1:, None] * fraction
    frequency = torch.exp2(glide).reshape(batch, -1)
    cycles = torch.cumsum(frequency / SAMPLE_RATE, 1)
    start = torch.as_tensor(start_cycles, dtype=torch.float64, device=hertz.device).reshape(-1, 1)
    cycles = cycles - cycles[:, :1] + start + frequency[:, :1] / SAMPLE_RATE
    end = _fraction(cycles[:, -1])
    harmonics = 0.5 * SAMPLE_RATE / frequency
    whole = harmonics.floor()
    cycles = _fraction(cycles)
    phase = (cycles * (2 * torch.pi)).float()
    whole_f, top = whole.float(), (harmonics - whole).float()
    half = torch.sin(phase / 2)
    near_zero = half.abs() < 1e-4
    # whole + 1/2 cycles of a large phase lose precision in float32, so reduce them before the sine
    upper = torch.sin((_fraction((whole + 0.5) * cycles) * (2 * torch.pi)).float())
    total = upper / (2 * torch.where(near_zero, torch.ones_like(half), half)) - 0.5
    total = torch.where(near_zero, whole_f, total)
    highest = torch.cos((_fraction((whole + 1) * cycles) * (2 * torch.pi)).float())
    # a harmonic of amplitude 1 has power 1/2 in a band as wide as the pitch; unit density is 1 per half the rate
    gain = (2 * frequency / (0.5 * SAMPLE_RATE)).sqrt().float()
    return (total + top * highest) * gain, end


def _fraction(cycles: Tensor) -> Tensor:
    """Return the fractional part of cycles, at least zero; cheaper than a remainder."""
    return cycles - cycles.floor()


def noise_at(first_sample: int, sample_count: int, seed: int) -> np.ndarray:
    """Return white noise of unit variance, float32 (sample_count,), fixed by the seed and the position alone.

    So windows of any size get the same noise, and the same seed gives the same bytes.
    """
    first_block, last_block = first_sample // _NOISE_BLOCK, (first_sample + max(sample_count, 1) - 1) // _NOISE_BLOCK
    blocks = [
        np.random.Generator(np.random.Philox(key=[seed, block % _BLOCKS])).standard_normal(_NOISE_BLOCK, np.float32)
        for block in range(first_block, last_block + 1)
    ]
    start = first_sample - first_block * _NOISE_BLOCK
    return np.concatenate(blocks)[start : start + sample_count]


def cycles_per_frame(hertz: np.ndarray, start: float) -> np.ndarray:
    """Return the unwrapped phase in cycles of `pulse_train` at each frame centre, float64 (frames,)."""
    log_hertz = np.log2(hertz.astype(np.float64))
    fraction = np.arange(HOP) / HOP
    steps = np.zeros(len(hertz))
    for first in range(0, len(hertz) - 1, _FRAMES_AT_ONCE):  # in blocks to limit memory use
        begins, ends = log_hertz[first:-1][:_FRAMES_AT_ONCE, None], log_hertz[first + 1 :][:_FRAMES_AT_ONCE, None]
        glides = np.exp2(begins * (1 - fraction) + ends * fraction)
        steps[first + 1 : first + 1 + len(glides)] = glides.sum(1) / SAMPLE_RATE
    return start + np.cumsum(steps)
