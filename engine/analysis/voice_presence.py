"""Whether there is a voice in a recording at all: silence, clicks, noise, hum and other tones have none.

A voice has a pitch for a stretch of time, which moves, or its loudness does. Noise and clicks have a pitch in single
frames at most, and hum one that stands still. Whispering has no pitch either and cannot be told from noise for certain,
so such a recording is converted, with a warning. A low sine, a dial tone or a chord has none for the detector; but its
power lies in narrow lines, which noise has not. A whistle has a pitch, and counts as a voice.
"""

from dataclasses import dataclass

import numpy as np
from scipy import fft

from engine.analysis.pitch import Pitch
from engine.analysis.runs import true_runs
from engine.texts import tr
from engine.units import FRAME_RATE

SILENT_PEAK = 1e-5  # -100 dB; a recording of 16 bits has nothing below -90 dB but zeros
_SHORTEST_RUN_FRAMES = 6  # of one vowel: noise reaches 3
_STILL_SEMITONES, _STILL_DB = 0.03, 0.5  # a sung note moves by 0.17 and 1.0 at least
_SPAN, _BLOCK_BINS = 16_384, 32  # samples of a spectrum, and bins (86 Hz) in which a line stands out
_LINE_POWER, _LOWEST_BIN = 30.0, 12  # of the median around it, which noise never reaches; above 32 Hz
_MOST_NOISE = 0.5  # of the power that may lie beside the lines of tones
SILENT = tr("This recording is silent: choose another one, or check the microphone.")


@dataclass(frozen=True)
class VoicePresence:
    """loudest_db: of all frames. voiced_s: seconds with a pitch, single frames left out. are_tones: whether there are
    tones alone, steady ones or such as have no pitch. has_tones_beyond: whether tones are beyond the range of notes,
    said elsewhere.
    """

    loudest_db: float
    voiced_s: float
    are_tones: bool
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
        if self.are_tones and not self.has_tones_beyond:
            return tr(
                "This recording holds tones without a voice, as of a hum or a beep: check that this is the vocal.",
            )
        if not self.voiced_s and not self.has_tones_beyond:
            return (
                tr("No voice was found in this recording: it is noise, or whispered throughout. Noise stays noise, so "
                "check that this is the vocal.")
            )
        return None


class VoicePresenceMeter:
    """Measures a recording window by window; `finish` returns the result."""

    def __init__(self) -> None:
        self._semitones: list[np.ndarray] = []
        self._levels_db: list[np.ndarray] = []
        self._loudest_db = -np.inf
        self._has_tones_beyond = False
        self._power = self._line_power = 0.0  # of what comes before the first pitch

    def add(self, samples: np.ndarray, pitch: Pitch, loudness_db: np.ndarray) -> None:
        """Measure a window, mono (samples,) at SAMPLE_RATE, and its frames, (frames,) each."""
        self._loudest_db = max(self._loudest_db, float(loudness_db.max(initial=-np.inf)))
        self._has_tones_beyond |= any(pitch.beyond_s)
        for start, stop in true_runs(pitch.voiced):
            if stop - start >= _SHORTEST_RUN_FRAMES:
                self._semitones.append(pitch.semitones[start:stop])
                self._levels_db.append(loudness_db[start:stop])
        if not self._semitones:
            power, line_power = _measure_lines(samples)
            self._power, self._line_power = self._power + power, self._line_power + line_power

    def finish(self) -> VoicePresence:
        """Return the result."""
        if not self._semitones:
            are_tones = self._line_power > (1 - _MOST_NOISE) * self._power
            return VoicePresence(self._loudest_db, 0.0, are_tones, self._has_tones_beyond)
        semitones, levels_db = np.concatenate(self._semitones), np.concatenate(self._levels_db)
        moved = float(np.median(np.abs(semitones - np.median(semitones))))
        is_still = moved < _STILL_SEMITONES and float(levels_db.std()) < _STILL_DB
        return VoicePresence(self._loudest_db, len(semitones) / FRAME_RATE, is_still)


def _measure_lines(samples: np.ndarray) -> tuple[float, float]:
    """Return the power of samples (samples,), and that in narrow lines of their spectra."""
    spans = np.pad(samples, (0, -len(samples) % _SPAN)).reshape(-1, _SPAN)
    stop = _LOWEST_BIN + (_SPAN // 2 - _LOWEST_BIN) // _BLOCK_BINS * _BLOCK_BINS
    power = np.square(np.abs(fft.rfft(spans * np.hanning(_SPAN), axis=1)[:, _LOWEST_BIN:stop]))
    flat = power * np.arange(_LOWEST_BIN, stop)  # between white noise and the rumble of wind, which falls
    blocks = flat.reshape(len(spans), (stop - _LOWEST_BIN) // _BLOCK_BINS, _BLOCK_BINS)
    is_line = blocks > _LINE_POWER * np.median(blocks, axis=2, keepdims=True)
    return float(power.sum()), float(power[is_line.reshape(power.shape)].sum())
