"""The key in which a performance fits a voice, found while it is sung or spoken."""

import numpy as np

from engine.analysis.notes import audible, measure_histogram
from engine.analysis.pitch import Pitch
from engine.analysis.pitch_statistics import pitch_statistics
from engine.analysis.style import measure_style
from engine.conversion.key_fit import fitting_key
from engine.units import FRAME_RATE
from engine.voices.card import VoiceCard

_LEAST_FRAMES = 100  # voiced ones, before which nothing is known
_TOLD_FRAMES = 500  # voiced ones, before which songs are often taken for speech (engine/EXPERIMENTS.md)
_KEPT_FRAMES = 6000  # about half of them voiced: who sings now may be another one


class RunningKey:
    """What was heard lately, and the transposition that was found for it."""

    def __init__(self) -> None:
        self._pitch = Pitch(np.ones(0, np.float32), np.zeros(0, np.float32))
        self._loudness_db = np.zeros(0, np.float32)
        self._found: int | None = None
        self._until_found = 0

    def add(self, pitch: Pitch, loudness_db: np.ndarray) -> None:
        """Add frames as they were sung, in which something sounds; loudness_db: (frames,)."""
        self._pitch = Pitch.joined([self._pitch, pitch])[-_KEPT_FRAMES:]
        self._loudness_db = np.concatenate([self._loudness_db, loudness_db])[-_KEPT_FRAMES:]
        self._until_found -= len(pitch)

    def forget_transpose(self) -> None:
        """Find it anew, as another voice or style has another one."""
        self._found, self._until_found = None, 0

    def transpose_for(self, voice: VoiceCard, sung: bool) -> int | None:
        """Return the transposition as for a recording of it, steadily; None while too little was heard.

        sung: whether it is by octaves, which keep the key; also then speech goes to where the voice speaks.
        """
        if self._until_found > 0:
            return self._found
        heard = audible(self._pitch, self._loudness_db)
        if (count := int(heard.sum())) < _LEAST_FRAMES:
            return None
        self._until_found = FRAME_RATE
        seconds = measure_histogram(self._pitch, self._loudness_db)
        told = sung and count >= _TOLD_FRAMES
        is_song = measure_style(self._pitch, self._loudness_db) == "melodic" if told else sung
        statistics = pitch_statistics(self._pitch.semitones[heard])
        self._found = fitting_key(statistics, seconds, voice, is_song, self._found, sung)
        return self._found
