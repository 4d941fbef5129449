"""Doubles and harmonies: the pitch of a second voice that sings with the lead.

A harmony follows the lead's notes in steps of the scale, so that a third is minor or major as the key wants it, and
takes over its glides and vibrato. A double sings the same notes, a few hundredths of a semitone off.
"""

from collections.abc import Mapping

import numpy as np

from engine.analysis.notes import SCALES, Note, find_notes, nearest_notes
from engine.analysis.pitch import Pitch
from engine.conversion.pitch_shaping import OCTAVE, weighted_average
from engine.units import FRAME_RATE

NONE = "none"
UNISON = "unison"
# steps of the scale that each harmony lies above the lead
_THIRDS, _FIFTHS = {"third_above": 2, "third_below": -2}, {"fifth_above": 4, "fifth_below": -4}
STEPS: Mapping[str, int] = {NONE: 0, UNISON: 0, **_THIRDS, **_FIFTHS, "octave_above": 7, "octave_below": -7}
_NOTES_OF_A_SCALE = 7
_GLIDE_MS = 80.0  # from the interval of one note to that of the next


def interval(note: float, steps: int, key: str) -> int:
    """Return how many semitones a harmony lies above a lead's note, so many steps of the scale away.

    A note beside the scale keeps the interval of the nearest one in it.

    >>> [interval(note, 2, "C major") for note in (60, 62, 61.2)]
    [4, 3, 3]
    """
    root = int(nearest_notes(np.array([note]), key)[0])
    scale = SCALES[key]
    octaves, place = divmod(scale.index(root % OCTAVE) + steps, _NOTES_OF_A_SCALE)
    return OCTAVE * (root // OCTAVE + octaves) + scale[place] - root


def furthest(harmony: str) -> int:
    """Return how many semitones a harmony may lie from the lead."""
    octaves, place = divmod(abs(STEPS[harmony]), _NOTES_OF_A_SCALE)
    semitones = OCTAVE * octaves + (0, 2, 4, 6, 7, 9, 11)[place]
    return semitones if STEPS[harmony] > 0 else -semitones


def harmony_curve(pitch: Pitch, harmony: str, key: str) -> np.ndarray:
    """Return how many semitones a harmony lies above each frame of a lead, float64 (frames,); key: of the lead.

    >>> lead = Pitch(np.full(200, 261.63, np.float32), np.ones(200, np.float32))
    >>> harmony_curve(lead, "third_above", "C major")[[0, 100]].round(3).tolist()
    [4.0, 4.0]
    """
    steps = STEPS[harmony]
    if steps % _NOTES_OF_A_SCALE == 0:
        return np.full(len(pitch), float(OCTAVE * steps // _NOTES_OF_A_SCALE))
    notes = find_notes(pitch, np.zeros(len(pitch)))
    if not notes:
        return np.full(len(pitch), float(furthest(harmony)))
    intervals = np.array([interval(note.midi + note.cents / 100, steps, key) for note in notes], float)
    curve: np.ndarray = weighted_average(intervals[_note_at(notes, len(pitch))], np.ones(len(pitch)), _GLIDE_MS)
    return curve


def _note_at(notes: list[Note], frames: int) -> np.ndarray:
    """Return the number of the note that each frame belongs to: half way from one to the next it is the next."""
    ends, starts = (np.array([getattr(note, name) for note in notes]) for name in ("end_s", "start_s"))
    changes = (ends[:-1] + starts[1:]) / 2
    return np.searchsorted(changes, np.arange(frames) / FRAME_RATE, "right")
