"""Analyse the windows of a recording: pitch, envelope and the listener's features.

The survey and the renderer both need them. They are computed once unless the recording is too long to keep them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from engine.analysis.envelope import envelope_of, measure_envelope
from engine.analysis.loudness import without_rumble
from engine.analysis.pitch import Pitch, detect_pitch
from engine.analysis.windows import Window
from engine.carrying import brought, carried
from engine.devices import alone_on
from engine.networks.listener import Listener, listen, listen_together, resampled_in_silence
from engine.units import FRAME_RATE, SAMPLE_RATE
from engine.workers import Workers

KEPT_FRAMES = 6 * 60 * FRAME_RATE  # six minutes of a recording: 53 MB
MOST_BYTES = 600 << 20  # of a card's memory that windows take while they are computed together
_LONGEST_BYTES = 150 << 20  # that the longest window takes there of it


@dataclass(frozen=True, eq=False)
class AnalysedWindow:
    """The analysis of one window, on the frame grid."""

    mid: np.ndarray  # float32 (samples,), without rumble
    pitch: Pitch
    envelope: np.ndarray  # float32 (frames, BANDS)
    features: np.ndarray  # float16 (frames / 2, FEATURES): the listener's, every 20 ms


_Measured = tuple[Pitch, np.ndarray, np.ndarray]  # pitch, envelope and features
Listen = Callable[[np.ndarray, int], np.ndarray]


def windows_together(device: torch.device) -> int:
    """Return how many windows are computed in one batch: on the processor each by itself, on a card as many as a fixed
    share of its memory holds, so that the same are together whatever else it does."""
    return 1 if device.type == "cpu" else max(1, MOST_BYTES // _LONGEST_BYTES)


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
        self._listener, self._by_itself = listener, features_at is not None
        self._listen = features_at or (lambda samples, first_frame: listen(listener, samples))
        self._kept_frames = kept_frames
        # by where they begin, how long they are, and how many channels they have
        self._kept: dict[tuple[int, int, int], _Measured] = {}

    @property
    def together(self) -> int:
        """How many windows are best analysed together."""
        return 1 if self._by_itself else windows_together(self._device)

    def analyse(self, window: Window) -> AnalysedWindow:
        """Analyse a window, or return its earlier analysis."""
        [analysed] = self.analyse_together([window])
        return analysed

    def analyse_together(self, windows: Sequence[Window]) -> list[AnalysedWindow]:
        """Analyse several windows, or return their earlier analyses."""
        mids = self._workers.beside(*(partial(without_rumble, window.voice) for window in windows)) if windows else ()
        places = [(one.first_frame, len(mid), len(one.samples)) for one, mid in zip(windows, mids, strict=True)]
        found = {place: self._kept[place] for place in places if place in self._kept}
        new = [number for number, place in enumerate(places) if place not in found]
        if new and (self._by_itself or self._device.type == "cpu"):
            measured = [self._measured(mids[number], windows[number].first_frame) for number in new]
        else:
            measured = self._measured_together([mids[number] for number in new])
        found |= {places[number]: one for number, one in zip(new, measured, strict=True)}
        for window, place in zip(windows, places, strict=True):
            if window.core_stop <= self._kept_frames:
                self._kept[place] = found[place]
        return [AnalysedWindow(mid, *found[place]) for mid, place in zip(mids, places, strict=True)]

    def _measured(self, mid: np.ndarray, first_frame: int) -> _Measured:
        features, (pitch, envelope) = self._workers.beside(
            lambda: self._listen(mid, first_frame), lambda: _pitch_and_envelope(mid, self._device)
        )
        return pitch, envelope, features

    def _measured_together(self, mids: Sequence[np.ndarray]) -> list[_Measured]:
        """Measure windows where the listener is: their pitch one after the other, all else at once, with one copy to
        the device and one back."""
        if not mids:
            return []
        beside = self._workers.beside
        pitches = beside(*(partial(detect_pitch, mid, SAMPLE_RATE, device=str(self._device)) for mid in mids))
        heard = beside(*(partial(resampled_in_silence, mid) for mid in mids))
        given = zip(mids, pitches, heard, strict=True)
        curves = [(mid, pitch.hertz, pitch.voicing, samples) for mid, pitch, (samples, _) in given]
        with alone_on(self._device), torch.inference_mode():
            there = carried([torch.from_numpy(curve) for window in curves for curve in window], self._device)
            envelopes = [envelope_of(*there[first : first + 3]) for first in range(0, len(there), 4)]
            features = listen_together(self._listener, there[3::4])
            found = [one.numpy() for one in brought([*envelopes, *(one.half() for one in features)])]
        envelopes_here, features_here = found[: len(mids)], found[len(mids) :]
        return [
            (pitch, envelope, one[:frames])
            for pitch, envelope, one, (_, frames) in zip(pitches, envelopes_here, features_here, heard, strict=True)
        ]


def _pitch_and_envelope(mid: np.ndarray, device: torch.device) -> tuple[Pitch, np.ndarray]:
    pitch = detect_pitch(mid, SAMPLE_RATE, device=str(device))
    return pitch, measure_envelope(mid, pitch, device)
