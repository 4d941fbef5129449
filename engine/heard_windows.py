"""What is heard in the windows of a recording: pitch and envelope.

They are needed twice, for the survey of the whole and then to render each window, and measured once where the recording
is not too long to keep them.
"""

from dataclasses import dataclass

import numpy as np

from engine.envelope import measure_envelope
from engine.frames import FRAME_RATE, SAMPLE_RATE
from engine.loudness import without_rumble
from engine.pitch import Pitch, detect_pitch
from engine.placement import mid_of
from engine.windows import Window

KEPT_FRAMES = 6 * 60 * FRAME_RATE  # six minutes of a recording: 16 MB


@dataclass(frozen=True, eq=False)
class Heard:
    """One window on the frame grid, as it was recorded."""

    mid: np.ndarray  # float32 (samples,), without rumble
    pitch: Pitch
    envelope: np.ndarray  # float32 (frames, BANDS)


class HeardWindows:
    """Hears windows, and keeps what it heard of those that end within the first `kept_frames` of a recording."""

    def __init__(self, kept_frames: int = 0) -> None:
        self._kept_frames = kept_frames
        self._kept: dict[tuple[int, int], tuple[Pitch, np.ndarray]] = {}  # by where they begin and how long they are

    def hear(self, window: Window) -> Heard:
        """What is heard in a window; the same again for the same window of the same recording."""
        mid = without_rumble(mid_of(window.samples))
        place = window.first_frame, len(mid)
        pitch, envelope = self._kept.get(place) or _measured(mid)
        if window.core_stop <= self._kept_frames:
            self._kept[place] = pitch, envelope
        return Heard(mid, pitch, envelope)


def _measured(mid: np.ndarray) -> tuple[Pitch, np.ndarray]:
    pitch = detect_pitch(mid, SAMPLE_RATE)
    return pitch, measure_envelope(mid, pitch)
