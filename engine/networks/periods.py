"""Periods: a flat excitation brought to another pitch, its periods read faster or slower and added at other places.

Periods are resampled, so that a harmonic stays one and the noise between them moves along. All is computed where the
samples are; only curves of the pitch, which is known beforehand, come from the processor. Phases are whole numbers
there, since not every device has floats that could hold the cycles of a song and a hundredth of a sample.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from engine.networks.excitation import cycles_between
from engine.networks.spectral_frames import BINS
from engine.units import HOP, SAMPLE_RATE

READ_TIMES = 2  # as many samples, between which splines lead: images at -71 dB at 10 kHz, -52 dB at 16 kHz
_EDGE = 0.08  # of half the rate, over which a low-pass falls
_STEP = HOP // 9  # samples (1 ms) in which the pitch is taken for constant
_BITS = 32
_CYCLE = 1 << _BITS  # a cycle in the whole numbers that phases are
_ALIGNING_S = 0.4  # over which the place of the energy within a period is averaged, where there is a voice
_ALIGNING_STEPS = 3  # that are summed before


@dataclass(frozen=True)
class _Phases:
    """Phases of a window after every step, int64 (steps + 1,) in units of 1 / _CYCLE; they never fall."""

    cycles: Tensor

    def place(self, wanted: Tensor) -> tuple[Tensor, Tensor]:
        """Return after which step each of the wanted phases comes, and which share of the next one later."""
        before = (torch.searchsorted(self.cycles, wanted, right=True) - 1).clamp(0, len(self.cycles) - 2)
        there = self.cycles[before]
        share = (wanted - there).float() / (self.cycles[before + 1] - there).clamp_min(1).float()
        return before, share.clamp(0.0, 1.0)

    def at(self, before: Tensor | int, share: Tensor | float) -> Tensor:
        """Return the phase at such a place."""
        there = self.cycles[before]
        return there + ((self.cycles[before + 1] - there).float() * share).long()


def passed(whole: Tensor) -> Tensor:
    """Return the gain (..., BINS) of a flat excitation before it is read: it ends at a share (...) of half the rate, and
    what splines take away from the highest frequencies is there."""
    bins = torch.linspace(0.0, 1.0, BINS, device=whole.device)
    edge = ((1.0 - bins / whole[..., None]) / _EDGE).clamp(0.0, 1.0)
    return edge * edge * (3.0 - 2.0 * edge) / torch.special.sinc(bins / (2 * READ_TIMES)) ** 4


def moved(
    flat: Tensor,
    source_hertz: np.ndarray,
    hertz: np.ndarray,
    voiced: Tensor,
    start_cycles: float = 0.0,
    stays: np.ndarray | None = None,
) -> Tensor:
    """Bring a flat excitation to another pitch, float32 ((frames - 1) * HOP,).

    flat: coefficients of its spline (READ_TIMES * (frames - 1) * HOP,); source_hertz, hertz (frames,): its pitch and
    the wanted one; voiced (frames,): where it has one, 0..1. Its periods lie where those of pulses that begin with
    `start_cycles` do; or, if the pitch of some frames `stays`, in step with the recording in these.
    """
    had, wanted = cycles_between(source_hertz, HOP // _STEP), cycles_between(hertz, HOP // _STEP)
    gain = torch.from_numpy(np.sqrt(np.diff(wanted) / _STEP).astype(np.float32)).to(flat.device)
    source = _fixed(had, flat.device)
    # of the glottis, at whole numbers
    pulses = _Phases(torch.cummax(source - _place_of_energy(flat, source, voiced), 0).values)
    if stays is None or not stays[:-1].any():
        cycles = _fixed(wanted + start_cycles, flat.device)
        periods = int(np.floor(wanted[-1] + start_cycles) - np.floor(start_cycles)) + 2
    else:
        gained = wanted - had
        gained += _to_whole_numbers(gained, np.repeat(stays[:-1], HOP // _STEP))
        cycles = torch.cummax(pulses.cycles + _fixed(gained, flat.device), 0).values
        periods = int(had[-1] + wanted[-1]) + len(had) + 2  # not fewer: how many there are is not known here
    first = cycles[0] >> _BITS
    marks = (first + torch.arange(periods, device=flat.device)) << _BITS
    begins = _begins(pulses, source, _nearest(pulses, had, *_Phases(cycles).place(marks)))
    return _added(flat, begins, cycles - (first << _BITS), gain)


def _fixed(cycles: np.ndarray, device: torch.device) -> Tensor:
    return torch.from_numpy(np.rint(cycles * _CYCLE).astype(np.int64)).to(device)


def _to_whole_numbers(gained: np.ndarray, stays: np.ndarray) -> np.ndarray:
    """Return what brings the gained cycles (steps + 1,) to whole numbers in the steps where the pitch stays (steps,),
    spread over what is between."""
    missing = np.rint(gained) - gained
    return np.interp(np.arange(len(gained)), np.flatnonzero(stays), missing[:-1][stays])


def _nearest(pulses: _Phases, had: np.ndarray, before: Tensor, share: Tensor) -> Tensor:
    """Return the period of the recording that is nearest to each place, as a phase; near the end, the last whole one.

    had: the cycles of its pitch (steps + 1,).
    """
    nearest = (pulses.at(before, share) + _CYCLE // 2) >> _BITS
    last_begins = len(had) - 1 - 1.0 / (had[-1] - had[-2])
    step = int(np.clip(last_begins, 0, len(had) - 2))
    first = -(-pulses.cycles[0] >> _BITS)
    last = pulses.at(step, float(np.clip(last_begins - step, 0.0, 1.0))) >> _BITS
    return nearest.clamp(first, torch.maximum(first, last)) << _BITS


@dataclass(frozen=True)
class _Begins:
    """Where periods begin in a recording: so many samples `after` the one with a number; `length` in samples."""

    number: Tensor
    after: Tensor
    length: Tensor

    def read(self, flat: Tensor, which: Tensor, cycles: Tensor) -> Tensor:
        """Return the samples that lie so many cycles after the beginnings, each at the power of a sound that is read at
        its own speed, as often as in a second."""
        length = self.length.index_select(0, which)
        places = READ_TIMES * torch.addcmul(self.after.index_select(0, which), cycles, length)
        before = places.floor()
        numbers = READ_TIMES * self.number.index_select(0, which) + before.int()
        return length.sqrt() * _between(flat, numbers, places - before)


def _begins(pulses: _Phases, source: Tensor, wanted: Tensor) -> _Begins:
    before, share = pulses.place(wanted)
    length = float(_STEP * _CYCLE) / (source[before + 1] - source[before]).float()
    return _Begins((before * _STEP - 1).int(), share * _STEP, length)


def _added(flat: Tensor, begins: _Begins, cycles: Tensor, gain: Tensor) -> Tensor:
    """Fade, within each cycle, from the period after its beginning to the one before the next beginning.

    cycles (steps + 1,): the phase, from the first beginning on; gain (steps,).
    """
    after, whole = _within_steps(cycles)
    which = (whole + after.floor().int()).flatten()
    after = (after - after.floor()).flatten()
    fade = 0.5 - 0.5 * torch.cos(torch.pi * after)
    read = begins.read(flat, which, after), begins.read(flat, which + 1, after - 1.0)
    return ((read[0] + fade * (read[1] - read[0])).view(-1, _STEP) * gain[:, None]).flatten()


def _within_steps(cycles: Tensor) -> tuple[Tensor, Tensor]:
    """Return the phase at each sample of each step in cycles, float32 (steps, _STEP), after the whole cycles (steps, 1)
    that it begins with."""
    whole = cycles[:-1] >> _BITS
    begins, rise = ((curve.float() / _CYCLE)[:, None] for curve in (cycles[:-1] - (whole << _BITS), cycles.diff()))
    share = torch.arange(1, _STEP + 1, device=cycles.device) / _STEP
    return torch.addcmul(begins, rise, share), whole.int()[:, None]


def _between(flat: Tensor, numbers: Tensor, share: Tensor) -> Tensor:
    """Return what lies a share of the way from samples with these numbers to the next ones, by cubic B-splines (Unser,
    1999, "Splines: a perfect fit for signal and image processing")."""
    numbers = numbers.clamp(1, len(flat) - 3)
    before, here, after, beyond = (flat.index_select(0, numbers + offset) for offset in (-1, 0, 1, 2))
    # as a polynomial in the share, by Horner's rule
    cubic = (beyond - before) / 6 + (here - after) / 2
    square = (before + after) / 2 - here
    linear = (after - before) / 2
    steady = (before + 4 * here + after) / 6
    return torch.addcmul(steady, share, torch.addcmul(linear, share, torch.addcmul(square, share, cubic)))


def _place_of_energy(flat: Tensor, cycles: Tensor, voiced: Tensor) -> Tensor:
    """Return where within its period the energy lies, as phases (steps + 1,): the pulse of the glottis, as it closes.

    cycles (steps + 1,): phases of the pitch; voiced (frames,): consonants, whose energy is as large once it is flat,
    would move it at the ends of a voice.
    """
    padded = nn.functional.pad(flat, (1, 1))
    before, here, after = (padded[offset::READ_TIMES][: len(flat) // READ_TIMES] for offset in (0, 1, 2))
    energy = ((before + 4 * here + after) / 6).square().view(-1, _ALIGNING_STEPS * _STEP)
    angle = (2 * torch.pi * _within_steps(cycles)[0]).view(energy.shape)
    turning = torch.stack([(energy * angle.cos()).sum(1), (energy * angle.sin()).sum(1)])
    turning = turning * voiced[:-1].repeat_interleave(HOP // (_ALIGNING_STEPS * _STEP))
    reach = round(_ALIGNING_S * SAMPLE_RATE / (_ALIGNING_STEPS * _STEP)) // 2
    window = torch.hann_window(2 * reach, periodic=False, device=flat.device)
    real, imaginary = nn.functional.conv1d(turning[:, None], window[None, None], padding=reach)[:, 0]
    place = torch.atan2(imaginary, real) / (2 * torch.pi)
    place = place - nn.functional.pad(place.diff().round().cumsum(0), (1, 0))
    steps = torch.arange(_ALIGNING_STEPS, device=flat.device) / _ALIGNING_STEPS
    place = torch.cat([(place[:-1, None] + place.diff()[:, None] * steps).flatten(), place[-1:]])
    return (place * _CYCLE).long()
