"""Whether there is a voice in a recording at all: silence, clicks, noise, hum and other tones have none.

A voice has a pitch for a stretch of time, which moves, or its loudness does. Noise and clicks have a pitch in single
frames at most, and hum one that stands still. A machine's vowel may stand still as well, but its many harmonics have
formants: their levels are like their neighbours', and rise somewhere, which those of hum do not.

Whispering has no pitch either and cannot be told from noise for certain, so such a recording is converted, with a
warning. A low sine, a dial tone or a chord has none for the detector; but its power lies in narrow lines, which noise
has not. A whistle has a pitch, and counts as a voice.
"""

from dataclasses import dataclass

import numpy as np

from engine.analysis.pitch import Pitch
from engine.analysis.runs import true_runs
from engine.filters import rfft
from engine.texts import tr
from engine.units import FRAME_RATE, HOP, SAMPLE_RATE

SILENT_PEAK = 1e-5  # -100 dB; a recording of 16 bits has nothing below -90 dB but zeros
_SHORTEST_RUN_FRAMES = 6  # of one vowel: noise reaches 3
_STILL_SEMITONES, _STILL_DB = 0.03, 0.5  # a sung note moves by 0.17 and 1.0 at least
_FEWEST_HARMONICS, _HARMONIC_DB, _CLEAR = 9, -40.0, 10.0  # of a vowel, below its strongest, and above what is between
_LEAST_RISE_DB, _LEAST_ALIKE = 5.0, 0.5  # the correlation of levels of neighbours, without the fall of all
_FORMANTS_HERTZ, _VOWEL_SPAN = 5000.0, 8192
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
                "This recording contains tones that are not a voice, such as hum or a beep: check that this is the "
                "vocal."
            )
        if not self.voiced_s and not self.has_tones_beyond:
            return tr(
                "No voice was found in this recording: it is noise, or whispered throughout. Noise stays noise, so "
                "check that this is the vocal."
            )
        return None


class VoicePresenceMeter:
    """Measures a recording window by window; `finish` returns the result."""

    def __init__(self) -> None:
        self._semitones: list[np.ndarray] = []
        self._levels_db: list[np.ndarray] = []
        self._loudest_db = -np.inf
        self._has_tones_beyond = False
        self._vowels: list[bool] = []  # of windows that stand still
        self._power = self._line_power = 0.0  # of what comes before the first pitch

    def add(self, samples: np.ndarray, pitch: Pitch, loudness_db: np.ndarray) -> None:
        """Measure a window, mono (samples,) at SAMPLE_RATE, and its frames, (frames,) each."""
        self._loudest_db = max(self._loudest_db, float(loudness_db.max(initial=-np.inf)))
        self._has_tones_beyond |= any(pitch.beyond_s)
        runs = [(start, stop) for start, stop in true_runs(pitch.voiced) if stop - start >= _SHORTEST_RUN_FRAMES]
        semitones = [pitch.semitones[start:stop] for start, stop in runs]
        levels_db = [loudness_db[start:stop] for start, stop in runs]
        if runs and _are_still(semitones, levels_db):
            start, stop = max(runs, key=lambda run: run[1] - run[0])
            middle = samples[max(0, (start + stop) * HOP // 2 - _VOWEL_SPAN // 2) :][:_VOWEL_SPAN]
            self._vowels.append(_is_vowel(middle, float(np.median(pitch.hertz[start:stop]))))
        self._semitones += semitones
        self._levels_db += levels_db
        if not self._semitones:
            power, line_power = _measure_lines(samples)
            self._power, self._line_power = self._power + power, self._line_power + line_power

    def finish(self) -> VoicePresence:
        """Return the result."""
        if not self._semitones:
            are_tones = self._line_power > (1 - _MOST_NOISE) * self._power
            return VoicePresence(self._loudest_db, 0.0, are_tones, self._has_tones_beyond)
        are_tones = _are_still(self._semitones, self._levels_db) and 2 * sum(self._vowels) <= len(self._vowels)
        return VoicePresence(self._loudest_db, sum(map(len, self._semitones)) / FRAME_RATE, are_tones)


def _are_still(semitones: list[np.ndarray], levels_db: list[np.ndarray]) -> bool:
    """Whether neither pitch nor level moves in runs of frames, (frames,) each."""
    pitches = np.concatenate(semitones)
    moved = float(np.median(np.abs(pitches - np.median(pitches))))
    return moved < _STILL_SEMITONES and float(np.concatenate(levels_db).std()) < _STILL_DB


def _is_vowel(samples: np.ndarray, hertz: float) -> bool:
    """Whether the harmonics of a constant sound, samples (samples,), have the formants of a vowel."""
    numbers = np.arange(1, int(_FORMANTS_HERTZ / hertz) + 1)
    if len(numbers) < _FEWEST_HARMONICS:
        return False
    power = np.square(np.abs(rfft(samples * np.hanning(len(samples)))))
    power = np.maximum(power, np.maximum(np.roll(power, 1), np.roll(power, -1)))  # of the three bins around each
    at, beside = (np.round((numbers + by) * hertz * len(samples) / SAMPLE_RATE).astype(int) for by in (0.0, 0.5))
    levels_db = 10 * np.log10(power[at] + 1e-20)
    clear = (levels_db > levels_db.max() + _HARMONIC_DB) & (power[at] > _CLEAR * power[beside])
    kept = np.flatnonzero(clear)[-1] + 1 if clear.any() else 0
    if clear.sum() < max(_FEWEST_HARMONICS, kept / 2):
        return False
    levels_db, fall = levels_db[:kept], np.log(numbers[:kept])
    apart_db = levels_db - np.polynomial.Polynomial.fit(fall, levels_db, 1)(fall)
    alike = (apart_db[1:] * apart_db[:-1]).sum() / (np.square(apart_db).sum() + 1e-9)
    rise_db = (levels_db - np.minimum.accumulate(levels_db)).max()
    return bool(rise_db > _LEAST_RISE_DB and alike > _LEAST_ALIKE)


def _measure_lines(samples: np.ndarray) -> tuple[float, float]:
    """Return the power of samples (samples,), and that in narrow lines of their spectra."""
    spans = np.pad(samples, (0, -len(samples) % _SPAN)).reshape(-1, _SPAN)
    stop = _LOWEST_BIN + (_SPAN // 2 - _LOWEST_BIN) // _BLOCK_BINS * _BLOCK_BINS
    power = np.square(np.abs(rfft(spans * np.hanning(_SPAN))[:, _LOWEST_BIN:stop]))
    flat = power * np.arange(_LOWEST_BIN, stop)  # between white noise and the rumble of wind, which falls
    blocks = flat.reshape(len(spans), (stop - _LOWEST_BIN) // _BLOCK_BINS, _BLOCK_BINS)
    is_line = blocks > _LINE_POWER * np.median(blocks, axis=2, keepdims=True)
    return float(power.sum()), float(power[is_line.reshape(power.shape)].sum())
