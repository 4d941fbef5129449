"""What is known of each frame of a recording, side by side: its mel spectrum, and its content as the base encodes it.

The notebooks compare the two: what the one says of the speaker and of the words, and the other does not.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch

from engine.analysis.envelope import ACTIVE_NEPERS, LOW_BANDS, SILENT, loudness_of
from engine.audio.files import Audio
from engine.features.clips import analyse_clip

Kind = Literal["mel", "content"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_SILENCE_NEPERS = -13.0  # a level below it is that of silence
_LOUDEST_NEPERS = 4.0  # relative to the level


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
    envelope = torch.from_numpy(clip.envelope.astype(np.float32))
    # relative to its own level, silence would be as loud as anything
    sounds = clip.level.nepers > _SILENCE_NEPERS
    return Features(
        mel=envelope[:, :LOW_BANDS].clamp(SILENT, _LOUDEST_NEPERS).numpy(),
        content=clip.content[0].astype(np.float32),
        active=(loudness_of(envelope) > ACTIVE_NEPERS).numpy() & sounds,
    )
