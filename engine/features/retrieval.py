"""A voice's own sounds: frames of content from its recordings, towards which what others say can be drawn.

Content is meant to be the same whoever speaks, and is not quite: a foreign recording's lies a little off the places
that a voice's decoder has learned. Each frame is replaced, as far as wanted, by the mean of the most similar ones the
voice has said itself (nearest neighbours; compare kNN-VC, Baas et al., 2023, and the index of RVC).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from engine.analysis.envelope import loudness_of
from engine.features.clips import Clip
from engine.networks.content_encoder import mix_content
from engine.networks.layers import moving_average

MOST_SOUNDS = 12_000  # frames of its own content that a voice keeps, two minutes: 1.5 MB
NEIGHBOURS = 4
_RUN_FRAMES = 50  # sounds are kept in runs of half a second, so that most of them have their neighbours beside them
_AROUND_FRAMES = 4  # before and after: sounds are compared with what is around them
_PIECE_FRAMES = 3000  # long recordings are gone through piece by piece
# Of more sounds only as many, spread evenly, are compared with: a sound and those 10 ms beside it are nearly the same.
_COMPARED = 4000
_BLOCK_FRAMES = 1000  # compared at a time, so that memory stays flat
_AUDIBLE_NEPERS = -4.5  # below the recording's level; quieter frames are not sounds
_SHARPNESS = 10.0  # how much more the more similar of the neighbours count


@dataclass(frozen=True)
class Sounds:
    """Frames of content and where they come from."""

    content: Tensor  # (frames, CONTENT)
    clip: Tensor  # (frames,): number of the clip
    frame: Tensor  # (frames,): in the clip

    def near(self, clip: int, first: int, stop: int) -> slice:
        """Those between two frames of a clip; they lie in the order of the recordings."""
        there = torch.nonzero((self.clip == clip) & (self.frame >= first) & (self.frame < stop))[:, 0]
        return slice(int(there[0]), int(there[-1]) + 1) if len(there) else slice(0)


def gather_sounds(clips: Sequence[Clip], device: torch.device, most: int = MOST_SOUNDS) -> Sounds:
    """The audible frames of the clips; of many, runs spread evenly over them, at most `most` frames in all."""
    content, clip_numbers, frames = [], [], []
    with torch.no_grad():
        for number, clip in enumerate(clips):
            for first in range(0, len(clip.envelope), _PIECE_FRAMES):
                envelope = torch.from_numpy(clip.envelope[first : first + _PIECE_FRAMES].astype(np.float32))
                audible = torch.nonzero(loudness_of(envelope.to(device)) > _AUDIBLE_NEPERS)[:, 0]
                said = torch.from_numpy(clip.content[0, first : first + _PIECE_FRAMES].astype(np.float32))
                content.append(said.to(device)[audible])
                clip_numbers.append(torch.full_like(audible, number))
                frames.append(audible + first)
    found = Sounds(torch.cat(content), torch.cat(clip_numbers), torch.cat(frames))
    if len(found.content) <= most:
        return found
    starts = torch.linspace(0, len(found.content) - _RUN_FRAMES, max(1, most // _RUN_FRAMES)).round().long()
    kept = (starts[:, None] + torch.arange(_RUN_FRAMES)).flatten()[:most].to(device)
    return Sounds(found.content[kept], found.clip[kept], found.frame[kept])


def nearest_sounds(content: Tensor, sounds: Tensor, forbidden: slice = slice(0)) -> Tensor:
    """For each frame of content (frames, CONTENT) the mean of the most similar of `sounds` (sounds, CONTENT).

    forbidden: those that may not be taken.

    >>> import torch
    >>> from engine import load_voice, read_audio
    >>> from engine.demonstrations.frame_features import measure_features
    >>> content = torch.from_numpy(measure_features(read_audio("vocal.flac")).content)
    >>> nearest_sounds(content, load_voice("koguchi").sounds).shape == content.shape
    True
    """
    first, stop, _ = forbidden.indices(len(sounds))
    every = max(1, -(-len(sounds) // _COMPARED))
    keys, sounds = in_context(sounds, every).T, sounds[::every]
    forbidden = slice(-(-first // every), -(-stop // every))
    means = []
    for block in in_context(content).split(_BLOCK_FRAMES):
        similarity = block @ keys
        similarity[:, forbidden] = -1.0
        nearest, places = similarity.topk(min(NEIGHBOURS, len(sounds)), 1)
        weights = torch.softmax(nearest * _SHARPNESS, 1)
        means.append((sounds[places] * weights[..., None]).sum(1))
    return torch.cat(means)


def draw_towards(content: Tensor, sounds: Tensor, strength: float, steady_frames: int = 0) -> Tensor:
    """Content (frames, CONTENT), each frame moved by `strength` 0..1 towards the most similar of a voice's sounds.

    steady_frames: on each side, over which the way moved is averaged, so that a held note does not hop from sound to
    sound. A voice without sounds leaves the content as it is.
    """
    if not len(sounds) or strength == 0.0:
        return content
    way = nearest_sounds(content, sounds) - content
    if steady_frames:
        way = moving_average(way, steady_frames)
    return mix_content(content, content + way, strength)


def in_context(content: Tensor, every: int = 1) -> Tensor:
    """Each frame of content with one before and one after it, as a direction: (frames, 3 * CONTENT) of length 1.

    every: only the first of so many frames each, (frames / every, 3 * CONTENT).
    """
    held = functional.pad(content.T[None], (_AROUND_FRAMES, _AROUND_FRAMES), mode="replicate")[0].T
    around = [held[first : first + len(content) : every] for first in (0, _AROUND_FRAMES, 2 * _AROUND_FRAMES)]
    return functional.normalize(torch.cat(around, 1), dim=1)
