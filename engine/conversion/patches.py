"""Patches: the stretches of a take to render again after edits, and their curves.

A patch extends beyond the edited stretch by a margin, as far as the networks carry a change. At both ends its pulses
are in phase with those of the original take: an edit changes the number of periods in the stretch, and the fraction
missing to a whole number is compensated within the patch by a few cents, preferably in unvoiced frames. Where only the
level changed, the samples of the take are made louder, and nothing is rendered.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.analysis.pitch import HIGHEST_HERTZ, LOWEST_HERTZ, Pitch
from engine.conversion.edit_data import EditData
from engine.conversion.pitch_edits import PitchEdit, edit_pitch
from engine.conversion.settings import FOLD
from engine.errors import EditError
from engine.networks.excitation import cycles_per_frame
from engine.texts import tr

MARGIN_FRAMES = 40
FADE_FRAMES = 2  # cross-fade at both ends between the original take and the new rendering
_TAPER_FRAMES = 8  # over which the compensation begins and ends
_NEWTON_STEPS = 8
_VOICED_SHARE = 0.02  # of the compensation in a voiced frame; in an unvoiced one it is 1


@dataclass(frozen=True, eq=False)
class Patch:
    """Frames first..last of a take, their new curves, and the initial phase of the pulses.

    octaves: how many octaves too low the recording's pitch was detected, int8, as long as the pitch; formants:
    semitones by which they move, likewise; level_db: by how much the patch is louder, likewise; cycles: phase of the
    pulses at the first frame; to_the_end: whether the patch reaches the end of the recording; is_sung_anew: whether
    more than the level changed.
    """

    first: int
    last: int
    pitch: Pitch
    octaves: np.ndarray
    formants: np.ndarray
    level_db: np.ndarray
    cycles: float
    to_the_end: bool
    is_sung_anew: bool = True

    def is_like(self, other: "Patch") -> bool:
        """Return whether both patches sound the same."""
        same_place = (self.first, self.last, self.cycles) == (other.first, other.last, other.cycles)
        curves, others = ((one.pitch.hertz, one.octaves, one.formants, one.level_db) for one in (self, other))
        return same_place and all(map(np.array_equal, curves, others))

    def shortened(self, frames: int) -> "Patch":
        """Return no more than so many frames of it."""
        if self.last - self.first <= frames:
            return self
        there = slice(frames + 1)
        curves = {name: getattr(self, name)[there] for name in ("pitch", "octaves", "formants", "level_db")}
        return replace(self, last=self.first + frames, to_the_end=False, **curves)


@dataclass(frozen=True, eq=False)
class Plan:
    """Result of the edits of a take: its whole curve before and after, and the patches in order.

    warning: a sentence on notes that are sung in another octave than the edits say.
    """

    before: Pitch
    after: Pitch
    octaves: np.ndarray
    patches: list[Patch]
    warning: str | None = None

    @property
    def moved(self) -> np.ndarray:
        """Semitones by which each frame has moved, float64 (frames,)."""
        moved: np.ndarray = 12 * np.log2(self.after.hertz.astype(np.float64) / self.before.hertz)
        return moved


def plan_patches(edit_data: EditData, number: int, edits: Sequence[PitchEdit]) -> Plan:
    """Plan the patches for these edits of take `number` (the first is 0).

    Raises EditError for a take that does not exist, SettingsError for a stretch beyond its end and for notes that leave
    the range of notes, unless the conversion folds them.
    """
    if not 0 <= number < edit_data.takes:
        raise EditError(
            tr("There is no take {number}: the conversion has {takes}.", number=number + 1, takes=edit_data.takes)
        )
    before = edit_data.pitch(number)
    edited = edit_pitch(before, edits, edit_data.settings.notes_out_of_range == FOLD)
    hertz, is_sung_anew = edited.pitch.hertz.copy(), edited.is_sung_anew(before)
    patches = []
    for first, last in _stretches(edited.differs(before)):
        begins, ends = _phase(edit_data, number, first), _phase(edit_data, number, last)
        to_the_end, piece = last == len(before) - 1, slice(first, last + 1)
        is_anew = bool(is_sung_anew[piece].any())
        if is_anew and not to_the_end:
            hertz[piece] = _in_step(hertz[piece], before.voicing[piece], ends - begins)
        pitch = Pitch(hertz[piece], before.voicing[piece])
        curves = edited.octaves[piece], edited.formants[piece], edited.level_db[piece]
        patches.append(Patch(first, last, pitch, *curves, begins % 1.0, to_the_end, is_anew))
    return Plan(before, Pitch(hertz, before.voicing), edited.octaves, patches, edited.warning)


def _stretches(differs: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield first and last frame of each stretch that differs, with margins; merge those that touch."""
    found = np.flatnonzero(differs)
    if not len(found):
        return
    end = len(differs) - 1
    apart = np.flatnonzero(np.diff(found) > 2 * (MARGIN_FRAMES + FADE_FRAMES))
    for first, last in zip(found[np.append(0, apart + 1)], found[np.append(apart, len(found) - 1)], strict=True):
        yield max(0, int(first) - MARGIN_FRAMES), min(end, int(last) + MARGIN_FRAMES)


def _phase(edit_data: EditData, number: int, frame: int) -> float:
    """Return the phase of the pulses of the original take at the centre of a frame, in cycles."""
    window = int(np.searchsorted(edit_data.core_starts, frame, "right")) - 1
    start = int(edit_data.core_starts[window])
    hertz = edit_data.hertz[number, start : frame + 1]
    return float(cycles_per_frame(hertz, edit_data.phases[number, window])[-1])


def _in_step(hertz: np.ndarray, voicing: np.ndarray, wanted_cycles: float) -> np.ndarray:
    """Bend the curve slightly, so that its cycles differ from `wanted_cycles` by a whole number; float32 (frames,)."""
    rising = (np.arange(len(hertz)) - 2 * FADE_FRAMES) / _TAPER_FRAMES
    taper = np.minimum(rising, rising[::-1]).clip(0, 1)
    share = taper * (_VOICED_SHARE + (1.0 - voicing.astype(np.float64)) ** 2)
    share /= share.max()
    curve = hertz.astype(np.float64)
    there = _cycles(curve)
    wanted = there + (wanted_cycles - there + 0.5) % 1.0 - 0.5
    octaves = 0.0
    for _ in range(_NEWTON_STEPS):  # the number of cycles is almost linear in such a small change
        bent = (curve * 2.0 ** (octaves * share)).clip(LOWEST_HERTZ, HIGHEST_HERTZ)
        free = (bent > LOWEST_HERTZ) & (bent < HIGHEST_HERTZ)  # frames at a limit stay there
        octaves += (wanted - _cycles(bent)) / (np.log(2.0) * (share * bent * free).sum() / 100.0 + 1e-9)
    bent = (curve * 2.0 ** (octaves * share)).clip(LOWEST_HERTZ, HIGHEST_HERTZ).astype(np.float32)
    middle = len(bent) // 2
    for _ in range(_NEWTON_STEPS):  # the rest from rounding, in a single frame: a hundredth of a cent
        bent[middle] += 100.0 * (wanted - _cycles(bent))
    return bent


def _cycles(hertz: np.ndarray) -> float:
    return float(cycles_per_frame(hertz, 0.0)[-1])
