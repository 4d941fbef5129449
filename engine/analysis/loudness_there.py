"""Loudness measured and matched on a graphics card, where the samples lie: what engine/analysis/loudness.py does."""

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn

from engine.analysis.loudness import FADE_DB, FLOOR_DB, HOPS_PER_WINDOW, MAX_BOOST_DB, MAX_CUT_DB, top_filter
from engine.audio.ambience import filtered
from engine.filters import through
from engine.units import HOP, frame_count

_TAPS = 2048  # of a low-pass, after which nothing is left of its response


def measure_there(samples: Tensor) -> Tensor:
    """Measure the level of samples (samples,) in decibels, float32 (frames,); see `measure_loudness`."""
    power = _windowed(samples.square()) / _windowed(torch.ones_like(samples)).clamp_min(1e-9)
    return (20.0 * power.sqrt().clamp_min(1e-12).log10()).clamp_min(FLOOR_DB)


def match_there(samples: Tensor, current_db: Tensor, wanted_db: Tensor, floor_db: float) -> Tensor:
    """Change the loudness of samples (samples,) from one curve (frames,) to another; see `match_loudness`."""
    change_db = _smooth((wanted_db - current_db).clamp(-MAX_CUT_DB, MAX_BOOST_DB))
    open_share = _smooth(((wanted_db - floor_db) / FADE_DB + 1.0).clamp(0.0, 1.0))
    gain = 10.0 ** (change_db / 20.0) * open_share
    steps = torch.cat([gain.diff(), gain.new_zeros(1)]) / HOP
    ramps = torch.addcmul(gain[:, None], steps[:, None], torch.arange(HOP, device=gain.device))
    return samples * ramps.flatten()[: len(samples)]


def without_top_there(samples: Tensor, hertz: float) -> Tensor:
    """Low-pass samples (samples,) at a frequency; see `without_top`."""
    return filtered(samples, _top_taps(hertz, samples.device))


def _windowed(values: Tensor) -> Tensor:
    """Sum values (samples,) under the window centred on each frame: (frames,)."""
    frames, reach = frame_count(len(values)), HOPS_PER_WINDOW // 2 * HOP
    length = HOPS_PER_WINDOW * HOP
    padded = nn.functional.pad(values, (reach, (frames - 1) * HOP + length - reach - len(values)))
    window = torch.sin(torch.pi * (torch.arange(length, device=values.device) + 0.5) / length).square() / length
    return (padded.unfold(0, length, HOP) * window).sum(1)


def _smooth(curve: Tensor) -> Tensor:
    """Smooth a curve (frames,) with the kernel of `match_loudness`, repeating its end values."""
    kernel = torch.hann_window(7, periodic=False, device=curve.device)[1:-1]
    held = torch.cat([curve[:1].expand(2), curve, curve[-1:].expand(2)])
    return (held.unfold(0, 5, 1) * (kernel / kernel.sum())).sum(1)


@lru_cache(maxsize=4)
def _top_taps(hertz: float, device: torch.device) -> Tensor:
    impulse = np.zeros(_TAPS)
    impulse[0] = 1.0
    with torch.inference_mode(False):
        return torch.from_numpy(through(top_filter(hertz), impulse).astype(np.float32)).to(device)
