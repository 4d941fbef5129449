"""What is known of a window, and of a take of it before that is rendered: so it can be carried to a graphics card at
once."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from engine.analysis.pitch import Pitch
from engine.conversion.levels import Levels
from engine.networks.recorded_excitation import Move, RecordedExcitation
from engine.networks.synthesizer import Residual, Source


@dataclass(frozen=True)
class Given:
    """What of a window is carried to the networks: absolute envelope (frames, BANDS), features of the listener, samples
    (n,), voicing and semitones (frames,)."""

    envelope: Tensor
    features: Tensor
    mid: Tensor
    voicing: Tensor
    semitones: Tensor


@dataclass(frozen=True)
class WindowContent:
    """What is said in a window, on the device of the networks; envelopes are relative to the recording's level."""

    envelope: Tensor  # (frames, BANDS)
    voicing: Tensor  # (frames,)
    content: Tensor  # (frames, CONTENT), after retrieval
    loudness: Tensor  # (frames,) nepers, relative
    detail: Tensor | None = None  # (frames, BANDS): what the decoder cannot reproduce of the recording, if wanted


@dataclass(frozen=True)
class Analysed:
    """Analysis of one window on the frame grid.

    given: its samples that are the recording's. loudness_db: of those alone, (2, frames), as far up as it is compared
    with the voice, and of all of it. room: (frames,), how far each is the room after a voice, 0..1.
    """

    given: slice
    loudness_db: np.ndarray
    room: np.ndarray
    pitch: Pitch
    said: WindowContent
    residual: Residual | None = None  # of one frame more
    excitation: RecordedExcitation | None = None  # likewise


@dataclass(frozen=True)
class Sound:
    """What a take of a window is synthesized from; tensors float32.

    source: of one frame more; move: of the recording's excitation, if that is kept; semitones: (frames,); offset: of
    the timbre, if it varies; formants: semitones by which they move, (frames,), if edits move them.
    """

    source: Source
    move: Move | None
    semitones: Tensor
    offset: Tensor | None
    formants: Tensor | None = None


@dataclass(frozen=True)
class TakePlan:
    """A take of a window: its loudness, the phase in cycles with which its pulses begin, and what it is synthesized
    from, unless that is an imported voice's own affair."""

    levels: Levels
    start: float
    sound: Sound | None = None
