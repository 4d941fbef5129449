"""The loudness of a take: as that of the recording, compared in the band that both can have."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from engine.analysis.loudness import match_loudness, measure_loudness, without_top
from engine.analysis.loudness_there import match_there, measure_there, without_top_there


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
