"""The timbre the base hears in recordings of a voice, and how it varies among them."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from engine.features.clips import Clip
from engine.networks.base import BaseModel
from engine.networks.timbre_encoder import timbre_input

SPREAD = 8  # directions in which a voice's timbre varies between recordings
_PIECE_FRAMES = 1000  # long recordings are heard piece by piece


def heard_timbre(base: BaseModel, clip: Clip) -> Tensor:
    """Timbre of one clip, (TIMBRE,)."""
    timbres, frames = heard_timbres(base, [clip])
    return mean_timbre(timbres, frames)


def heard_timbres(base: BaseModel, clips: Sequence[Clip]) -> tuple[Tensor, Tensor]:
    """Timbres of pieces of at most 10 s, (pieces, TIMBRE), and how many frames each has, (pieces,)."""
    pieces = [
        clip.envelope[first : first + _PIECE_FRAMES]
        for clip in clips
        for first in range(0, len(clip.envelope), _PIECE_FRAMES)
    ]
    with torch.no_grad():
        heard = [
            timbre_input(torch.from_numpy(piece.astype(np.float32))[None].to(base.device), 0.0) for piece in pieces
        ]
        frames = torch.tensor([float(len(piece)) for piece in pieces]).to(base.device)
        return torch.cat([base.timbre(piece) for piece in heard]), frames


def mean_timbre(timbres: Tensor, frames: Tensor) -> Tensor:
    """(pieces, TIMBRE) -> (TIMBRE,), by the pieces' lengths."""
    return (timbres * frames[:, None]).sum(0) / frames.sum()


def timbre_spread(timbres: Tensor, frames: Tensor) -> Tensor:
    """The directions (SPREAD, TIMBRE) in which timbres (pieces, TIMBRE) vary most, one standard deviation long each."""
    share = (frames / frames.sum()).sqrt()[:, None]
    centred = (timbres - mean_timbre(timbres, frames)) * share
    _, sizes, directions = torch.linalg.svd(centred, full_matrices=False)
    found = sizes[:SPREAD, None] * directions[:SPREAD]
    return torch.cat([found, found.new_zeros(SPREAD - len(found), timbres.shape[1])])
