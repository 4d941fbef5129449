"""Pitch: the fundamental frequency of a voice and the confidence in it, per frame.

Detected by SwiftF0, a small network (engine/analysis/pitch_detector.py), at one level for all passages
(engine/analysis/passage_levels.py), and then refined (engine/analysis/pitch_refinement.py). Its confidence is kept as a
continuous voicing value, since an early hard decision would cost quality later. Tones beyond its range, which it takes
for others, are unvoiced (engine/analysis/beyond_range.py); where it takes growl for the octave below, that is mended
(engine/analysis/subharmonics.py), and where it takes a raised overtone for the note, as well
(engine/analysis/overtones.py).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import soxr

from engine.analysis.beyond_range import ABOVE, BELOW, find_beyond, sustained_s
from engine.analysis.detector_grid import DETECTOR_HOP, DETECTOR_LIMITS, DETECTOR_RATE
from engine.analysis.overtones import find_drones
from engine.analysis.passage_levels import level_passages, raised
from engine.analysis.pitch_refinement import refine_pitch
from engine.analysis.subharmonics import are_subharmonics
from engine.forks import refuse_forked
from engine.reprs import Brief
from engine.texts import joined, numeral, tr
from engine.units import FRAME_RATE, SAMPLE_RATE, frame_count, hertz_to_semitones, note_name, semitones_to_hertz

# What the confidence means, 0..1, everywhere. It has two heaps: of 7,189 audible frames of eight singers and speakers
# 33 % lie below 0.35 and 61 % above 0.7. In the few between, the sound is about as often periodic (correlation with the
# next period above 0.8: in 35 to 56 %) as not; above 0.9 it is in 96 %. Where nothing has to be decided, the confidence
# itself is the weight. Under RVC's excitation 0.5 and 0.6 score alike, 0.8 worse, and 0.3 in speech.
VOICED = 0.6  # the one decision: in notes, statistics, comparisons, displays and RVC's excitation
TRUSTED = 0.3  # of the frequency, not of the voicing: below, it is interpolated instead of used
DEFAULT_HERTZ = 150.0  # for recordings without any voiced frame
_FURTHER = 2.0 ** (50 / 1200)  # a note at the detector's limit may be half a semitone beyond: refinement finds it
LOWEST_HERTZ, HIGHEST_HERTZ = DETECTOR_LIMITS[0] / _FURTHER, DETECTOR_LIMITS[1] * _FURTHER  # all that rounds to C7
LOWEST_NOTE, HIGHEST_NOTE = (note_name(float(hertz_to_semitones(limit))) for limit in DETECTOR_LIMITS)
_SHORTEST_S = 0.3  # shorter input to the detector is padded with silence
_HIGHEST_HUM_HERTZ, _HUM_SHARE = 65.0, 1e-3  # below C2, and 30 dB below the loudest moment: hum of 50 or 60 Hz
_SURE_OF_DRONES = 0.9  # confidence
_SHORTEST_BEYOND_FRAMES = 20  # of tones beyond the range that are worth a word


@dataclass(frozen=True, eq=False, repr=False)
class Pitch(Brief):
    """The pitch of a recording, one value every 10 ms.

    - hertz: float32 (frames,), fundamental frequency in Hz, above zero; interpolated where nothing is voiced (see
      `masked_hertz`)
    - voicing: float32 (frames,), confidence in it, 0..1
    - beyond: int8 (frames,), optional, where a tone is above (1) or below (-1) the range of notes, and so unvoiced;
      None if that is unknown
    """

    hertz: np.ndarray
    voicing: np.ndarray
    beyond: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.hertz.shape != self.voicing.shape or self.hertz.ndim != 1:
            raise ValueError(f"hertz {self.hertz.shape} and voicing {self.voicing.shape} must be equal and flat")

    def __len__(self) -> int:
        return len(self.hertz)

    def __getitem__(self, frames: slice) -> "Pitch":
        return Pitch(self.hertz[frames], self.voicing[frames], None if self.beyond is None else self.beyond[frames])

    @property
    def masked_hertz(self) -> np.ndarray:
        """Fundamental frequency in Hz, NaN where nothing is voiced, as in librosa; float32 (frames,)."""
        return np.where(self.voiced, self.hertz, np.float32(np.nan))

    @property
    def semitones(self) -> np.ndarray:
        """MIDI note numbers, float32 (frames,)."""
        return hertz_to_semitones(self.hertz).astype(np.float32)

    @property
    def voiced(self) -> np.ndarray:
        """Where the voicing is high enough for statistics, bool (frames,)."""
        return self.voicing > VOICED

    @property
    def voiced_semitones(self) -> np.ndarray:
        """MIDI note numbers of the voiced frames only, float32 (voiced frames,)."""
        return hertz_to_semitones(self.hertz[self.voiced])

    @staticmethod
    def joined(pitches: Iterable["Pitch"]) -> "Pitch":
        """Return the curves one after the other; they are given in order of time."""
        held = list(pitches)
        hertz, voicing = (np.concatenate([getattr(one, name) for one in held]) for name in ("hertz", "voicing"))
        beyond = [np.zeros(len(one), np.int8) if one.beyond is None else one.beyond for one in held]
        return Pitch(hertz, voicing, np.concatenate(beyond))

    @property
    def beyond_s(self) -> tuple[float, float]:
        """Seconds of sustained tones above and below the range of notes."""
        if self.beyond is None:
            return 0.0, 0.0
        above, below = (sustained_s(self.beyond, side, _SHORTEST_BEYOND_FRAMES, FRAME_RATE) for side in (ABOVE, BELOW))
        return above, below

    @property
    def beyond_warning(self) -> str | None:
        """Return a sentence about tones beyond the range of notes; None if there are none."""
        above_s, below_s = self.beyond_s
        said = []
        if above_s:
            said.append(
                tr(
                    "{above_s} s are too high to convert (above {highest_note}); keep the original there.",
                    above_s=numeral(above_s, ".1f"),
                    highest_note=HIGHEST_NOTE,
                )
            )
        if below_s:
            said.append(
                tr(
                    "{below_s} s are too low to convert (below {lowest_note}); keep the original there.",
                    below_s=numeral(below_s, ".1f"),
                    lowest_note=LOWEST_NOTE,
                )
            )
        return joined(" ", said) or None

    def one_frame_longer(self) -> "Pitch":
        """Return the curve (frames + 1,) with its last frame repeated, so that the samples after its centre are
        covered."""
        return Pitch(np.pad(self.hertz, (0, 1), "edge"), np.pad(self.voicing, (0, 1), "edge"))

    def transposed(self, semitones: float | np.ndarray) -> "Pitch":
        """Return the pitch transposed up by semitones: one number, or one for each frame (frames,)."""
        return Pitch((self.hertz * 2.0 ** (np.asarray(semitones) / 12.0)).astype(np.float32), self.voicing)


def detect_pitch(samples: np.ndarray, rate: int, gain_db: float | None = None, device: str = "cpu") -> Pitch:
    """Detect the pitch of a voice every 10 ms; silence and noise give voicing near 0.

    Parameters
    ----------
    samples : float (samples,)
        One channel, full scale is -1..1.
    rate : int
        Samples per second, in Hz.
    gain_db : float, optional
        The gain that brings the samples to the detector's level, if known.
    device : str
        Where the detector's network runs; everything around it runs on the processor.

    Returns
    -------
    Pitch
        (frames,), frame i centred at i * 10 ms.

    Examples
    --------
    >>> from engine import read_audio
    >>> vocal = read_audio("vocal.flac")
    >>> pitch = detect_pitch(vocal.mono(), vocal.rate)
    >>> len(pitch), bool(100 < np.median(pitch.hertz[pitch.voiced]) < 1000)
    (301, True)
    """
    from engine.analysis.pitch_detector import detect  # which loads torch

    frames = frame_count(round(len(samples) * SAMPLE_RATE / rate))
    listened = samples if rate == DETECTOR_RATE else soxr.resample(samples, rate, DETECTOR_RATE)
    listened = np.asarray(listened, np.float32)
    shortest = int(_SHORTEST_S * DETECTOR_RATE)
    if len(listened) < shortest:
        listened = np.pad(listened, (0, shortest - len(listened)))
    if not listened.any():
        return Pitch(np.full(frames, DEFAULT_HERTZ, np.float32), np.zeros(frames, np.float32))
    levelled = level_passages(listened, DETECTOR_RATE) if gain_db is None else raised(listened, gain_db)
    refuse_forked()
    track = detect(levelled, device)
    beyond = find_beyond(levelled, DETECTOR_RATE, DETECTOR_HOP, track.confidence, (LOWEST_HERTZ, HIGHEST_HERTZ))
    asked = (track.confidence > TRUSTED) | (beyond == ABOVE)
    drone = find_drones(levelled, DETECTOR_RATE, DETECTOR_HOP, track.hertz, asked)
    beyond[drone > 0.0] = 0
    confidence = np.where((beyond != 0) | _is_hum(listened, track.hertz), 0.0, track.confidence)
    asked = (confidence > TRUSTED) & (track.hertz < HIGHEST_HERTZ / 2)
    octave = are_subharmonics(levelled, DETECTOR_RATE, DETECTOR_HOP, track.hertz, asked)
    found = np.where(drone > 0.0, drone, track.hertz * (1 + octave))
    confidence = np.where(drone > 0.0, np.maximum(confidence, _SURE_OF_DRONES), confidence)
    pitch = _on_grid(track.times_s, found, confidence, beyond, frames)
    hertz = refine_pitch(listened, DETECTOR_RATE, pitch.hertz, pitch.voicing, FRAME_RATE, DETECTOR_LIMITS)
    return Pitch(hertz.clip(LOWEST_HERTZ, HIGHEST_HERTZ), pitch.voicing, pitch.beyond)


def _is_hum(samples: np.ndarray, hertz: np.ndarray) -> np.ndarray:
    """Return which of the detector's frames are as low as mains hum and far softer than the voice, bool (frames,)."""
    hops = np.pad(samples, (0, DETECTOR_HOP))[: len(hertz) * DETECTOR_HOP].reshape(len(hertz), DETECTOR_HOP)
    power = np.square(hops).mean(1)
    is_hum: np.ndarray = (hertz < _HIGHEST_HUM_HERTZ) & (power < _HUM_SHARE * power.max())
    return is_hum


def _on_grid(times_s: np.ndarray, hertz: np.ndarray, confidence: np.ndarray, beyond: np.ndarray, frames: int) -> Pitch:
    """Return the curves every 10 ms; a frame is no more voiced than the frequencies around it are trusted."""
    grid_s = np.arange(frames) / FRAME_RATE
    voicing = np.interp(grid_s, times_s, np.nan_to_num(confidence)).clip(0.0, 1.0).astype(np.float32)
    nearest = np.rint(grid_s * DETECTOR_RATE / DETECTOR_HOP).astype(int).clip(max=len(beyond) - 1)
    trusted = confidence > TRUSTED
    if not trusted.any():
        return Pitch(np.full(frames, DEFAULT_HERTZ, np.float32), voicing, beyond[nearest])
    semitones = np.interp(grid_s, times_s[trusted], hertz_to_semitones(hertz[trusted].astype(np.float64)))
    return Pitch(semitones_to_hertz(semitones).astype(np.float32), voicing, beyond[nearest])
