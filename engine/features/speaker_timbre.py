"""Speaker timbre: encode the timbre of recordings, and how it varies between them."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from engine.features.clips import Clip
from engine.networks.base import BaseModel
from engine.networks.timbre_encoder import timbre_input

SPREAD = 8  # directions in which a voice's timbre varies between recordings
_PIECE_FRAMES = 1000  # long recordings are encoded piece by piece


def speaker_timbre(base: BaseModel, clip: Clip) -> Tensor:
    """Encode the timbre of one clip, (TIMBRE,)."""
    timbres, frames = speaker_timbres(base, [clip])
    return mean_timbre(timbres, frames)


def speaker_timbres(base: BaseModel, clips: Sequence[Clip]) -> tuple[Tensor, Tensor]:
    """Encode pieces of at most 10 s, (pieces, TIMBRE), and count the frames of each, (pieces,)."""
    pieces = [
        clip.envelope[first : first + _PIECE_FRAMES]
        for clip in clips
        for first in range(0, len(clip.envelope), _PIECE_FRAMES)
    ]
    with torch.no_grad():
        inputs = [
            timbre_input(torch.from_numpy(piece.astype(np.float32))[None].to(base.device), 0.0) for piece in pieces
        ]
        frames = torch.tensor([float(len(piece)) for piece in pieces]).to(base.device)
        return torch.cat([base.timbre(piece) for piece in inputs]), frames


def mean_timbre(timbres: Tensor, frames: Tensor) -> Tensor:
    """Average timbres (pieces, TIMBRE) by the lengths of the pieces, (TIMBRE,)."""
    return (timbres * frames[:, None]).sum(0) / frames.sum()


def timbre_spread(timbres: Tensor, frames: Tensor) -> Tensor:
    """Find the directions (SPREAD, TIMBRE) in which timbres vary most, each one standard deviation long."""
    share = (frames / frames.sum()).sqrt()[:, None]
    centred = (timbres - mean_timbre(timbres, frames)) * share
    _, sizes, directions = torch.linalg.svd(centred, full_matrices=False)
    found = sizes[:SPREAD, None] * directions[:SPREAD]
    return torch.cat([found, found.new_zeros(SPREAD - len(found), timbres.shape[1])])
