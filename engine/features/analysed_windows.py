"""Analyse the windows of a recording: pitch, envelope and the listener's features.

The survey and the renderer both need them. They are computed once unless the recording is too long to keep them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from engine.analysis.envelope import measure_envelope
from engine.analysis.loudness import without_rumble
from engine.analysis.pitch import Pitch, detect_pitch
from engine.analysis.windows import Window
from engine.networks.listener import Listener, listen
from engine.units import FRAME_RATE, SAMPLE_RATE
from engine.workers import Workers

KEPT_FRAMES = 6 * 60 * FRAME_RATE  # six minutes of a recording: 53 MB


@dataclass(frozen=True, eq=False)
class AnalysedWindow:
    """The analysis of one window, on the frame grid."""

    mid: np.ndarray  # float32 (samples,), without rumble
    pitch: Pitch
    envelope: np.ndarray  # float32 (frames, BANDS)
    features: np.ndarray  # float16 (frames / 2, FEATURES): the listener's, every 20 ms


Listen = Callable[[np.ndarray, int], np.ndarray]


class AnalysedWindows:
    """Analyse windows, and keep those that end within the first `kept_frames` of the recording."""

    def __init__(
        self,
        listener: Listener,
        kept_frames: int = 0,
        features_at: Listen | None = None,
        workers: Workers | None = None,
    ) -> None:
        """features_at: what gives the features of samples from a frame of the recording on, instead of listening
        to just those; workers: of the conversion."""
        self._workers, self._device = workers or Workers(1), listener.window.device
        self._listen = features_at or (lambda samples, first_frame: listen(listener, samples))
        self._kept_frames = kept_frames
        # by where they begin, how long they are, and how many channels they have
        self._kept: dict[tuple[int, int, int], tuple[Pitch, np.ndarray, np.ndarray]] = {}

    def analyse(self, window: Window) -> AnalysedWindow:
        """Analyse a window, or return its earlier analysis."""
        mid = without_rumble(window.voice)
        place = window.first_frame, len(mid), len(window.samples)
        found = self._kept.get(place)
        if found is None:
            features, (pitch, envelope) = self._workers.beside(
                lambda: self._listen(mid, window.first_frame), lambda: _pitch_and_envelope(mid, self._device)
            )
            found = pitch, envelope, features
        if window.core_stop <= self._kept_frames:
            self._kept[place] = found
        return AnalysedWindow(mid, *found)


def _pitch_and_envelope(mid: np.ndarray, device: torch.device) -> tuple[Pitch, np.ndarray]:
    pitch = detect_pitch(mid, SAMPLE_RATE, device=str(device))
    return pitch, measure_envelope(mid, pitch, device)
