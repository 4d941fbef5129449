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
_IN_CACHE = 1024  # steps that a processor computes at once


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


def passed(speed: Tensor) -> Tensor:
    """Return the gain (..., BINS) of a flat excitation before it is read at a speed (...) of 1 or more: what would fold
    back is left out, and what splines take away from the highest frequencies is there twice."""
    bins = torch.linspace(0.0, 1.0, BINS, device=speed.device)
    below = ((1.0 - bins * speed[..., None]) * (1.0 / _EDGE)).clamp(0.0, 1.0)
    return below * torch.special.sinc(bins / (2 * READ_TIMES)) ** -4


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
    gain = torch.from_numpy(np.sqrt(np.diff(wanted) / (READ_TIMES * _STEP)).astype(np.float32)).to(flat.device)
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
    """Where periods begin among the samples of a spline: so many `after` the one with a number; and their length."""

    number: Tensor
    after: Tensor
    length: Tensor

    def read(self, flat: Tensor, which: Tensor, cycles: Tensor) -> Tensor:
        """Return what lies so many cycles after the beginnings, at the power of samples that are a cycle apart."""
        length = self.length.index_select(0, which)
        places = torch.addcmul(self.after.index_select(0, which), cycles, length)
        before = places.floor()
        return length.sqrt() * _between(flat, self.number.index_select(0, which) + before.int(), places - before)


def _begins(pulses: _Phases, source: Tensor, wanted: Tensor) -> _Begins:
    before, share = pulses.place(wanted)
    length = float(READ_TIMES * _STEP * _CYCLE) / (source[before + 1] - source[before]).float()
    return _Begins(READ_TIMES * (before * _STEP - 1).int(), READ_TIMES * _STEP * share, length)


def _added(flat: Tensor, begins: _Begins, cycles: Tensor, gain: Tensor) -> Tensor:
    """Fade, within each cycle, from the period after its beginning to the one before the next beginning.

    cycles (steps + 1,): the phase, from the first beginning on; gain (steps,).
    """
    count = _IN_CACHE if flat.device.type == "cpu" else len(gain)
    added = [
        _added_steps(flat, begins, cycles[first : first + count + 1], gain[first : first + count])
        for first in range(0, len(gain), count)
    ]
    return torch.cat(added)


def _added_steps(flat: Tensor, begins: _Begins, cycles: Tensor, gain: Tensor) -> Tensor:
    after, whole = _within_steps(cycles)
    before = after.floor()
    which, after = (whole + before.int()).flatten(), (after - before).flatten()
    fade = 0.5 - 0.5 * torch.cos(torch.pi * after)
    one, next_one = begins.read(flat, which, after), begins.read(flat, which + 1, after - 1.0)
    return (torch.addcmul(one, fade, next_one - one).view(-1, _STEP) * gain[:, None]).flatten()


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
    numbers = (numbers - 1).clamp(0, len(flat) - 4)
    before, here, after, beyond = (flat[offset:].index_select(0, numbers) for offset in range(4))
    # as a polynomial in the share, by Horner's rule
    square = torch.lerp(before, after, 0.5) - here
    cubic = torch.add(0.5 * (here - after), beyond - before, alpha=1 / 6)
    linear, steady = 0.5 * (after - before), torch.add(here, square, alpha=1 / 3)
    return torch.addcmul(steady, share, torch.addcmul(linear, share, torch.addcmul(square, share, cubic)))


def _place_of_energy(flat: Tensor, cycles: Tensor, voiced: Tensor) -> Tensor:
    """Return where within its period the energy lies, as phases (steps + 1,): the pulse of the glottis, as it closes.

    cycles (steps + 1,): phases of the pitch; voiced (frames,): consonants, whose energy is as large once it is flat,
    would move it at the ends of a voice.
    """
    between = flat[1::READ_TIMES]
    samples = torch.add(between, flat[::READ_TIMES], alpha=4.0)
    samples[1:] += between[:-1]
    energy = (samples * samples).view(-1, _ALIGNING_STEPS * _STEP)
    angle = (2 * torch.pi * _within_steps(cycles)[0]).view(energy.shape)
    turning = torch.stack([(energy * angle.cos()).sum(1), (energy * angle.sin()).sum(1)])
    turning = turning * voiced[:-1].repeat_interleave(HOP // (_ALIGNING_STEPS * _STEP))
    reach = round(_ALIGNING_S * SAMPLE_RATE / (_ALIGNING_STEPS * _STEP)) // 2
    window = torch.hann_window(2 * reach, periodic=False, device=flat.device)
    real, imaginary = (nn.functional.pad(turning, (reach, reach)).unfold(1, 2 * reach, 1) * window).sum(2)
    place = torch.atan2(imaginary, real) / (2 * torch.pi)
    place = place - nn.functional.pad(place.diff().round().cumsum(0), (1, 0))
    steps = torch.arange(_ALIGNING_STEPS, device=flat.device) / _ALIGNING_STEPS
    place = torch.cat([(place[:-1, None] + place.diff()[:, None] * steps).flatten(), place[-1:]])
    return (place * _CYCLE).long()
