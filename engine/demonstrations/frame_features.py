"""Two views of each frame of a recording: its mel spectrum, and its content as the base encodes it.

The notebooks compare what each reveals of the speaker and the words.
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
_SILENCE_NEPERS = -13.0  # a recording with a lower level is silent
_LOUDEST_NEPERS = 4.0  # relative to the level


@dataclass(frozen=True)
class Features:
    """Two views of the same frames, and which frames are active."""

    mel: np.ndarray  # float32 (frames, LOW_BANDS): log spectrum below 8 kHz, relative to the recording's level
    content: np.ndarray  # float32 (frames, CONTENT)
    active: np.ndarray  # bool (frames,)

    def of(self, kind: Kind) -> np.ndarray:
        """Return one of the two views by name."""
        return self.mel if kind == "mel" else self.content


def measure_features(audio: Audio) -> Features:
    """Measure the features of a recording of seconds to minutes. Raises AudioError if it is too short.

    >>> from engine import read_audio
    >>> features = measure_features(read_audio("vocal.flac"))  # a row for every 10 ms
    >>> features.content.shape
    (301, 64)
    """
    clip = analyse_clip(audio)
    envelope = torch.from_numpy(clip.envelope.astype(np.float32))
    # relative to its own level, silence would count as loud
    sounds = clip.level.nepers > _SILENCE_NEPERS
    return Features(
        mel=envelope[:, :LOW_BANDS].clamp(SILENT, _LOUDEST_NEPERS).numpy(),
        content=clip.content[0].astype(np.float32),
        active=(loudness_of(envelope) > ACTIVE_NEPERS).numpy() & sounds,
    )
