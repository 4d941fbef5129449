"""What chance decides in the steps of a training, drawn on the processor and copied to the device in one go.

Each choice has a generator of its own, seeded with the number of its step: the same training draws the same, in
whatever portions its steps are drawn, and on any device.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from engine.features.clips import Clip
from engine.features.retrieval import FrameSearch, RetrievalFrames
from engine.training.pieces import PIECE_FRAMES, PackedClips, Piece, drawn_augmentations

_ELSEWHERE_FRAMES = 300  # a frame nearer than this in the same recording belongs to the same sound


@dataclass(frozen=True)
class StepDraws:
    """The choices of one step; whole numbers are int64, others float32."""

    places: Tensor  # (4, pieces) as `PackedClips.places` gives them; (4, 0) where the clips are not packed
    retrieved: Tensor  # (3, some): which pieces are moved to their nearest frames, and the compared ones left out
    strengths: Tensor  # (some,): how far, 0..1
    foreign: Tensor  # (count,): pieces of other speakers
    foreign_strengths: Tensor  # (count,)


@dataclass(frozen=True)
class Step:
    """A step of the training: its number, its pieces, and what was drawn for it."""

    number: int
    pieces: Sequence[Piece]
    drawn: StepDraws


@dataclass(frozen=True)
class Choices:
    """What is chosen from: the voice's clips and retrieval frames, and `everything` of other speakers."""

    seed: int
    clips: Sequence[Clip]
    packed: PackedClips | None
    own: RetrievalFrames
    search: FrameSearch
    everything: int

    def draw(self, number: int, pieces: Sequence[Piece], foreign: int) -> StepDraws:
        """Draw for one step, with at most so many foreign pieces, on the processor."""
        places = torch.zeros(4, 0, dtype=torch.int64)
        if self.packed is not None:
            places = self.packed.places(pieces, drawn_augmentations(self.clips, pieces, self.seed, number))
        retrieved, strengths = self._retrieved(number, pieces)
        choices = np.random.default_rng([self.seed, number, 5])
        chosen = choices.choice(self.everything, min(foreign, self.everything), replace=False)
        how_far = choices.uniform(0.0, 1.0, len(chosen)).astype(np.float32)
        return StepDraws(places, retrieved, strengths, torch.from_numpy(chosen), torch.from_numpy(how_far))

    def _retrieved(self, number: int, pieces: Sequence[Piece]) -> tuple[Tensor, Tensor]:
        """Choose half of the pieces, and how far each is moved to its nearest frames elsewhere in the recordings."""
        choices = np.random.default_rng([self.seed, number, 7])
        rows, strengths = [], []
        for place, (clip, first) in enumerate(pieces):
            if (strength := choices.uniform(-1.0, 1.0)) > 0:
                rows.append((place, *self.search.compared(around(self.own, clip, first, PIECE_FRAMES))))
                strengths.append(strength)
        kept = np.array(rows, np.int64).reshape(-1, 3)
        return torch.from_numpy(kept.T.copy()), torch.tensor(strengths, dtype=torch.float32)


def around(own: RetrievalFrames, clip: int, first: int, frames: int) -> slice:
    """Return the rows of a voice's frames that belong to a part of a clip or to its surroundings."""
    return own.near(clip, first - _ELSEWHERE_FRAMES, first + frames + _ELSEWHERE_FRAMES)
