"""Pieces of a voice's recordings: cut for each epoch, and gathered as the batch of a step.

On the processor the recordings lie where the analysis left them. On another device they lie in one piece, and what a
step needs is gathered there: only the numbers of its rows are copied, and those of a whole epoch at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from engine.analysis.envelope import ACTIVE_NEPERS, loudness_of
from engine.features.clips import Clip
from engine.networks.envelope_decoder import prosody_input
from engine.units import hertz_to_semitones

PIECE_FRAMES = 160  # 1.6 s, the length of the foreign pieces too
_ACTIVE_SHARE = 0.05  # of its frames; quieter pieces are left out

Piece = tuple[int, int]  # number of the clip, first frame


@dataclass(frozen=True)
class Batch:
    """Pieces of the voice in one step, float32."""

    envelope: Tensor  # (batch, frames, BANDS)
    content: Tensor  # (batch, frames, CONTENT): of one augmentation or another
    prosody: Tensor  # (batch, frames, PROSODY)


def epoch_pieces(clips: Sequence[Clip], seed: int, epoch: int, loud: Sequence[np.ndarray] | None = None) -> list[Piece]:
    """Cut all clips into shuffled pieces of PIECE_FRAMES, with other boundaries in each epoch.

    Each frame is used about once. Nearly silent pieces are left out; a clip shorter than a piece is one piece.
    loud: what `loud_frames` gives for each clip, if it is known.
    """
    choices = np.random.default_rng([seed, epoch, 11])
    pieces: list[Piece] = []
    for number, clip in enumerate(clips):
        room = max(len(clip.pitch) - PIECE_FRAMES, 0)
        count = -(-len(clip.pitch) // PIECE_FRAMES)
        spacing = room / max(count - 1, 1)
        move = choices.uniform(-0.5, 0.5)  # the same for all pieces, so that they neither overlap nor leave gaps
        firsts = np.clip((np.arange(count) + move) * spacing, 0, room).round().astype(int)
        heard = loud_frames(clip) if loud is None else loud[number]
        pieces += [
            (number, int(first)) for first in firsts if heard[first : first + PIECE_FRAMES].mean() > _ACTIVE_SHARE
        ]
    return [pieces[i] for i in choices.permutation(len(pieces))]


def make_batch(clips: Sequence[Clip], pieces: Sequence[Piece], seed: int, step: int) -> Batch:
    """Gather the inputs of the networks for some pieces, on the CPU; deterministic in seed and step."""
    cut = [(clips[clip], _rows(clips[clip], first)) for clip, first in pieces]
    envelope = torch.from_numpy(np.stack([clip.envelope[rows] for clip, rows in cut]).astype(np.float32))
    hertz = np.stack([clip.pitch.hertz[rows] for clip, rows in cut])
    voicing = torch.from_numpy(np.stack([clip.pitch.voicing[rows] for clip, rows in cut]))
    semitones = torch.from_numpy(hertz_to_semitones(hertz).astype(np.float32))
    drawn = drawn_augmentations(clips, pieces, seed, step)
    encoded = [clip.content[number, rows] for (clip, rows), number in zip(cut, drawn, strict=True)]
    content = torch.from_numpy(np.stack(encoded).astype(np.float32))
    return Batch(envelope, content, prosody_input(semitones, voicing, loudness_of(envelope)))


def drawn_augmentations(clips: Sequence[Clip], pieces: Sequence[Piece], seed: int, step: int) -> list[int]:
    """Draw for each piece of a step in which of its clip's augmentations it is used."""
    random = np.random.default_rng([seed, step, 13])
    return [int(random.integers(len(clips[clip].content))) for clip, _ in pieces]


class PackedClips:
    """The clips of a voice in one piece on a device: 250 bytes per frame, and 128 more per augmentation."""

    def __init__(self, clips: Sequence[Clip], device: torch.device) -> None:
        """Copy the clips to the device."""
        self.lengths = np.array([len(clip.pitch) for clip in clips])
        versions = np.array([len(clip.content) for clip in clips])
        self.firsts = np.cumsum(self.lengths) - self.lengths
        self.content_firsts = np.cumsum(self.lengths * versions) - self.lengths * versions

        def joined(arrays: list[np.ndarray]) -> Tensor:
            return torch.from_numpy(np.concatenate(arrays)).to(device)

        self.envelope = joined([clip.envelope for clip in clips])
        self.content = joined([clip.content.reshape(-1, clip.content.shape[-1]) for clip in clips])
        self.semitones = joined([hertz_to_semitones(clip.pitch.hertz).astype(np.float32) for clip in clips])
        self.voicing = joined([clip.pitch.voicing for clip in clips])

    def places(self, pieces: Sequence[Piece], augmentations: Sequence[int]) -> Tensor:
        """Return on the processor where pieces lie, in the augmentations that were drawn, int64 (4, pieces)."""
        clip, first = np.array(pieces).T
        lengths = self.lengths[clip]
        content = self.content_firsts[clip] + np.array(augmentations) * lengths
        return torch.from_numpy(np.stack([first, lengths, self.firsts[clip], content]))

    def batch(self, places: Tensor) -> Batch:
        """Gather what `make_batch` does, to the bit, from `places` on the device."""
        first, lengths, frames, content = places[:, :, None]
        within = (first + torch.arange(PIECE_FRAMES, device=places.device)) % lengths
        rows = frames + within
        envelope = self.envelope[rows].float()
        prosody = prosody_input(self.semitones[rows], self.voicing[rows], loudness_of(envelope))
        return Batch(envelope, self.content[content + within].float(), prosody)


def loud_frames(clip: Clip) -> np.ndarray:
    """Mark the frames within 30 dB of the recording's level, bool (frames,)."""
    loud: np.ndarray = (loudness_of(torch.from_numpy(clip.envelope.astype(np.float32))) > ACTIVE_NEPERS).numpy()
    return loud


def _rows(clip: Clip, first: int) -> np.ndarray:
    """Return the frames of a piece; a shorter clip is repeated."""
    rows: np.ndarray = (first + np.arange(PIECE_FRAMES)) % len(clip.pitch)
    return rows
