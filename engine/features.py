"""What is known of each frame of a recording, side by side: its mel spectrum, and its content as the base encodes it.

The notebooks compare the two: what the one says of the speaker and of the words, and the other does not.
"""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from engine.audio import Audio
from engine.base import load_base
from engine.clips import analyse_clip
from engine.content import content_input
from engine.envelope import ACTIVE_NEPERS, LOW_BANDS, SILENT, loudness_of

Kind = Literal["mel", "content"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_SILENCE_NEPERS = -13.0  # a level below it is that of silence
_LOUDEST_NEPERS = 4.0  # relative to the level; as the encoder is given it


@dataclass(frozen=True)
class Features:
    """Two views of the same frames, and which of them are loud enough to say something."""

    mel: np.ndarray  # float32 (frames, LOW_BANDS): log spectrum below 8 kHz, relative to the recording's level
    content: np.ndarray  # float32 (frames, CONTENT)
    active: np.ndarray  # bool (frames,)

    def of(self, kind: Kind) -> np.ndarray:
        """One of the two, by its name."""
        return self.mel if kind == "mel" else self.content


def measure_features(audio: Audio) -> Features:
    """Features of a recording of seconds to minutes. Raises AudioError for one that is too short.

    >>> from engine import read_audio
    >>> features = measure_features(read_audio("vocal.flac"))  # a row for every 10 ms
    >>> features.content.shape
    (301, 64)
    """
    clip = analyse_clip(audio)
    found = features_of(torch.from_numpy(clip.envelope.astype(np.float32)), torch.from_numpy(clip.level.mean))
    # relative to its own level, silence would be as loud as anything
    return found if clip.level.nepers > _SILENCE_NEPERS else replace(found, active=np.zeros_like(found.active))


def features_of(envelope: Tensor, mean: Tensor) -> Features:
    """Features of a log envelope (frames, BANDS) and its mean colour (BANDS,), both relative to its level."""
    heard = content_input(envelope[None], 0.0, mean[None])
    with torch.inference_mode():
        content: np.ndarray = load_base().content(heard)[0].numpy()
    return Features(
        mel=envelope[:, :LOW_BANDS].clamp(SILENT, _LOUDEST_NEPERS).numpy(),
        content=content,
        active=(loudness_of(envelope) > ACTIVE_NEPERS).numpy(),
    )
