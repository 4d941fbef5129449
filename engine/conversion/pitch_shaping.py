"""Shaping the pitch curve: each setting is one function on the curve, applied in order."""

import numpy as np

from engine.analysis.notes import CHROMATIC, nearest_notes
from engine.analysis.pitch import HIGHEST_HERTZ, LOWEST_HERTZ, Pitch
from engine.analysis.pitch_statistics import PitchStatistics
from engine.filters import moving_median
from engine.units import FRAME_RATE, hertz_to_semitones, semitones_to_hertz
from engine.voices.card import VoiceCard

_NOTE_MS = 300.0  # slower changes are the note, faster ones vibrato (5 Hz and more) and glides
_FOLDED_FRAMES = 19  # one period of a slow vibrato
_LOWEST, _HIGHEST = (float(hertz_to_semitones(limit)) for limit in (LOWEST_HERTZ, HIGHEST_HERTZ))
_SNAP_FADE_MS = 60.0  # from the correction of one note to that of the next
LARGEST_TRANSPOSE = 24  # by hand, or for the best key
OCTAVE = 12  # semitones
_LARGEST_FITTING = 12  # by octaves, or of speech
_UNSURE = 2.0  # semitones by which an estimate of speech is usually off: engine/voices/estimated_pitch.py
_LIKED = 1 / 3  # of the way from known speech to estimated singing: further up judges prefer the octave below
_NEARER = 2.0  # semitones by which another octave must bring singing nearer to the voice


def smooth_pitch(pitch: Pitch, milliseconds: float) -> Pitch:
    """Average the curve over about `milliseconds`, weighted by voicing: less wobble, less vibrato."""
    if milliseconds <= 0:
        return pitch
    semitones = weighted_average(pitch.semitones, pitch.voicing, milliseconds)
    return Pitch(semitones_to_hertz(semitones).astype(np.float32), pitch.voicing)


def snap_pitch(pitch: Pitch, strength: float) -> Pitch:
    """Pull each sustained note towards the nearest semitone, fully at 1; keep vibrato and glides."""
    if strength <= 0:
        return pitch
    return pitch.transposed(strength * snap_correction(pitch.semitones, pitch.voicing))


def snap_correction(semitones: np.ndarray, voicing: np.ndarray, scale: str = CHROMATIC) -> np.ndarray:
    """Return how many semitones each sustained note lies below the nearest note of a scale, float64 (frames,)."""
    note = weighted_average(semitones, voicing, _NOTE_MS)
    return weighted_average(nearest_notes(note, scale) - note, voicing, _SNAP_FADE_MS)


def limit_pitch(pitch: Pitch) -> Pitch:
    """Hold the curve at the ends of the range of notes."""
    return Pitch(pitch.hertz.clip(LOWEST_HERTZ, HIGHEST_HERTZ), pitch.voicing)


def fold_pitch(pitch: Pitch) -> Pitch:
    """Move notes beyond the range of notes into it by octaves; vibrato across its ends is held there."""
    if ((pitch.hertz >= LOWEST_HERTZ) & (pitch.hertz <= HIGHEST_HERTZ)).all():
        return pitch
    note = moving_median(pitch.semitones, _FOLDED_FRAMES)
    return limit_pitch(pitch.transposed(folding_semitones(note)))


def folding_semitones(note: np.ndarray) -> np.ndarray:
    """Return the whole octaves, in semitones, that bring MIDI note numbers into the range of notes; same shape."""
    down, up = (np.ceil(beyond.clip(0) / OCTAVE) for beyond in (note - _HIGHEST, _LOWEST - note))
    semitones: np.ndarray = OCTAVE * (up - down)
    return semitones


def weighted_average(values: np.ndarray, voicing: np.ndarray, milliseconds: float) -> np.ndarray:
    """Average values (frames,) under a Hann window of so many milliseconds, weighted by voicing."""
    width = max(3, round(milliseconds * FRAME_RATE / 1000)) | 1
    kernel = np.hanning(width + 2)[1:-1]
    weights = np.pad(voicing.astype(np.float64) ** 2 + 1e-4, width // 2, "edge")
    padded = np.pad(values.astype(np.float64), width // 2, "edge")
    return np.convolve(padded * weights, kernel, "valid") / np.convolve(weights, kernel, "valid")


def fitting_transpose(
    source: PitchStatistics, voice: VoiceCard, sung: bool, kept: int | None = None, by_octaves: bool | None = None
) -> int:
    """Return the semitones, -12..12, that bring a recording's median pitch closest to the voice's singing or speech.

    Whole octaves for singing, or as `by_octaves` says, to keep the key; the original octave unless another one is
    clearly nearer. kept: what was found for less of it, which stays likewise, in speech too. A voice that was only
    recorded speaking sings from there a third of the way up to the estimate; one that was only recorded singing speaks
    within two semitones of it.
    """
    if voice.is_imported:  # nobody knows how high it sings
        return 0
    distance = _aim(source, voice, sung) - source.median
    by_octaves = sung if by_octaves is None else by_octaves
    step = OCTAVE if by_octaves else 1
    near = 6 + _NEARER / 2 if by_octaves else _NEARER
    if (by_octaves or kept is not None) and abs(distance - (kept or 0)) < near:
        return kept or 0
    return int(np.clip(step * round(distance / step), -_LARGEST_FITTING, _LARGEST_FITTING))


def _aim(source: PitchStatistics, voice: VoiceCard, sung: bool) -> float:
    """Return the median that is aimed at, as a MIDI note number; the source's where the voice may well be at home."""
    aim = voice.pitch_where(sung).median
    if voice.is_known_to(sung):
        return aim
    spoken = voice.pitch_where(False).median
    lowest, highest = (spoken, spoken + _LIKED * (aim - spoken)) if sung else (aim - _UNSURE, aim + _UNSURE)
    return float(np.clip(source.median, lowest, highest))
