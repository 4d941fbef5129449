"""What excites the synthesizer's filters: band-limited pulses, noise, and the frames that recordings are cut into."""

import numpy as np
import torch
from torch import Tensor

from engine.units import HOP, SAMPLE_RATE

_NOISE_BLOCK = 1 << 16
_BLOCKS = 1 << 62  # those before the recording count down from here
_STEADY = 1e-10  # nepers: as flat as a glide may be, which is divided by its rise


def pulse_train(
    hertz: Tensor, start_cycles: Tensor | float = 0.0, device: torch.device | None = None
) -> tuple[Tensor, Tensor]:
    """Generate band-limited pulses of unit power density from frame pitch (batch, frames).

    Returns samples (batch, (frames - 1) * HOP) on the device, by default that of the pitch, and the phase in cycles at
    the end, float64 beside the pitch. The sum of all cosines below half the sample rate in closed form (discrete
    summation; Moorer, 1976); the highest one fades in and out, so that a glide makes no clicks.

    Only what there is one of for a frame is computed in 64 bits, where the pitch is: not every device has them.
    """
    curves, end = pulse_curves(hertz, start_cycles)
    return pulses_of(curves.to(device)), end


def pulse_curves(hertz: Tensor, start_cycles: Tensor | float = 0.0) -> tuple[Tensor, Tensor]:
    """Return of `pulse_train` what there is one of for a frame, float32 (4, batch, frames - 1), and the phase at the
    end."""
    rise, scale = _glides(hertz)
    start = torch.as_tensor(start_cycles, dtype=torch.float64, device=hertz.device).reshape(-1, 1)
    begins = _at_frames(rise, scale, start)
    # at the first sample of a glide as many harmonics fit below half the rate; each sample is the end of a step
    harmonics = 0.5 * SAMPLE_RATE / hertz[:, :-1].double() * torch.exp(rise / HOP)
    curves = torch.stack([rise, scale, _fraction(begins[:, :-1]), harmonics]).float()
    return curves, _fraction(begins[:, -1])


def pulses_of(curves: Tensor) -> Tensor:
    """Return the samples (batch, (frames - 1) * HOP) of four curves (4, batch, frames - 1), where these are."""
    rise, scale, begins, harmonics = curves[..., None]
    share = torch.arange(1, HOP + 1, device=curves.device) / HOP
    risen = torch.expm1(rise * share)
    cycles = torch.addcmul(begins, scale, risen)
    cycles = cycles - cycles.round()
    harmonics = harmonics / (1.0 + risen)
    whole = harmonics.floor()
    half = torch.sin(torch.pi * cycles)
    near_zero = half.abs() < 1e-4
    # whole + 1/2 cycles of a large phase lose precision, so reduce them before the sine
    upper = (whole + 0.5) * cycles
    upper = torch.sin(2 * torch.pi * (upper - upper.round()))
    total = torch.where(near_zero, whole, upper / (2 * torch.where(near_zero, 1.0, half)) - 0.5)
    highest = (whole + 1.0) * cycles
    highest = torch.cos(2 * torch.pi * (highest - highest.round()))
    # a harmonic of amplitude 1 has power 1/2 in a band as wide as the pitch; unit density is 1 per half the rate
    return ((total + (harmonics - whole) * highest) * torch.rsqrt(0.5 * harmonics)).flatten(1)


def _fraction(cycles: Tensor) -> Tensor:
    """Return the fractional part of cycles, at least zero; cheaper than a remainder."""
    return cycles - cycles.floor()


def noise_at(first_sample: int, sample_count: int, seed: int) -> np.ndarray:
    """Return white noise of unit variance, float32 (sample_count,), fixed by the seed and the position alone.

    So windows of any size get the same noise, and the same seed gives the same bytes.
    """
    stop = first_sample + max(sample_count, 1)
    first_block, last_block = first_sample // _NOISE_BLOCK, (stop - 1) // _NOISE_BLOCK
    blocks = [
        np.random.Generator(np.random.Philox(key=[seed, block % _BLOCKS])).standard_normal(
            min(_NOISE_BLOCK, stop - block * _NOISE_BLOCK), np.float32
        )
        for block in range(first_block, last_block + 1)
    ]
    start = first_sample - first_block * _NOISE_BLOCK
    return np.concatenate(blocks)[start : start + sample_count]


def cycles_per_frame(hertz: np.ndarray, start: float) -> np.ndarray:
    """Return the unwrapped phase in cycles of `pulse_train` at each frame centre, float64 (frames,)."""
    begins = torch.tensor([start], dtype=torch.float64)
    return _at_frames(*_glides(torch.from_numpy(hertz.astype(np.float64))), begins).numpy()


def cycles_between(hertz: np.ndarray, parts: int) -> np.ndarray:
    """Return the phase of `pulse_train` at `parts` equal steps from each frame to the next, and at the last frame,
    float64 (parts * (frames - 1) + 1,)."""
    rise, scale = _glides(torch.from_numpy(hertz.astype(np.float64)))
    frames = _at_frames(rise, scale, torch.zeros(1))
    within = scale[:, None] * torch.expm1(rise[:, None] * torch.arange(parts) / parts)
    return torch.cat([(frames[:-1, None] + within).flatten(), frames[-1:]]).numpy()


def _glides(hertz: Tensor) -> tuple[Tensor, Tensor]:
    """Return how the phase runs on from each frame to the next, float64 (..., frames - 1) each: the nepers by which the
    pitch rises, evenly, and a scale. After a share of the samples, `scale * expm1(share * nepers)` cycles are past."""
    hertz = hertz.double()
    rise = hertz.log().diff()
    rise = torch.where(rise.abs() < _STEADY, _STEADY, rise)
    return rise, hertz[..., :-1] / SAMPLE_RATE / torch.expm1(rise / HOP)


def _at_frames(rise: Tensor, scale: Tensor, start: Tensor) -> Tensor:
    """Return the phase in cycles at each frame, float64 (..., frames)."""
    start = start.double().expand(*rise.shape[:-1], 1)
    return torch.cat([start, start + (scale * torch.expm1(rise)).cumsum(-1)], -1)
