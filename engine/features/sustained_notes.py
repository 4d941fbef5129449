"""Held notes: where a recording's own sound stays, what is said stays.

Content is told frame by frame, and vibrato moves the harmonics to and fro under the resonances, the more the higher the
note. So a note that is held can be heard as two sounds in turn, several times a second. Where the envelope of the
recording changes little within a sixth of a second, content is averaged over some more, among such frames alone.
"""

import torch
from torch import Tensor

from engine.analysis.envelope import LOW_BANDS
from engine.networks.content_encoder import mix_content
from engine.networks.layers import moving_average

_HELD_FRAMES = 25  # on each side, over which the content of a held note is averaged
_APART_FRAMES = 8  # before and after, between which a sound that stays does not change
_SMOOTH_FRAMES = 8  # on each side: about a period of vibrato, which is no change of the sound
SHARE_REACH_FRAMES = _APART_FRAMES + _SMOOTH_FRAMES  # on each side, what a frame of `held_share` depends on
REACH_FRAMES = _HELD_FRAMES + SHARE_REACH_FRAMES  # and of `hold_notes`
_STAYS, _CHANGES = 0.25, 0.5  # nepers: mean change of the bands that is none, and that is another sound
_UNVOICED, _VOICED = 0.5, 0.8  # mean voicing around a frame that is no note, and that is one


def hold_notes(content: Tensor, envelope: Tensor, voicing: Tensor) -> Tensor:
    """Content (frames, CONTENT), steady where the recording's envelope (frames, BANDS) and voice, voicing (frames,)
    0..1, stay as they are; elsewhere as it is."""
    held = held_share(envelope, voicing)[:, None]
    steady = moving_average(content, _HELD_FRAMES, held + 1e-4)
    return mix_content(content, steady, held)


def slow_envelope(envelope: Tensor) -> Tensor:
    """The envelope (frames, BANDS) below 8 kHz without what vibrato does to it, (frames, LOW_BANDS)."""
    return moving_average(envelope[:, :LOW_BANDS], _SMOOTH_FRAMES)


def held_share(envelope: Tensor, voicing: Tensor) -> Tensor:
    """How far each frame lies within a sound that stays, 0..1, (frames,)."""
    slow = slow_envelope(envelope)
    padded = torch.nn.functional.pad(slow.T[None], (_APART_FRAMES, _APART_FRAMES), mode="replicate")[0].T
    change = (padded[2 * _APART_FRAMES :] - padded[: -2 * _APART_FRAMES]).abs().mean(1)
    stays = ((_CHANGES - change) / (_CHANGES - _STAYS)).clamp(0, 1)
    voiced = moving_average(voicing[:, None], _APART_FRAMES)[:, 0]
    return stays * ((voiced - _UNVOICED) / (_VOICED - _UNVOICED)).clamp(0, 1)
