"""The key in which a performance fits a voice, found while it is sung."""

import numpy as np

from engine.analysis.notes import SEMITONES
from engine.analysis.pitch_statistics import pitch_statistics
from engine.conversion.key_fit import fitting_key
from engine.units import FRAME_RATE
from engine.voices.card import VoiceCard

_LEAST_FRAMES = 100  # voiced ones, before which nothing is known
_KEPT_FRAMES = 3000  # voiced ones: who sings now may be another one


class RunningKey:
    """What was sung lately, and the transposition that was found for it."""

    def __init__(self) -> None:
        self._sung = np.zeros(0, np.float32)
        self._found: int | None = None

    def add_notes(self, semitones: np.ndarray) -> None:
        """Add the MIDI note numbers of voiced frames (frames,)."""
        self._sung = np.concatenate([self._sung, semitones])[-_KEPT_FRAMES:]

    def forget_transpose(self) -> None:
        """Find it anew, as another voice or style has another one."""
        self._found = None

    def transpose_for(self, voice: VoiceCard, sung: bool) -> int | None:
        """Return the transposition as for a recording of it, steadily; None while too little was sung."""
        if len(self._sung) < _LEAST_FRAMES:
            return None
        notes = np.rint(self._sung).astype(int).clip(0, SEMITONES - 1)
        seconds = np.bincount(notes, minlength=SEMITONES) / FRAME_RATE
        self._found = fitting_key(pitch_statistics(self._sung), seconds, voice, sung, self._found)
        return self._found
