"""Edits of a take's pitch curve: regions are shifted, smoothed, snapped or drawn, notes are shaped.

Edits apply one after the other to the original curve of the take, in semitones. The list of edits is kept, never their
result, so that repeated editing loses nothing. The curve glides at both ends of a region, half inside and half outside
it; further away it stays the same to the last bit. So do the formants and the level of notes.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from itertools import pairwise
from math import isfinite
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from engine.analysis.notes import CHROMATIC, SCALES
from engine.analysis.octave_errors import octave_errors
from engine.analysis.pitch import HIGHEST_HERTZ, HIGHEST_NOTE, LOWEST_HERTZ, LOWEST_NOTE, Pitch
from engine.analysis.runs import true_runs
from engine.conversion.note_shape import LONGEST_NOTE_S, note_shape
from engine.conversion.pitch_shaping import fold_pitch, snap_correction, weighted_average
from engine.errors import SettingsError
from engine.reprs import Brief
from engine.settings import check_settings, setting, text_setting, with_ranges
from engine.texts import ntr, numeral, tr
from engine.units import FRAME_RATE, note_name

SHORTEST_S = 0.05  # of a region, as long as the glides at its ends
LONGEST_S = 24 * 3600.0
_LOWEST_DRAWN, _HIGHEST_DRAWN = 24.0, 96.0  # that can be drawn, as MIDI numbers
MOST_EDITS = 1000
MOST_POINTS = 20_000  # of one drawing
AUTO = "auto"
_GLIDE_FRAMES = 5
_CONTEXT_FRAMES = 2 * FRAME_RATE  # around a region, for its tool
_SHORTEST_NOTE_FRAMES = 10  # beyond the range of notes: less may be errors of the detector
_FURTHEST_FORMANTS, _FURTHEST_LEVEL_DB = 12.0, 24.0  # by which edits that overlap may move them together


@dataclass(frozen=True, repr=False)
class Curve(Brief):
    """A part of a take's pitch.

    Attributes
    ----------
    semitones : float64 (frames,)
        MIDI note numbers.
    voicing : float64 (frames,)
        0..1.
    first : int
        The take's frame at its start.
    inside : slice
        The frames of the part to edit.
    """

    semitones: np.ndarray
    voicing: np.ndarray
    first: int
    inside: slice


@dataclass(frozen=True, repr=False)
class Change(Brief):
    """How far each frame moves.

    Attributes
    ----------
    semitones : float64 (frames,)
        Up is above zero.
    octaves : int8 (frames,) or None
        How many octaves too low (below zero: too high) the pitch was detected, if that is why.
    formants : float
        Semitones by which the formants of the whole region move.
    level_db : float
        By how much the whole region becomes louder.
    """

    semitones: np.ndarray
    octaves: np.ndarray | None = None
    formants: float = 0.0
    level_db: float = 0.0


@with_ranges
@dataclass(frozen=True)
class PitchEdit(ABC):
    """One edit of a region of a take. Raises SettingsError for any value outside its range."""

    tool: ClassVar[str]
    meaning: ClassVar[str]

    start_s: float = setting(MISSING, 0.0, LONGEST_S, tr("Where the region begins, in seconds."))
    end_s: float = setting(MISSING, 0.0, LONGEST_S, tr("Where the region ends, in seconds."))

    def __post_init__(self) -> None:
        check_settings(self)
        if self.end_s - self.start_s < SHORTEST_S - 1e-9:
            raise SettingsError(
                tr(
                    "A region must be at least {shortest_s} s long; from {start_s} s to {end_s} s is less.",
                    shortest_s=SHORTEST_S,
                    start_s=numeral(self.start_s, "g"),
                    end_s=numeral(self.end_s, "g"),
                )
            )

    @abstractmethod
    def change(self, curve: Curve) -> Change:
        """Return how the curve moves; values outside the region are ignored.

        Parameters
        ----------
        curve : Curve
            The part of the take.

        Returns
        -------
        Change
            For each frame of the part.
        """


@with_ranges
@dataclass(frozen=True)
class Shift(PitchEdit):
    """Shift the region by one interval."""

    tool: ClassVar[str] = "shift"
    meaning: ClassVar[str] = tr("Moves the region up or down.")

    semitones: float = setting(MISSING, -24.0, 24.0, tr("How far, in semitones; up is above zero."))

    def change(self, curve: Curve) -> Change:
        """Return the same shift for all frames.

        Parameters
        ----------
        curve : Curve
            The part of the take.

        Returns
        -------
        Change
            In semitones.
        """
        return Change(np.full(len(curve.semitones), float(self.semitones)))


@with_ranges
@dataclass(frozen=True)
class Smooth(PitchEdit):
    """Average the curve over time."""

    tool: ClassVar[str] = "smooth"
    meaning: ClassVar[str] = tr("Evens out wobble; much of it takes out vibrato.")

    milliseconds: float = setting(250.0, 20.0, 2000.0, tr("Anything faster than this is evened out."))

    def change(self, curve: Curve) -> Change:
        """Return the way from the curve to its average.

        Parameters
        ----------
        curve : Curve
            The part of the take.

        Returns
        -------
        Change
            In semitones.
        """
        return Change(weighted_average(curve.semitones, curve.voicing, self.milliseconds) - curve.semitones)


@with_ranges
@dataclass(frozen=True)
class FixOctave(PitchEdit):
    """Correct pitch that was detected an octave too low or too high."""

    tool: ClassVar[str] = "octave"
    meaning: ClassVar[str] = tr("Moves octave errors back to where the melody is.")

    by: int | str = setting(
        AUTO, -2, 2, tr("Octaves up or down; auto finds errors by the notes around them."), words=(tr("auto"),)
    )

    def change(self, curve: Curve) -> Change:
        """Return whole octaves.

        Parameters
        ----------
        curve : Curve
            The part of the take.

        Returns
        -------
        Change
            Between parts with different shifts the curve is a straight line.
        """
        if not isinstance(self.by, str):
            octaves = np.full(len(curve.semitones), self.by, np.int8)
            return Change(12.0 * octaves, octaves)
        octaves, sure = octave_errors(curve.semitones, curve.voicing, curve.inside)
        if not octaves.any():
            return Change(np.zeros(len(octaves)), octaves)
        known, frames = np.flatnonzero(sure), np.arange(len(octaves))
        after = np.searchsorted(known, frames).clip(0, len(known) - 1)
        before = (np.searchsorted(known, frames, "right") - 1).clip(0)
        left, right = octaves[known[before]], octaves[known[after]]
        moved = curve.semitones + 12.0 * left
        straight = np.interp(frames, known, moved[known])
        return Change(np.where(left == right, moved, straight) - curve.semitones, left)


@with_ranges
@dataclass(frozen=True)
class Snap(PitchEdit):
    """Pull sustained notes to the notes of a scale."""

    tool: ClassVar[str] = "snap"
    meaning: ClassVar[str] = tr("Pulls sustained notes to the nearest note of the scale; vibrato and glides stay.")

    strength: float = setting(1.0, 0.0, 1.0, tr("How far they are pulled: 0 is not at all, 1 is all the way."))
    scale: str = text_setting(CHROMATIC, tr("The scale; chromatic has all notes."), words=tuple(SCALES))

    def change(self, curve: Curve) -> Change:
        """Return the way to the nearest notes, times the strength.

        Parameters
        ----------
        curve : Curve
            The part of the take.

        Returns
        -------
        Change
            In semitones.
        """
        return Change(self.strength * snap_correction(curve.semitones, curve.voicing, self.scale))


@with_ranges
@dataclass(frozen=True)
class ShapeNote(PitchEdit):
    """Change one note: its centre, slope, drift and vibrato, which its pitch is made of, its formants and its level."""

    tool: ClassVar[str] = "note"
    meaning: ClassVar[str] = tr("Changes vibrato, drift, centre, slope, formants and level of a note, each by itself.")

    vibrato: float = setting(1.0, 0.0, 2.0, tr("How deep the vibrato is: 0 takes it out, 2 doubles it."))
    drift: float = setting(1.0, 0.0, 2.0, tr("How far the note wanders slowly: 0 holds it on one pitch."))
    centre: float = setting(0.0, -12.0, 12.0, tr("How far the whole note moves, in semitones."))
    slope: float = setting(
        0.0, -12.0, 12.0, tr("How much higher its end becomes than its start, in semitones; its centre stays.")
    )
    formant_shift_semitones: float = setting(
        0.0, -6.0, 6.0, tr("Makes the voice sound smaller (up) or larger (down) on this note; its pitch stays.")
    )
    level_db: float = setting(0.0, -12.0, 12.0, tr("How much louder the note becomes, in decibels."))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.end_s - self.start_s > LONGEST_NOTE_S + 1e-9:
            raise SettingsError(
                tr("A note is {longest_note_s} s long at most: choose a shorter region.", longest_note_s=LONGEST_NOTE_S)
            )

    def change(self, curve: Curve) -> Change:
        """Return how the parts of the note change; the rest, such as the glide to it, stays.

        Parameters
        ----------
        curve : Curve
            The part of the take.

        Returns
        -------
        Change
            Beyond the ends of the note as at them.
        """
        inside, frames = curve.inside, len(curve.semitones)
        change = self.centre + self.slope * np.linspace(-0.5, 0.5, inside.stop - inside.start)
        if self.vibrato != 1.0 or self.drift != 1.0:
            shape = note_shape(curve.semitones[inside], curve.voicing[inside])
            change = change + (self.vibrato - 1.0) * shape.vibrato + (self.drift - 1.0) * shape.drift
        semitones = np.pad(change, (inside.start, frames - inside.stop), "edge")
        return Change(semitones, None, self.formant_shift_semitones, self.level_db)


@with_ranges
@dataclass(frozen=True, repr=False)
class Draw(Brief, PitchEdit):
    """Replace the pitch with a drawn curve.

    Parameters
    ----------
    points : sequence of (float, float)
        Seconds and MIDI note numbers, with straight lines between them.
    """

    tool: ClassVar[str] = "draw"
    meaning: ClassVar[str] = tr("Sings the curve that is drawn.")

    points: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        points = self.points
        if not isinstance(points, Sequence) or isinstance(points, str) or not 1 <= len(points) <= MOST_POINTS:
            raise SettingsError(
                ntr(
                    "points must be 1 to {most_points} pair of seconds and a note number.",
                    "points must be 1 to {most_points} pairs of seconds and a note number.",
                    most_points=MOST_POINTS,
                )
            )
        if not all(_is_point(point) for point in points):
            raise SettingsError(
                tr(
                    "Each of the points must be a time in seconds and a note number from {lowest_drawn} to "
                    "{highest_drawn}.",
                    lowest_drawn=numeral(_LOWEST_DRAWN, "g"),
                    highest_drawn=numeral(_HIGHEST_DRAWN, "g"),
                )
            )
        times = [float(point[0]) for point in points]
        if any(later <= earlier for earlier, later in pairwise(times)):
            raise SettingsError(tr("The points of a drawn curve must follow each other in time."))
        if times[0] < self.start_s - 1e-6 or times[-1] > self.end_s + 1e-6:
            raise SettingsError(
                tr(
                    "A curve must be drawn within its region, {start_s} s to {end_s} s.",
                    start_s=numeral(self.start_s, "g"),
                    end_s=numeral(self.end_s, "g"),
                )
            )
        object.__setattr__(self, "points", tuple((float(time), float(note)) for time, note in points))

    def change(self, curve: Curve) -> Change:
        """Return the way to the drawn curve.

        Parameters
        ----------
        curve : Curve
            The part of the take.

        Returns
        -------
        Change
            Its first and last note continue to the ends.
        """
        times, notes = np.array(self.points).T
        now = (curve.first + np.arange(len(curve.semitones))) / FRAME_RATE
        return Change(np.interp(now, times, notes) - curve.semitones)


TOOLS: Mapping[str, type[PitchEdit]] = {kind.tool: kind for kind in (Shift, ShapeNote, Smooth, FixOctave, Snap, Draw)}


def _is_point(point: Any) -> bool:
    if not isinstance(point, Sequence) or isinstance(point, str) or len(point) != 2:
        return False
    numbers = all(isinstance(value, Real) and not isinstance(value, bool) and isfinite(value) for value in point)
    return numbers and _LOWEST_DRAWN <= point[1] <= _HIGHEST_DRAWN


# ---- as plain data


def plain_edits(edits: Sequence[PitchEdit]) -> list[dict[str, Any]]:
    """Return the edits as plain data for JSON; the inverse of `read_edits`."""
    return [{"tool": edit.tool, **asdict(edit)} for edit in edits]


def read_edits(values: Any) -> tuple[PitchEdit, ...]:
    """Read edits from plain data. Raises SettingsError that names the wrong edit and the reason."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise SettingsError(tr("The edits must be a list."))
    if len(values) > MOST_EDITS:
        raise SettingsError(
            ntr(
                "A take can have {most_edits} edit at most, not {values}: render it first.",
                "A take can have {most_edits} edits at most, not {values}: render it first.",
                most_edits=MOST_EDITS,
                values=len(values),
            )
        )
    return tuple(_read_edit(number, one) for number, one in enumerate(values, 1))


def _read_edit(number: int, values: Any) -> PitchEdit:
    if not isinstance(values, Mapping):
        raise SettingsError(tr("Edit {number} is not an object with a tool and a region.", number=number))
    given = dict(values)
    kind = TOOLS.get(str(given.pop("tool", None)))
    if kind is None:
        raise SettingsError(
            tr("Edit {number} has an unknown tool: the tools are {tools}.", number=number, tools=", ".join(TOOLS))
        )
    known = {one.name: one.default is MISSING for one in fields(kind)}
    if unknown := sorted(set(given) - set(known)):
        raise SettingsError(
            tr(
                "Edit {number} ({tool}) has an unknown field: {unknown}.",
                number=number,
                tool=kind.tool,
                unknown=unknown[0],
            )
        )
    if missing := [name for name, needed in known.items() if needed and name not in given]:
        raise SettingsError(
            tr("Edit {number} ({tool}) lacks {missing}.", number=number, tool=kind.tool, missing=missing[0])
        )
    try:
        return kind(**given)
    except SettingsError as cause:
        raise SettingsError(
            tr("Edit {number} ({tool}): {cause}", number=number, tool=kind.tool, cause=cause)
        ) from cause


# ---- applied


@dataclass(frozen=True)
class EditedPitch:
    """A whole take after edits, (frames,) each.

    octaves: how many octaves too low it was detected, int8; formants: semitones by which they move; level_db: by how
    much it is louder; warning: a sentence on notes that were folded into the range of notes.
    """

    pitch: Pitch
    octaves: np.ndarray
    formants: np.ndarray
    level_db: np.ndarray
    warning: str | None = None

    def is_sung_anew(self, before: Pitch) -> np.ndarray:
        """Mark the frames in which more than the level changed, bool (frames,)."""
        return (self.pitch.hertz != before.hertz) | (self.octaves != 0) | (self.formants != 0)

    def differs(self, before: Pitch) -> np.ndarray:
        """Mark the changed frames, bool (frames,)."""
        return self.is_sung_anew(before) | (self.level_db != 0)

    def is_like(self, other: "EditedPitch") -> bool:
        """Return whether both sound the same."""
        curves, others = ((one.pitch.hertz, one.octaves, one.formants, one.level_db) for one in (self, other))
        return all(map(np.array_equal, curves, others))


def edit_pitch(pitch: Pitch, edits: Sequence[PitchEdit], folds: bool = False) -> EditedPitch:
    """Apply edits one after the other to the pitch of a whole take; other frames stay the same to the last bit.

    folds: whether notes that leave the range of notes are sung in another octave. Raises SettingsError for a region
    beyond the end, for formants or a level that overlapping edits move too far, and otherwise for such notes.

    >>> held = Pitch(np.full(300, 220.0, np.float32), np.ones(300, np.float32))
    >>> edited = edit_pitch(held, [Shift(1.0, 2.0, semitones=12.0), Snap(1.0, 2.0)]).pitch
    >>> [float(edited.hertz[frame]) for frame in (50, 150, 250)]
    [220.0, 440.0, 220.0]
    """
    change, formants, level_db = np.zeros((3, len(pitch)))
    octaves = np.zeros(len(pitch), np.int8)
    last = len(pitch) - 1
    for edit in edits:
        first, end = round(edit.start_s * FRAME_RATE), min(round(edit.end_s * FRAME_RATE), last)
        if end - first < round(SHORTEST_S * FRAME_RATE) or edit.end_s > last / FRAME_RATE + 0.02:
            raise SettingsError(
                tr(
                    "The region from {start_s} s to {end_s} s is not within the take, which is {last} s long.",
                    start_s=numeral(edit.start_s, "g"),
                    end_s=numeral(edit.end_s, "g"),
                    last=numeral(last / FRAME_RATE, "g"),
                )
            )
        part = slice(max(0, first - _CONTEXT_FRAMES), min(len(pitch), end + 1 + _CONTEXT_FRAMES))
        semitones = pitch[part].semitones.astype(np.float64) + change[part]
        inside = slice(first - part.start, end + 1 - part.start)
        found = edit.change(Curve(semitones, pitch.voicing[part].astype(np.float64), part.start, inside))
        share = _share(part, first, end, last)
        change[part] += share * found.semitones
        formants[part] += share * found.formants
        level_db[part] += share * found.level_db
        if found.octaves is not None:
            octaves[part] += np.where(share >= 0.5, found.octaves, 0).astype(np.int8)
    _check_sums(formants, level_db)
    moved, warning = _moved(pitch, change, folds)
    return EditedPitch(moved, octaves, formants, level_db, warning)


def _check_sums(formants: np.ndarray, level_db: np.ndarray) -> None:
    furthest, loudest = np.abs(formants).max(initial=0.0), np.abs(level_db).max(initial=0.0)
    if furthest > _FURTHEST_FORMANTS + 1e-9:
        raise SettingsError(
            tr(
                "At {time_s} s edits that overlap move the formants by more than {furthest} semitones: move them less.",
                time_s=numeral(int(np.abs(formants).argmax()) / FRAME_RATE, ".2f"),
                furthest=numeral(_FURTHEST_FORMANTS, "g"),
            )
        )
    if loudest > _FURTHEST_LEVEL_DB + 1e-9:
        raise SettingsError(
            tr(
                "At {time_s} s edits that overlap change the level by more than {furthest} dB: change it less.",
                time_s=numeral(int(np.abs(level_db).argmax()) / FRAME_RATE, ".2f"),
                furthest=numeral(_FURTHEST_LEVEL_DB, "g"),
            )
        )


def _share(part: slice, first: int, end: int, last: int) -> np.ndarray:
    """Return the share of an edit in each frame, 0..1, without fades at the ends of the take."""
    frames = np.arange(part.start, part.stop)
    rising = np.ones(len(frames)) if first == 0 else ((frames - first) / _GLIDE_FRAMES + 0.5).clip(0, 1)
    falling = np.ones(len(frames)) if end == last else ((end - frames) / _GLIDE_FRAMES + 0.5).clip(0, 1)
    share: np.ndarray = 0.5 - 0.5 * np.cos(np.pi * np.minimum(rising, falling))
    return share


def _moved(pitch: Pitch, change: np.ndarray, folds: bool) -> tuple[Pitch, str | None]:
    """Return the moved curve, and a sentence on notes that were folded."""
    moved = pitch.transposed(change)
    beyond = pitch.voiced & (change != 0) & ((moved.hertz < LOWEST_HERTZ) | (moved.hertz > HIGHEST_HERTZ))
    folded = fold_pitch(moved)
    warning = None
    if beyond.sum() >= _SHORTEST_NOTE_FRAMES:
        first, stop = true_runs(beyond)[0]
        middle = (first + stop) // 2
        was, wanted, now = (note_name(float(curve.semitones[middle])) for curve in (pitch, moved, folded))
        time_s, is_above = first / FRAME_RATE, moved.hertz[middle] > HIGHEST_HERTZ
        if not folds and is_above:
            raise SettingsError(
                tr(
                    "At {time_s} s {was} would become {wanted}, above {highest_note}, the highest note: move it less.",
                    time_s=numeral(time_s, ".2f"),
                    was=was,
                    wanted=wanted,
                    highest_note=HIGHEST_NOTE,
                )
            )
        if not folds:
            raise SettingsError(
                tr(
                    "At {time_s} s {was} would become {wanted}, below {lowest_note}, the lowest note: move it less.",
                    time_s=numeral(time_s, ".2f"),
                    was=was,
                    wanted=wanted,
                    lowest_note=LOWEST_NOTE,
                )
            )
        warning = tr(
            "At {time_s} s {wanted} is out of range: sung as {now} instead.",
            time_s=numeral(time_s, ".2f"),
            wanted=wanted,
            now=now,
        )
    hertz = np.where(change == 0, pitch.hertz, folded.hertz)
    return Pitch(hertz, pitch.voicing), warning
