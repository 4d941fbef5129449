"""The mean of the listener's features over a recording, from however few sounds it holds.

Content is taken relative to this mean, which is to be that of the microphone and the speaker. The mean of one held
vowel is that of the vowel, and relative to it nothing is left to be said; so the fewer sounds there are, the more the
mean is that of all speakers (`ContentEncoder.likeliest_mean`).
"""

import numpy as np
import torch
from torch import Tensor

from engine.analysis.envelope import ACTIVE_NEPERS, LOW_BANDS, frame_loudness
from engine.analysis.runs import true_runs
from engine.features.sustained_notes import SHARE_REACH_FRAMES, sustained_share
from engine.networks.content_encoder import ContentEncoder

_SOUND_FRAMES = 10  # of speech; a note that is held is one sound, however long
_SUSTAINED = 0.5  # from this share on a frame is held
_SAME_NEPERS = 0.4  # mean difference of two held sounds that are one
_BLOCK_FRAMES = 3000  # looked at at a time, so that memory does not grow with the recording


def measure_feature_mean(
    encoder: ContentEncoder, features: np.ndarray, envelope: np.ndarray, voicing: np.ndarray, level_nepers: float
) -> Tensor:
    """Return the likeliest mean (FEATURES,) of a recording's features (k, FEATURES) every 20 ms, where the encoder is.

    envelope: (frames, BANDS), absolute log; voicing: (frames,) 0..1; both on the engine's grid.
    """
    active = (frame_loudness(envelope) > level_nepers + ACTIVE_NEPERS)[::2][: len(features)]
    chosen = features[: len(active)][active] if active.any() else features
    mean = torch.from_numpy(chosen.mean(0, dtype=np.float64).astype(np.float32)).to(encoder.usual.device)
    return encoder.likeliest_mean(mean, count_sounds(envelope, voicing, level_nepers) + 1.0)


def count_sounds(envelope: np.ndarray, voicing: np.ndarray, level_nepers: float) -> float:
    """How many sounds of the same length would have as uncertain a mean as those of an envelope (frames, BANDS).

    A long one weighs more, so there are fewer than were heard (Kish, Survey Sampling, 1965). voicing: (frames,) 0..1.
    """
    active = frame_loudness(envelope) > level_nepers + ACTIVE_NEPERS
    if not active.any():
        return 0.0
    lengths = _sustained_lengths(envelope[:, :LOW_BANDS], _sustained(envelope, voicing) & active)
    moving = active.sum() - sum(lengths)
    squares = sum(length**2 for length in lengths) + moving * _SOUND_FRAMES
    return float(active.sum() ** 2 / squares)


def _sustained(envelope: np.ndarray, voicing: np.ndarray) -> np.ndarray:
    """bool (frames,): which lie within a note that is held."""
    held = []
    for first in range(0, len(envelope), _BLOCK_FRAMES):
        begin, stop = max(0, first - SHARE_REACH_FRAMES), first + _BLOCK_FRAMES + SHARE_REACH_FRAMES
        share = sustained_share(torch.from_numpy(envelope[begin:stop]), torch.from_numpy(voicing[begin:stop]))
        held.append((share > _SUSTAINED).numpy()[first - begin :][:_BLOCK_FRAMES])
    return np.concatenate(held)


def _sustained_lengths(envelope: np.ndarray, held: np.ndarray) -> list[int]:
    """Frames of each sound that is held; notes held on the same vowel are one sound, those too short are none."""
    shapes = np.zeros((0, envelope.shape[1]))
    lengths: list[int] = []
    for first, stop in true_runs(held):
        if stop - first < _SOUND_FRAMES:
            continue
        shape = envelope[first:stop].mean(0)
        shape = shape - shape.mean()  # however loud
        distances = np.abs(shapes - shape).mean(1)
        if len(shapes) and distances.min() < _SAME_NEPERS:
            lengths[int(distances.argmin())] += int(stop - first)
        else:
            shapes = np.concatenate([shapes, shape[None]])
            lengths.append(int(stop - first))
    return lengths
