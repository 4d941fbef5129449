"""Held sounds: what is sung on the long notes of a recording, so that one vowel is the same on each of them.

A note is heard by itself. A vowel that lies between two others, such as a dark one sung high, can be heard as one of
them on this note and as the other on the next, and in another voice the two may be far apart. So the long notes of the
whole recording are gathered, and what is said on each is averaged over those whose envelopes are like its own
(non-local means; Buades, Coll and Morel, 2005).
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from engine.analysis.envelope import LOW_BANDS, SILENT, Level
from engine.features.sustained_notes import held_share, hold_notes, slow_envelope
from engine.networks.base import BaseModel
from engine.networks.content_encoder import CONTENT, mix_content

WIDTH = LOW_BANDS + CONTENT + 1  # numbers of a held sound
_BLOCK_FRAMES, _MOST_BLOCKS = 1000, 6  # listened to, spread evenly over the recording
_MARGIN_FRAMES = 75  # of a block within the recording, at each end, whose surroundings are missing
_PIECE_FRAMES = 25  # of a note that are one sound here
_LEAST_FRAMES = 8.0  # of a piece that must be held
_OTHER_NEPERS = 0.5  # mean difference of two envelopes, however loud, from which on they are different sounds
_OWN_FRAMES = 10.0  # as how many a note counts by itself


@dataclass(frozen=True)
class HeldSounds:
    """rows: float32 (sounds, WIDTH): the envelope below 8 kHz less its mean, what is said, and how many frames it was
    held."""

    rows: Tensor

    @property
    def shapes(self) -> Tensor:
        """Envelopes, (sounds, LOW_BANDS), nepers."""
        return self.rows[:, :LOW_BANDS]

    @property
    def content(self) -> Tensor:
        """What is said, (sounds, CONTENT)."""
        return self.rows[:, LOW_BANDS:-1]

    @property
    def frames(self) -> Tensor:
        """For how long, (sounds,)."""
        return self.rows[:, -1]


def no_sounds() -> HeldSounds:
    """Those of a recording in which nothing is held."""
    return HeldSounds(torch.zeros(0, WIDTH))


def gather_held(
    base: BaseModel, features: np.ndarray, mean: Tensor, envelope: np.ndarray, voicing: np.ndarray, level: Level
) -> HeldSounds:
    """The held sounds of a recording, on the processor.

    features (frames / 2, FEATURES) of the listener and their mean (FEATURES,) where the base is; envelope: (frames,
    BANDS), absolute log; voicing: (frames,).
    """
    rows = [no_sounds().rows]
    for first, stop in _blocks(len(envelope)):
        with torch.inference_mode():
            heard = (torch.from_numpy(envelope[first:stop]).to(base.device) - level.nepers).clamp_min(SILENT)
            voiced = torch.from_numpy(voicing[first:stop]).to(base.device)
            said = torch.from_numpy(features[first // 2 : (stop + 1) // 2])[None].to(base.device)
            content = base.content(said, mean[None], stop - first)[0]
            share = held_share(heard, voiced)
            found = torch.cat([_shape(heard), hold_notes(content, heard, voiced)], 1)
        begin = 0 if first == 0 else _MARGIN_FRAMES
        end = len(found) - (0 if stop == len(envelope) else _MARGIN_FRAMES)
        rows.append(_pieces(found[begin:end].cpu(), share[begin:end].cpu()))
    return HeldSounds(torch.cat(rows))


def settle_vowels(content: Tensor, envelope: Tensor, voicing: Tensor, held: HeldSounds) -> Tensor:
    """Content (frames, CONTENT) of held notes, averaged over the held sounds whose envelopes are like that of the
    recording there, (frames, BANDS); elsewhere as it is. voicing: (frames,) 0..1."""
    if not len(held.rows):
        return content
    distance = torch.cdist(_shape(envelope), held.shapes, p=1.0) / LOW_BANDS
    weight = held.frames * (1.0 - (distance / _OTHER_NEPERS) ** 2).clamp_min(0.0) ** 2  # Tukey's biweight
    alike = (weight @ held.content + _OWN_FRAMES * content) / (weight.sum(1, keepdim=True) + _OWN_FRAMES)
    return mix_content(content, alike, held_share(envelope, voicing)[:, None])


def _blocks(frames: int) -> list[tuple[int, int]]:
    """First frame and the one after the last of each stretch that is listened to."""
    if frames <= _BLOCK_FRAMES * _MOST_BLOCKS:
        return [(0, frames)]
    firsts = np.linspace(0, frames - _BLOCK_FRAMES, _MOST_BLOCKS).astype(int) // 2 * 2  # where the listener has a frame
    return [(int(first), int(first) + _BLOCK_FRAMES) for first in firsts]


def _shape(envelope: Tensor) -> Tensor:
    """The envelope below 8 kHz without vibrato, however loud, (frames, LOW_BANDS)."""
    slow = slow_envelope(envelope)
    return slow - slow.mean(1, keepdim=True)


def _pieces(found: Tensor, share: Tensor) -> Tensor:
    """Means over pieces of the frames in which a note is held, and how many those are, (pieces, WIDTH)."""
    count = len(share) // _PIECE_FRAMES
    found, share = (
        of_frames[: count * _PIECE_FRAMES].reshape(count, _PIECE_FRAMES, width)
        for of_frames, width in ((found, found.shape[1]), (share, 1))
    )
    held = share.sum(1)
    means = (found * share).sum(1) / held.clamp_min(1e-6)
    return torch.cat([means, held], 1)[held[:, 0] >= _LEAST_FRAMES]
