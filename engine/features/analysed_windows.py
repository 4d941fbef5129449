"""What is heard in the windows of a recording: pitch, envelope and the listener's features.

They are needed twice, for the survey of the whole and then to render each window, and measured once where the recording
is not too long to keep them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.analysis.envelope import measure_envelope
from engine.analysis.loudness import without_rumble
from engine.analysis.pitch import Pitch, detect_pitch
from engine.analysis.windows import Window
from engine.audio.channels import mid_of
from engine.networks.listener import Listener, listen
from engine.units import FRAME_RATE, SAMPLE_RATE

KEPT_FRAMES = 6 * 60 * FRAME_RATE  # six minutes of a recording: 53 MB


@dataclass(frozen=True, eq=False)
class Heard:
    """One window on the frame grid, as it was recorded."""

    mid: np.ndarray  # float32 (samples,), without rumble
    pitch: Pitch
    envelope: np.ndarray  # float32 (frames, BANDS)
    features: np.ndarray  # float16 (frames / 2, FEATURES): the listener's, every 20 ms


Listen = Callable[[np.ndarray, int], np.ndarray]


class HeardWindows:
    """Hears windows, and keeps what it heard of those that end within the first `kept_frames` of a recording."""

    def __init__(self, listener: Listener, kept_frames: int = 0, listen_otherwise: Listen | None = None) -> None:
        """listen_otherwise: what gives the features of samples from a frame of the recording on, instead of listening
        to just those."""
        self._listen = listen_otherwise or (lambda samples, first_frame: listen(listener, samples))
        self._kept_frames = kept_frames
        # by where they begin and how long they are
        self._kept: dict[tuple[int, int], tuple[Pitch, np.ndarray, np.ndarray]] = {}

    def hear(self, window: Window) -> Heard:
        """What is heard in a window; the same again for the same window of the same recording."""
        mid = without_rumble(mid_of(window.samples))
        place = window.first_frame, len(mid)
        found = self._kept.get(place)
        if found is None:
            pitch = detect_pitch(mid, SAMPLE_RATE)
            found = pitch, measure_envelope(mid, pitch), self._listen(mid, window.first_frame)
        if window.core_stop <= self._kept_frames:
            self._kept[place] = found
        return Heard(mid, *found)
