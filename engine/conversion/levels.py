"""The loudness of a take: as that of the recording, compared in the band that both can have.

On a graphics card it is measured and matched where the samples lie, as engine/analysis/loudness.py does it here; the
two round differently, and the processor's sound is the same to the bit whatever else is installed.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn

from engine.analysis.loudness import (
    FADE_DB,
    FLOOR_DB,
    HOPS_PER_WINDOW,
    MAX_BOOST_DB,
    MAX_CUT_DB,
    match_loudness,
    measure_loudness,
    top_filter,
    without_top,
)
from engine.audio.ambience import filtered
from engine.filters import through
from engine.units import HOP, frame_count

_TAPS = 2048  # of a low-pass, after which nothing is left of its response


@dataclass(frozen=True)
class Levels:
    """What the loudness of a take of a window follows; float32, where its samples are.

    recording_db (2, frames): of the recording, as `compared_levels` gives it; room (frames,): how far it is the room
    after a voice, 0..1; wander_db (frames,): by how much the take is louder, if it varies.
    """

    recording_db: Tensor
    room: Tensor
    wander_db: Tensor | None = None


def compared_levels(samples: np.ndarray, highest_hertz: float) -> np.ndarray:
    """Return the level of samples (n,) in decibels up to a frequency, and of all of them, float32 (2, frames)."""
    return np.stack([measure_loudness(without_top(samples, highest_hertz)), measure_loudness(samples)])


def matched(samples: Tensor, levels: Levels, highest_hertz: float, silence_db: float) -> Tensor:
    """Return the samples (n,) of a take as loud as the recording, where they are."""
    is_here = samples.device.type == "cpu"
    if is_here:
        own_db = torch.from_numpy(compared_levels(samples.numpy(), highest_hertz))
    else:
        own_db = torch.stack([measure_there(without_top_there(samples, highest_hertz)), measure_there(samples)])
    wanted_db, (compared_db, whole_db) = levels.recording_db[0], levels.recording_db - own_db
    # of a room, the top is no more than the recording's
    change_db = compared_db - levels.room * (compared_db - whole_db).clamp_min(0.0)
    if levels.wander_db is not None:
        wanted_db, change_db = wanted_db + levels.wander_db, change_db + levels.wander_db
    current_db = wanted_db - change_db
    if is_here:
        return torch.from_numpy(match_loudness(samples.numpy(), current_db.numpy(), wanted_db.numpy(), silence_db))
    return match_there(samples, current_db, wanted_db, silence_db)


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
