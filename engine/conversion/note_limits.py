"""Notes that a transposition moves beyond the range of notes: whether they are refused, and what is said of them."""

from dataclasses import dataclass

import numpy as np

from engine.analysis.pitch import HIGHEST_NOTE, LOWEST_NOTE
from engine.conversion.pitch_shaping import folding_semitones
from engine.errors import SettingsError
from engine.texts import numeral, tr
from engine.units import note_name, note_number

SHORTEST_NOTE_S = 0.1  # what is sung for less in all is a glide, not a note that must be within a range
_LEAST_SHARE = 0.005  # of the voiced time: less may be errors of the detector, and is folded
_LISTED = 4  # notes in a sentence
_LOWEST, _HIGHEST = note_number(LOWEST_NOTE), note_number(HIGHEST_NOTE)


@dataclass(frozen=True)
class NotesBeyond:
    """The MIDI numbers of notes that a transposition in semitones moves beyond the range of notes, from low to high.

    share: of the voiced time, 0..1. harmony: how much of the semitones a harmony's interval is.
    """

    semitones: float
    notes: list[int]
    share: float
    harmony: int = 0

    def refuse(self) -> None:
        """Raise SettingsError, naming the notes, unless they are too few to be more than errors of the detector."""
        if self.share < _LEAST_SHARE:
            return
        now, then = _listed(self.notes), _listed([note + self.semitones for note in self.notes])
        if self._are_above:
            limit = _HIGHEST - max(self.notes) - self.harmony
            raise SettingsError(
                tr(
                    "Transposed by {semitones} semitones, {now} would become {then}, above {highest_note}, the "
                    "highest note: transpose by {limit} at most, or choose fold for notes out of range.",
                    semitones=numeral(self.semitones, "+g"),
                    now=now,
                    then=then,
                    highest_note=HIGHEST_NOTE,
                    limit=numeral(limit, "+d"),
                )
            )
        limit = _LOWEST - min(self.notes) - self.harmony
        raise SettingsError(
            tr(
                "Transposed by {semitones} semitones, {now} would become {then}, below {lowest_note}, the lowest "
                "note: transpose by {limit} at most, or choose fold for notes out of range.",
                semitones=numeral(self.semitones, "+g"),
                now=now,
                then=then,
                lowest_note=LOWEST_NOTE,
                limit=numeral(limit, "+d"),
            )
        )

    @property
    def warning(self) -> str | None:
        """Return a sentence on the notes that are folded; None if there are none."""
        if not self.notes:
            return None
        wanted = np.array(self.notes) + self.semitones
        then, folded = _listed(list(wanted)), _listed(list(wanted + folding_semitones(wanted)))
        if self._are_above:
            return tr(
                "{then} would be above {highest_note}, the highest note: sung as {folded} instead.",
                then=then,
                highest_note=HIGHEST_NOTE,
                folded=folded,
            )
        return tr(
            "{then} would be below {lowest_note}, the lowest note: sung as {folded} instead.",
            then=then,
            lowest_note=LOWEST_NOTE,
            folded=folded,
        )

    @property
    def _are_above(self) -> bool:
        return self.semitones > 0


def notes_beyond(seconds: np.ndarray, semitones: float, harmony: int = 0) -> NotesBeyond:
    """Find the notes that a transposition moves beyond the range of notes.

    seconds: of each semitone, (SEMITONES,) by MIDI number, as `measure_histogram` returns them. harmony: semitones that
    the interval of a harmony adds.

    >>> seconds = np.zeros(128)
    >>> seconds[[76, 81]] = 1.0
    >>> notes_beyond(seconds, 12).notes, notes_beyond(seconds, 17).warning
    ([], 'D7 would be above C7, the highest note: sung as D6 instead.')
    """
    shift = semitones + harmony
    moved = np.arange(len(seconds)) + shift
    # half a semitone beyond a limit is still that note
    beyond = ((moved < _LOWEST - 0.5) | (moved > _HIGHEST + 0.5)) & (seconds >= SHORTEST_NOTE_S)
    total = float(seconds.sum())
    share = float(seconds[beyond].sum()) / total if total else 0.0
    return NotesBeyond(shift, np.flatnonzero(beyond).tolist(), share, harmony)


def nearest_within(seconds: np.ndarray, semitones: int, step: int = 1) -> int:
    """Return the transposition nearest to `semitones`, towards 0 in steps, that moves no note beyond the range."""
    while semitones and notes_beyond(seconds, semitones).notes:
        semitones -= int(np.sign(semitones)) * min(step, abs(semitones))
    return semitones


def _listed(notes: list[float] | list[int]) -> str:
    names = [note_name(note) for note in notes]
    if len(names) > _LISTED:
        return tr("{names} and {more} more", names=", ".join(names[: _LISTED - 1]), more=len(names) - _LISTED + 1)
    return ", ".join(names)
