"""Two views of each frame of a recording: its mel spectrum, and its content as the base encodes it.

The notebooks compare what each reveals of the speaker and the words.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch

from engine.analysis.envelope import ACTIVE_NEPERS, LOW_BANDS, SILENT, loudness_of
from engine.audio.files import Recording, audio_of
from engine.features.clips import analyse_clip
from engine.reprs import Brief

Kind = Literal["mel", "content"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_SILENCE_NEPERS = -13.0  # a recording with a lower level is silent
_LOUDEST_NEPERS = 4.0  # relative to the level


@dataclass(frozen=True, repr=False)
class Features(Brief):
    """Two views of the same frames, one every 10 ms, and which frames are active.

    - mel: float32 (frames, bands), log spectrum below 8 kHz in nepers, relative to the recording's level
    - content: float32 (frames, 64), what is said, as the base encodes it
    - active: bool (frames,), where something sounds
    """

    mel: np.ndarray
    content: np.ndarray
    active: np.ndarray

    def of(self, kind: Kind) -> np.ndarray:
        """Return the view `mel` or `content`, float32 (frames, numbers)."""
        return self.mel if kind == "mel" else self.content


def measure_features(recording: Recording) -> Features:
    """Measure mel spectrum and content of a recording of seconds to a minute. Raises AudioError for one too short.

    >>> features = measure_features("vocal.flac")
    >>> features.content.shape
    (301, 64)
    """
    clip = analyse_clip(audio_of(recording))
    envelope = torch.from_numpy(clip.envelope.astype(np.float32))
    # relative to its own level, silence would count as loud
    sounds = clip.level.nepers > _SILENCE_NEPERS
    return Features(
        mel=envelope[:, :LOW_BANDS].clamp(SILENT, _LOUDEST_NEPERS).numpy(),
        content=clip.content[0].astype(np.float32),
        active=(loudness_of(envelope) > ACTIVE_NEPERS).numpy() & sounds,
    )
