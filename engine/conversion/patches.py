"""Patches: which stretches of a take must be sung anew after edits of its pitch, and with which curve.

A patch reaches a margin beyond what was edited, as far as the networks carry a change. At both of its ends the pulses
of the voice are in step with those of the take as it was: an edit changes how many periods the stretch has, and what
is then missing to a whole number is made up within the patch, by a few cents, and rather where nothing is voiced.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.analysis.pitch import HIGHEST_HERTZ, LOWEST_HERTZ, Pitch
from engine.conversion.edit_data import EditData
from engine.conversion.pitch_edits import PitchEdit, edit_pitch
from engine.errors import EditError
from engine.networks.synthesizer import cycles_per_frame

MARGIN_FRAMES = 40
FADE_FRAMES = 2  # at both ends, from the take as it was to what is sung anew and back
_TAPER_FRAMES = 8  # over which making up for missing periods begins and ends
_NEWTON_STEPS = 8
_VOICED_SHARE = 0.02  # how much of it a voiced frame takes on, where an unvoiced one takes 1


@dataclass(frozen=True, eq=False)
class Patch:
    """Frames first..last of a take, the curve they are sung with, and where the pulses begin there.

    octaves: how many octaves too low the recording was heard, int8, as long as the pitch; cycles: of the pulses, at
    the first frame; whole: whether the patch reaches the end of the recording.
    """

    first: int
    last: int
    pitch: Pitch
    octaves: np.ndarray
    cycles: float
    to_the_end: bool

    def is_like(self, other: "Patch") -> bool:
        """Whether the other one sounds just the same."""
        same_place = (self.first, self.last, self.cycles) == (other.first, other.last, other.cycles)
        return (
            same_place
            and np.array_equal(self.pitch.hertz, other.pitch.hertz)
            and np.array_equal(self.octaves, other.octaves)
        )


@dataclass(frozen=True, eq=False)
class Plan:
    """What edits of a take come to: its whole curve, before and after, and the patches in their order."""

    before: Pitch
    after: Pitch
    octaves: np.ndarray
    patches: list[Patch]

    @property
    def moved(self) -> np.ndarray:
        """By how many semitones each frame has moved, float64 (frames,)."""
        moved: np.ndarray = 12 * np.log2(self.after.hertz.astype(np.float64) / self.before.hertz)
        return moved


def plan_patches(edit_data: EditData, number: int, edits: Sequence[PitchEdit]) -> Plan:
    """The patches that these edits of take `number` (the first is 0) need.

    Raises EditError for a take that there is not, SettingsError for a stretch beyond its end.
    """
    if not 0 <= number < edit_data.takes:
        raise EditError(f"There is no take {number + 1}: the conversion has {edit_data.takes}.")
    before = edit_data.pitch(number)
    edited = edit_pitch(before, edits)
    hertz = edited.pitch.hertz.copy()
    patches = []
    for first, last in _runs(edited.differs(before)):
        begins, ends = _phase(edit_data, number, first), _phase(edit_data, number, last)
        to_the_end = last == len(before) - 1
        if not to_the_end:
            piece = slice(first, last + 1)
            hertz[piece] = _in_step(hertz[piece], before.voicing[piece], ends - begins)
        pitch = Pitch(hertz[first : last + 1], before.voicing[first : last + 1])
        patches.append(Patch(first, last, pitch, edited.octaves[first : last + 1], begins % 1.0, to_the_end))
    return Plan(before, Pitch(hertz, before.voicing), edited.octaves, patches)


def _runs(differs: np.ndarray) -> Iterator[tuple[int, int]]:
    """First and last frame of each stretch that differs, with its margins; those that touch are one."""
    found = np.flatnonzero(differs)
    if not len(found):
        return
    end = len(differs) - 1
    apart = np.flatnonzero(np.diff(found) > 2 * (MARGIN_FRAMES + FADE_FRAMES))
    for first, last in zip(found[np.append(0, apart + 1)], found[np.append(apart, len(found) - 1)], strict=True):
        yield max(0, int(first) - MARGIN_FRAMES), min(end, int(last) + MARGIN_FRAMES)


def _phase(edit_data: EditData, number: int, frame: int) -> float:
    """Of the pulses of a take as it was, in cycles, at the centre of a frame."""
    window = int(np.searchsorted(edit_data.core_starts, frame, "right")) - 1
    start = int(edit_data.core_starts[window])
    hertz = edit_data.hertz[number, start : frame + 1]
    return float(cycles_per_frame(hertz, edit_data.phases[number, window])[-1])


def _in_step(hertz: np.ndarray, voicing: np.ndarray, wanted_cycles: float) -> np.ndarray:
    """The curve, a little higher or lower, so that from its first frame to its last there are `wanted_cycles` and a
    whole number more or less; float32 (frames,)."""
    rising = (np.arange(len(hertz)) - 2 * FADE_FRAMES) / _TAPER_FRAMES
    taper = np.minimum(rising, rising[::-1]).clip(0, 1)
    share = taper * (_VOICED_SHARE + (1.0 - voicing.astype(np.float64)) ** 2)
    share /= share.max()
    curve = hertz.astype(np.float64)
    there = _cycles(curve)
    wanted = there + (wanted_cycles - there + 0.5) % 1.0 - 0.5
    octaves = 0.0
    for _ in range(_NEWTON_STEPS):  # the number of cycles is very nearly straight in so small a change
        bent = (curve * 2.0 ** (octaves * share)).clip(LOWEST_HERTZ, HIGHEST_HERTZ)
        free = (bent > LOWEST_HERTZ) & (bent < HIGHEST_HERTZ)  # what is at a limit stays there
        octaves += (wanted - _cycles(bent)) / (np.log(2.0) * (share * bent * free).sum() / 100.0 + 1e-9)
    bent = (curve * 2.0 ** (octaves * share)).clip(LOWEST_HERTZ, HIGHEST_HERTZ).astype(np.float32)
    middle = len(bent) // 2
    for _ in range(_NEWTON_STEPS):  # what is left by rounding, in a single frame: a hundredth of a cent
        bent[middle] += 100.0 * (wanted - _cycles(bent))
    return bent


def _cycles(hertz: np.ndarray) -> float:
    return float(cycles_per_frame(hertz, 0.0)[-1])
