"""Retrieval: move content towards the nearest frames of the target voice's own recordings.

Content should not depend on the speaker, but does a little: the content of another person lies slightly off the places
that a voice's decoder has learned. Retrieval replaces each frame, to the chosen degree, by the mean of its nearest
neighbours among the voice's frames (compare kNN-VC, Baas et al., 2023, and the index of RVC).
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

MOST_RETRIEVAL_FRAMES = 12_000  # that a voice keeps: two minutes, 1.5 MB
NEIGHBOURS = 4
_RUN_FRAMES = 50  # frames are kept in runs of half a second, so that most have their neighbours in time
_AROUND_FRAMES = 4  # before and after: frames are compared together with their context
_PIECE_FRAMES = 3000  # of a long recording, processed at a time
_COMPARED = 4000  # of more frames, so many are compared, evenly spaced: neighbours 10 ms apart are nearly the same
_BLOCK_FRAMES = 1000  # compared at a time, so that memory stays flat
_AUDIBLE_NEPERS = -4.5  # below the recording's level; quieter frames are left out
_SHARPNESS = 10.0  # how much more the closer neighbours count


@dataclass(frozen=True)
class RetrievalFrames:
    """Frames of content and their positions in the clips."""

    content: Tensor  # (frames, CONTENT)
    clip: Tensor  # (frames,): number of the clip; on the processor, so that looking up waits for no device
    frame: Tensor  # (frames,): in the clip; there too

    def near(self, clip: int, first: int, stop: int) -> slice:
        """Return the rows that lie between two frames of a clip; rows are in the order of the recordings."""
        there = torch.nonzero((self.clip == clip) & (self.frame >= first) & (self.frame < stop))[:, 0]
        return slice(int(there[0]), int(there[-1]) + 1) if len(there) else slice(0)


class FrameSearch:
    """A voice's frames, prepared once to be searched many times, on their device and without waiting for it."""

    def __init__(self, own: Tensor) -> None:
        """own: (n, CONTENT); of more than _COMPARED frames, only evenly spaced ones are compared."""
        self.count, self.every = len(own), max(1, -(-len(own) // _COMPARED))
        self.keys, self.own = in_context(own, self.every).T, own[:: self.every]

    def compared(self, rows: slice) -> tuple[int, int]:
        """Return the first and the end of those of some rows of the frames that are compared."""
        first, stop, _ = rows.indices(self.count)
        return -(-first // self.every), -(-stop // self.every)

    def nearest(self, units: Tensor, first: int | Tensor, stop: int | Tensor) -> Tensor:
        """Return the weighted mean of the nearest frames for units (..., 3 * CONTENT) from `in_context`.

        first, stop: the compared frames between them are not used; numbers, or tensors that broadcast to (..., 1).
        """
        similarity = units.reshape(-1, units.shape[-1]) @ self.keys
        similarity = similarity.reshape(*units.shape[:-1], -1)
        if isinstance(first, Tensor):
            places = torch.arange(len(self.own), device=units.device)
            similarity.masked_fill_((places >= first) & (places < stop), -1.0)
        else:
            similarity[..., first:stop] = -1.0
        nearest, places = similarity.topk(min(NEIGHBOURS, len(self.own)), -1)
        weights = torch.softmax(nearest * _SHARPNESS, -1)
        return (self.own[places] * weights[..., None]).sum(-2)


def gather_retrieval_frames(
    clips: Sequence[Clip], device: torch.device, most: int = MOST_RETRIEVAL_FRAMES
) -> RetrievalFrames:
    """Collect the audible frames of the clips, or evenly spaced runs of them, at most `most` frames in all."""
    content, clip_numbers, frames = [], [], []
    with torch.no_grad():
        for number, clip in enumerate(clips):
            for first in range(0, len(clip.envelope), _PIECE_FRAMES):
                envelope = torch.from_numpy(clip.envelope[first : first + _PIECE_FRAMES].astype(np.float32))
                audible = torch.nonzero(loudness_of(envelope.to(device)) > _AUDIBLE_NEPERS)[:, 0]
                block = torch.from_numpy(clip.content[0, first : first + _PIECE_FRAMES].astype(np.float32))
                content.append(block.to(device)[audible])
                places = audible.cpu()
                clip_numbers.append(torch.full_like(places, number))
                frames.append(places + first)
    found = RetrievalFrames(torch.cat(content), torch.cat(clip_numbers), torch.cat(frames))
    if len(found.content) <= most:
        return found
    starts = torch.linspace(0, len(found.content) - _RUN_FRAMES, max(1, most // _RUN_FRAMES)).round().long()
    kept = (starts[:, None] + torch.arange(_RUN_FRAMES)).flatten()[:most]
    return RetrievalFrames(found.content[kept.to(device)], found.clip[kept], found.frame[kept])


def nearest_frames(content: Tensor, own: Tensor, forbidden: slice = slice(0)) -> Tensor:
    """Return the weighted mean of a voice's nearest frames for each frame of content.

    Parameters
    ----------
    content : Tensor (frames, 64)
        What is said, as `measure_features` gives it.
    own : Tensor (n, 64)
        Frames of the voice, such as its `retrieval_frames`.
    forbidden : slice
        Rows of `own` that are not used.

    Returns
    -------
    Tensor (frames, 64)
        Of the four nearest frames of each, the closer ones with more weight.

    Examples
    --------
    >>> import torch
    >>> from engine import load_voice, read_audio
    >>> from engine.research.demonstrations import measure_features  # in a checkout
    >>> content = torch.from_numpy(measure_features(read_audio("vocal.flac")).content)
    >>> nearest_frames(content, load_voice("koguchi").retrieval_frames).shape == content.shape
    True
    """
    search = FrameSearch(own)
    first, stop = search.compared(forbidden)
    return torch.cat([search.nearest(block, first, stop) for block in in_context(content).split(_BLOCK_FRAMES)])


def retrieve(content: Tensor, own: Tensor, strength: float, steady_frames: int = 0) -> Tensor:
    """Move each frame of content (frames, CONTENT) towards its nearest neighbours in `own` (n, CONTENT).

    strength: 0 leaves the content as it is, 1 replaces it. steady_frames: frames on each side over which the offset is
    averaged, so that a sustained note does not jump between neighbours. Without any `own` frames nothing changes.
    """
    if not len(own) or strength == 0.0:
        return content
    offset = nearest_frames(content, own) - content
    if steady_frames:
        offset = moving_average(offset, steady_frames)
    return mix_content(content, content + offset, strength)


def in_context(content: Tensor, every: int = 1) -> Tensor:
    """Join each frame of content (..., frames, CONTENT) with an earlier and a later one into a unit vector.

    every: keep only one frame in so many, (..., frames / every, 3 * CONTENT).
    """
    whole = content if content.dim() > 2 else content[None]
    padded = functional.pad(whole.mT, (_AROUND_FRAMES, _AROUND_FRAMES), mode="replicate").mT
    count = content.shape[-2]
    around = [padded[:, first : first + count : every] for first in (0, _AROUND_FRAMES, 2 * _AROUND_FRAMES)]
    units = functional.normalize(torch.cat(around, 2), dim=2)
    return units if content.dim() > 2 else units[0]
