"""Whether a recording is a dry vocal: one voice, without accompaniment, without a second singer, hardly any room.

Conversion renders the one pitch that the detector finds, so whatever else sounds is lost or spoils what is left. Four
measures tell mixes from dry vocals:

    between_db   the power between the harmonics of the detected pitch relative to that on them, up to 2.5 kHz: the
                 upper quartile of steady voiced moments. A voice alone has breath there, a mix the notes of the others
    floor_db     how far the quiet moments are below the loud ones. A singer breathes; accompaniment fills the pauses
    changes_db   what the cycle before does not foretell, of moments with much between the harmonics (cycles.py): little
                 where the voice itself is rough, as in growl, laughter and screams
    decay_s      seconds for 60 dB of the sound's free decays, of the faster ones

The first two form a fixed linear score, fitted on half of the mixes of `engine.benchmark dryness` (EXPERIMENTS.md says
where it is) and checked on the other half. Where the cycles foretell more than the harmonics, a voice is rough and no
mix, whatever the score.
The errors favour "dry": a mix that is not recognised is converted as before, a false alarm would be noise.
"""

from dataclasses import dataclass

import numpy as np

from engine.analysis.cycles import measure_changes
from engine.analysis.pitch import Pitch
from engine.analysis.reverberation import free_decays
from engine.analysis.voice_presence import VoicePresence, VoicePresenceMeter
from engine.filters import rfft
from engine.texts import numeral, tr
from engine.units import FRAME_RATE, HOP, SAMPLE_RATE

# the linear score: a mix above zero
BETWEEN_WEIGHT, LOW_FLOOR_WEIGHT, HIGH_FLOOR_WEIGHT, OFFSET = 0.235, 0.104, 0.228, 10.0
LEAST_BETWEEN_DB = -19.0  # less is a voice alone, however seldom it pauses
MOST_CHANGES_DB = -11.0  # of a rough voice alone
LONGEST_DECAY_S = 0.5
# Of a voice whose own sound is kept. What sounds with it is then kept too, and heard before it is worth a warning.
CLOSE_SCORE, CLOSE_DECAY_S = -2.0, 0.31
SHORTEST_S, SHORTEST_VOICED_S = 3.0, 0.5  # of a recording that is judged

_LOW_FLOOR, _HIGH_FLOOR, _LOUD = 5, 20, 95  # percentiles of the loudness
_UNKNOWN_BETWEEN_DB = -20.0  # where hardly anything is steady: that of the median dry vocal
_FEWEST_MOMENTS, _FEWEST_ROUGH, _FEWEST_DECAYS = 5, 3, 3
_MOST_ROUGH = 12  # moments of a window whose cycles are compared, since that takes ten times longer
_EVERY_FRAMES = 10
_STEADY_FRAMES, _STEADY_SEMITONES = 4, 0.35  # on each side
_LOUD_MOMENT_DB = 20.0  # below the loudest frames
_SPAN, _DECIMATION = 4096, 8  # samples
_LOWEST_HERTZ, _HIGHEST_HERTZ = 60.0, 2500.0
_HARMONIC_SHARE, _HARMONIC_HERTZ = 0.25, 25.0  # of the fundamental on each side; the main lobe of the window


@dataclass(frozen=True)
class Dryness:
    """The measures behind the decision; None where they cannot be determined."""

    duration_s: float
    voiced_s: float
    between_db: float | None
    floors_db: tuple[float, float]  # 5th and 20th percentile of the loudness, relative to the 95th
    decay_s: float | None
    presence: VoicePresence
    changes_db: float | None = None

    @property
    def score(self) -> float:
        """Return the linear score: a mix above zero."""
        between_db = _UNKNOWN_BETWEEN_DB if self.between_db is None else self.between_db
        low_db, high_db = self.floors_db
        return BETWEEN_WEIGHT * between_db + LOW_FLOOR_WEIGHT * low_db + HIGH_FLOOR_WEIGHT * high_db + OFFSET

    @property
    def is_mix(self) -> bool:
        """Whether more than one voice sounds: accompaniment, a second voice, or a voice with its own long echo."""
        return self._is_judged and not self._is_alone and not self._is_rough and self.score > 0

    @property
    def is_close(self) -> bool:
        """Whether nothing is heard but one voice, near the microphone."""
        is_in_a_room = self.decay_s is not None and self.decay_s > CLOSE_DECAY_S
        return not self._is_judged or ((self._is_alone or self.score < CLOSE_SCORE) and not is_in_a_room)

    @property
    def _is_alone(self) -> bool:
        return self.between_db is not None and self.between_db < LEAST_BETWEEN_DB

    @property
    def _is_rough(self) -> bool:
        """Whether what is between the harmonics is the voice's own: its cycles keep their shape in spite of it."""
        if self.changes_db is None or self.between_db is None:
            return False
        return self.changes_db < min(MOST_CHANGES_DB, self.between_db)

    @property
    def is_reverberant(self) -> bool:
        """Whether the sound decays as in a large room."""
        return self._is_judged and self.decay_s is not None and self.decay_s > LONGEST_DECAY_S

    @property
    def _is_judged(self) -> bool:
        return self.duration_s >= SHORTEST_S and self.voiced_s >= SHORTEST_VOICED_S

    @property
    def warning(self) -> str | None:
        """Return a sentence for the user; None for a dry vocal."""
        if self.presence.warning:
            return self.presence.warning
        if self.is_mix:
            return tr(
                "This does not sound like a dry vocal: there seems to be accompaniment, a second voice or a long "
                "reverberation in it. Only one voice is converted, so use the vocal track alone."
            )
        if self.is_reverberant:
            return tr(
                "This recording has much reverberation (about {decay_s} s), which blurs the conversion. Use the "
                "vocal without it, and add it afterwards.",
                decay_s=numeral(self.decay_s or 0.0, ".1f"),
            )
        return None


class DrynessMeter:
    """Measures a recording window by window; `finish` returns the result."""

    def __init__(self) -> None:
        self._between_db: list[float] = []
        self._changes_db: list[float] = []
        self._voiced = 0
        self._presence = VoicePresenceMeter()

    def add(self, samples: np.ndarray, pitch: Pitch, loudness_db: np.ndarray, kept: slice) -> None:
        """Measure the kept frames of a window, mono (samples,) at SAMPLE_RATE, with its pitch and loudness."""
        self._voiced += int(pitch.voiced[kept].sum())
        self._presence.add(samples[kept.start * HOP : kept.stop * HOP], pitch[kept], loudness_db[kept])
        frames = _steady_frames(pitch, loudness_db)
        frames = frames[(frames >= kept.start) & (frames < kept.stop)][::_EVERY_FRAMES]
        starts = frames * HOP - _SPAN // 2
        inside = (starts >= 0) & (starts + _SPAN <= len(samples))
        if not inside.any():
            return
        spans = np.lib.stride_tricks.sliding_window_view(samples, _SPAN)[starts[inside]]
        hertz = pitch.hertz[frames[inside]]
        between_db = _between_harmonics(spans, hertz)
        self._between_db += between_db.tolist()
        rough = _evenly(np.flatnonzero(between_db >= LEAST_BETWEEN_DB), _MOST_ROUGH)
        self._changes_db += measure_changes(spans[rough], hertz[rough]).tolist()

    def finish(self, loudness_db: np.ndarray, duration_s: float) -> Dryness:
        """Return the result; loudness_db: (frames,) of the whole recording."""
        low_db, high_db, loud_db = np.percentile(loudness_db, (_LOW_FLOOR, _HIGH_FLOOR, _LOUD)).tolist()
        between = self._between_db if len(self._between_db) >= _FEWEST_MOMENTS else None
        decays = free_decays(loudness_db)
        return Dryness(
            duration_s,
            self._voiced / FRAME_RATE,
            None if between is None else float(np.percentile(between, 75)),
            (low_db - loud_db, high_db - loud_db),
            float(np.percentile(decays, 25)) if len(decays) >= _FEWEST_DECAYS else None,
            self._presence.finish(),
            self._rough_changes_db(),
        )

    def _rough_changes_db(self) -> float | None:
        known = np.array(self._changes_db)
        known = known[~np.isnan(known)]
        return float(np.percentile(known, 75)) if len(known) >= _FEWEST_ROUGH else None


def _evenly(found: np.ndarray, most: int) -> np.ndarray:
    """Return so many of the indices (found,) at most, evenly spread."""
    return found if len(found) <= most else found[np.linspace(0, len(found) - 1, most).astype(int)]


def _steady_frames(pitch: Pitch, loudness_db: np.ndarray) -> np.ndarray:
    """Return the loud voiced frames whose pitch hardly moves, int64 (found,)."""
    frames = np.arange(_STEADY_FRAMES, len(pitch) - _STEADY_FRAMES)
    if not len(frames):
        return frames
    semitones, voiced = pitch.semitones, pitch.voiced
    steady = loudness_db[frames] > np.percentile(loudness_db, _LOUD) - _LOUD_MOMENT_DB
    for by in (-_STEADY_FRAMES, 0, _STEADY_FRAMES):
        steady &= voiced[frames + by] & (np.abs(semitones[frames + by] - semitones[frames]) < _STEADY_SEMITONES)
    return frames[steady]


def _between_harmonics(spans: np.ndarray, hertz: np.ndarray) -> np.ndarray:
    """Return the power between the harmonics relative to that on them, in dB (moments,), of spans (moments, _SPAN)."""
    # decimated by averaging: what folds back is 13 dB softer, and a voice has little above 4 kHz
    spans = spans.reshape(len(spans), -1, _DECIMATION).mean(2)
    size = spans.shape[1]
    power = np.abs(rfft(spans * np.hanning(size).astype(np.float32))) ** 2
    bins = np.fft.rfftfreq(size, _DECIMATION / SAMPLE_RATE)
    inside = (bins > _LOWEST_HERTZ) & (bins < _HIGHEST_HERTZ)
    bins, power = bins[inside], power[:, inside]
    harmonic = bins[None] / hertz[:, None]
    apart_hertz = np.abs(harmonic - np.round(harmonic)) * hertz[:, None]
    on = (apart_hertz < np.maximum(_HARMONIC_SHARE * hertz, _HARMONIC_HERTZ)[:, None]) & (harmonic > 0.5)
    between = ~on & (harmonic > 0.5)
    ratios = ((power * between).sum(1) + 1e-12) / ((power * on).sum(1) + 1e-12)
    found: np.ndarray = 10 * np.log10(ratios)
    return found
