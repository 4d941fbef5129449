"""Scales: which notes of the octave melodies in a key are made of."""

import numpy as np

CHROMATIC = "chromatic"
_NAMES = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")
_MAJOR = (0, 2, 4, 5, 7, 9, 11)
_MINOR = (0, 2, 3, 5, 7, 8, 10)
# the notes of each scale as MIDI numbers modulo 12
SCALES: dict[str, tuple[int, ...]] = {CHROMATIC: tuple(range(12))} | {
    f"{name} {mode}": tuple(sorted((key + step) % 12 for step in steps))
    for mode, steps in (("major", _MAJOR), ("minor", _MINOR))
    for key, name in enumerate(_NAMES)
}


def nearest_notes(semitones: np.ndarray, scale: str = CHROMATIC) -> np.ndarray:
    """The note of a scale next to each MIDI number, same shape."""
    if scale == CHROMATIC:
        return np.round(semitones)
    notes = np.flatnonzero(np.isin(np.arange(-12, 140) % 12, SCALES[scale])) - 12.0
    above = np.searchsorted(notes, semitones).clip(1, len(notes) - 1)
    nearer_above = notes[above] - semitones < semitones - notes[above - 1]
    return np.where(nearer_above, notes[above], notes[above - 1])
