"""Sustained notes: keep the content steady where the sound of the recording is steady.

Content is encoded frame by frame, while vibrato moves the harmonics to and fro under the resonances, more so on high
notes. A sustained vowel may therefore be encoded as two vowels in turn, several times a second. `smooth_sustained`
averages content over half a second wherever the envelope changes little within a sixth of a second.

One vowel can also be encoded differently on different notes, for instance a dark vowel sung high. `settle_vowels`
averages the content of each sustained note over all notes of the recording with a similar envelope (non-local means;
Buades, Coll and Morel, 2005).
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from engine.analysis.envelope import LOW_BANDS, SILENT, Level
from engine.networks.base import BaseModel
from engine.networks.content_encoder import CONTENT, mix_content
from engine.networks.layers import moving_average
from engine.workers import Workers

_SMOOTHING_FRAMES = 25  # on each side, over which the content of a sustained note is averaged
_APART_FRAMES = 8  # before and after: the two frames whose envelopes are compared
_VIBRATO_FRAMES = 8  # on each side: about one period of vibrato, which does not count as a change
SHARE_REACH_FRAMES = _APART_FRAMES + _VIBRATO_FRAMES  # on each side, frames that affect `sustained_share`
REACH_FRAMES = _SMOOTHING_FRAMES + SHARE_REACH_FRAMES  # on each side, frames that affect `smooth_sustained`
_STEADY_NEPERS, _CHANGING_NEPERS = 0.25, 0.5  # mean change of the bands: below it steady, above it another sound
_UNVOICED, _VOICED = 0.5, 0.8  # mean voicing: below it no note, above it a note
WIDTH = LOW_BANDS + CONTENT + 1  # numbers per row of `SustainedNotes`
_BLOCK_FRAMES, _MOST_BLOCKS = 1000, 6  # blocks that are analysed, spread evenly over the recording
_MARGIN_FRAMES = 75  # dropped at each end of a block within the recording, where context is missing
_PIECE_FRAMES = 25  # frames of a note that are averaged into one row
_LEAST_FRAMES = 8.0  # sustained frames that a piece must have
_DIFFERENT_NEPERS = 0.5  # mean difference of two envelopes, apart from level, from which on their vowels differ
_OWN_FRAMES = 10.0  # weight of a note's own content, in frames


def smooth_sustained(content: Tensor, envelope: Tensor, voicing: Tensor) -> Tensor:
    """Average content over time wherever the recording sustains a note, and leave the rest as it is.

    Parameters: content (frames, CONTENT); envelope (frames, BANDS) in nepers; voicing (frames,), 0..1.
    Returns (frames, CONTENT).
    """
    share = sustained_share(envelope, voicing)[:, None]
    smooth = moving_average(content, _SMOOTHING_FRAMES, share + 1e-4)
    return mix_content(content, smooth, share)


def slow_envelope(envelope: Tensor) -> Tensor:
    """Average vibrato out of the bands below 8 kHz: (frames, BANDS) -> (frames, LOW_BANDS)."""
    return moving_average(envelope[:, :LOW_BANDS], _VIBRATO_FRAMES)


def sustained_share(envelope: Tensor, voicing: Tensor) -> Tensor:
    """Measure how steady the sound around each frame is, 0..1, (frames,).

    Parameters: envelope (frames, BANDS) in nepers; voicing (frames,), 0..1.
    """
    slow = slow_envelope(envelope)
    padded = torch.nn.functional.pad(slow.T[None], (_APART_FRAMES, _APART_FRAMES), mode="replicate")[0].T
    change = (padded[2 * _APART_FRAMES :] - padded[: -2 * _APART_FRAMES]).abs().mean(1)
    steady = ((_CHANGING_NEPERS - change) / (_CHANGING_NEPERS - _STEADY_NEPERS)).clamp(0, 1)
    voiced = moving_average(voicing[:, None], _APART_FRAMES)[:, 0]
    return steady * ((voiced - _UNVOICED) / (_VOICED - _UNVOICED)).clamp(0, 1)


@dataclass(frozen=True)
class SustainedNotes:
    """Envelope, content and length of each piece of a sustained note, one float32 row each: (pieces, WIDTH)."""

    rows: Tensor

    @property
    def shapes(self) -> Tensor:
        """Envelopes below 8 kHz less their mean, (pieces, LOW_BANDS), nepers."""
        return self.rows[:, :LOW_BANDS]

    @property
    def content(self) -> Tensor:
        """Mean content, (pieces, CONTENT)."""
        return self.rows[:, LOW_BANDS:-1]

    @property
    def frames(self) -> Tensor:
        """Lengths in frames, (pieces,)."""
        return self.rows[:, -1]


def no_sustained_notes() -> SustainedNotes:
    """Return an empty table, for a recording that sustains nothing."""
    return SustainedNotes(torch.zeros(0, WIDTH))


def gather_sustained_notes(
    base: BaseModel,
    features: np.ndarray,
    mean: Tensor,
    envelope: np.ndarray,
    voicing: np.ndarray,
    level: Level,
    workers: Workers,
) -> SustainedNotes:
    """Collect the sustained notes of a recording, on the processor.

    Parameters: features (frames / 2, FEATURES) of the listener; mean (FEATURES,) of these, on the base's device;
    envelope (frames, BANDS), absolute log; voicing (frames,), 0..1; workers: of the conversion.
    """

    def of_block(first: int, stop: int) -> Tensor:
        with torch.inference_mode():
            relative = (torch.from_numpy(envelope[first:stop]).to(base.device) - level.nepers).clamp_min(SILENT)
            block_voicing = torch.from_numpy(voicing[first:stop]).to(base.device)
            block_features = torch.from_numpy(features[first // 2 : (stop + 1) // 2])[None].to(base.device)
            content = base.content(block_features, mean[None], stop - first)[0]
            share = sustained_share(relative, block_voicing)
            found = torch.cat([_shape(relative), smooth_sustained(content, relative, block_voicing)], 1)
        begin = 0 if first == 0 else _MARGIN_FRAMES
        end = len(found) - (0 if stop == len(envelope) else _MARGIN_FRAMES)
        return _pieces(found[begin:end].cpu(), share[begin:end].cpu())

    return SustainedNotes(torch.cat(workers.beside(*(partial(of_block, *block) for block in _blocks(len(envelope))))))


def settle_vowels(content: Tensor, envelope: Tensor, voicing: Tensor, notes: SustainedNotes) -> Tensor:
    """Average the content of sustained notes over the notes of the recording that have a similar envelope.

    Parameters: content (frames, CONTENT); envelope (frames, BANDS) in nepers; voicing (frames,), 0..1.
    Returns (frames, CONTENT); frames outside sustained notes stay as they are.
    """
    if not len(notes.rows):
        return content
    distance = torch.cdist(_shape(envelope), notes.shapes, p=1.0) / LOW_BANDS
    weight = notes.frames * (1.0 - (distance / _DIFFERENT_NEPERS) ** 2).clamp_min(0.0) ** 2  # Tukey's biweight
    settled = (weight @ notes.content + _OWN_FRAMES * content) / (weight.sum(1, keepdim=True) + _OWN_FRAMES)
    return mix_content(content, settled, sustained_share(envelope, voicing)[:, None])


def _blocks(frames: int) -> list[tuple[int, int]]:
    """Return the first and the end frame of each block that is analysed."""
    if frames <= _BLOCK_FRAMES * _MOST_BLOCKS:
        return [(0, frames)]
    firsts = np.linspace(0, frames - _BLOCK_FRAMES, _MOST_BLOCKS).astype(int) // 2 * 2  # on the listener's grid
    return [(int(first), int(first) + _BLOCK_FRAMES) for first in firsts]


def _shape(envelope: Tensor) -> Tensor:
    """Return the envelope below 8 kHz without vibrato and level, (frames, LOW_BANDS)."""
    slow = slow_envelope(envelope)
    return slow - slow.mean(1, keepdim=True)


def _pieces(found: Tensor, share: Tensor) -> Tensor:
    """Average rows over the sustained frames of each piece and append their number, (pieces, WIDTH)."""
    count = len(share) // _PIECE_FRAMES
    found, share = (
        of_frames[: count * _PIECE_FRAMES].reshape(count, _PIECE_FRAMES, width)
        for of_frames, width in ((found, found.shape[1]), (share, 1))
    )
    frames = share.sum(1)
    means = (found * share).sum(1) / frames.clamp_min(1e-6)
    return torch.cat([means, frames], 1)[frames[:, 0] >= _LEAST_FRAMES]
