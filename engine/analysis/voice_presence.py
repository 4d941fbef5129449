"""Whether there is a voice in a recording at all: silence, clicks, noise and hum have none.

A voice has a pitch for a stretch of time, which moves, or its loudness does. Noise and clicks have a pitch in single
frames at most, and hum one that stands still. Whispering has no pitch either and cannot be told from noise for certain,
so such a recording is converted, with a warning.
"""

from dataclasses import dataclass

import numpy as np

from engine.analysis.pitch import Pitch
from engine.analysis.runs import true_runs
from engine.units import FRAME_RATE

SILENT_PEAK = 1e-5  # -100 dB; a recording of 16 bits has nothing below -90 dB but zeros
_SHORTEST_RUN_FRAMES = 6  # of one vowel: noise reaches 3
_STILL_SEMITONES, _STILL_DB = 0.03, 0.5  # a sung note moves by 0.17 and 1.0 at least
SILENT = "This recording is silent: choose another one, or check the microphone."


@dataclass(frozen=True)
class VoicePresence:
    """loudest_db: of all frames. voiced_s: seconds with a pitch, single frames left out. still: whether pitch and
    loudness stand still there. has_tones_beyond: whether tones are beyond the range of notes, said elsewhere.
    """

    loudest_db: float
    voiced_s: float
    still: bool
    has_tones_beyond: bool = False

    @property
    def is_silent(self) -> bool:
        """Whether there is nothing but zeros."""
        return self.loudest_db < 20.0 * np.log10(SILENT_PEAK)

    @property
    def warning(self) -> str | None:
        """Return a sentence for the user; None where there is a voice."""
        if self.is_silent:
            return SILENT
        if not self.voiced_s and not self.has_tones_beyond:
            return (
                "No voice was found in this recording: it is noise, or whispered throughout. Noise stays noise, so "
                "check that this is the vocal."
            )
        if self.still:
            return "This recording is a steady hum or tone without a voice: check that this is the vocal."
        return None


class VoicePresenceMeter:
    """Measures a recording window by window; `finish` returns the result."""

    def __init__(self) -> None:
        self._semitones: list[np.ndarray] = []
        self._levels_db: list[np.ndarray] = []
        self._loudest_db = -np.inf
        self._has_tones_beyond = False

    def add(self, pitch: Pitch, loudness_db: np.ndarray) -> None:
        """Measure the frames of a window, (frames,) each."""
        self._loudest_db = max(self._loudest_db, float(loudness_db.max(initial=-np.inf)))
        self._has_tones_beyond |= any(pitch.beyond_s)
        for start, stop in true_runs(pitch.voiced):
            if stop - start >= _SHORTEST_RUN_FRAMES:
                self._semitones.append(pitch.semitones[start:stop])
                self._levels_db.append(loudness_db[start:stop])

    def finish(self) -> VoicePresence:
        """Return the result."""
        if not self._semitones:
            return VoicePresence(self._loudest_db, 0.0, False, self._has_tones_beyond)
        semitones, levels_db = np.concatenate(self._semitones), np.concatenate(self._levels_db)
        moved = float(np.median(np.abs(semitones - np.median(semitones))))
        still = moved < _STILL_SEMITONES and float(levels_db.std()) < _STILL_DB
        return VoicePresence(self._loudest_db, len(semitones) / FRAME_RATE, still)
