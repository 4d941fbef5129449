"""The excitation of a recording: what its sound is without the envelope, at its own pitch or moved to another.

    frames / response of their envelope --> flat --+--> as they are, where the pitch stays ------------------+--> frames
                                                   +--> periods, read faster or slower, added at another one-+

Filtered by the wanted envelope, it keeps what pulses cannot have: breath, growl, rasp, attacks and the noise between
the harmonics. Where the pitch stays, this is spectral differential filtering (Kobayashi et al., 2014, "Statistical
singing voice conversion with direct waveform modification based on the spectrum differential"). Elsewhere it is
pitch-synchronous overlap-add (Moulines and Charpentier, 1990) of the flat excitation; its periods are resampled, so
that a harmonic stays one and the noise between them moves along.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy import ndimage, signal
from torch import Tensor, nn

from engine.networks.spectral_frames import BINS, cut_frames, frame_spectra, overlap_add
from engine.units import HOP, SAMPLE_RATE

_OVERSAMPLED = 4  # for linear interpolation between samples: images at -42 dB at 10 kHz
_REACH = 10  # samples to each side that the interpolation reads
_ALIGNING_S = 0.4  # over which the place of the energy within a period is averaged, where there is a voice
_ALIGNING_BLOCK = HOP // 9  # samples (1 ms) that are summed before
_SAME_SEMITONES, _SHORTEST_RUN = 0.02, 20  # less is no other pitch, if it lasts for so many frames
_KEPT_SEMITONES, _FADE_SEMITONES = 8.0, 1.5  # how far it can be moved; beyond, pulses are as good (EXPERIMENTS)


@dataclass(frozen=True)
class RecordedExcitation:
    """The excitation of a recording where it is voiced.

    spectra: complex (frames, bins), of unit power density and without the phase of the envelope; hertz: float32
    (frames,), its pitch; share: (frames, bins), 0..1, that replaces pulses and noise; highest: (frames, BANDS), nepers,
    beyond which no envelope lifts it.
    """

    spectra: Tensor
    hertz: np.ndarray
    share: Tensor
    highest: Tensor

    def __getitem__(self, frames: slice) -> "RecordedExcitation":
        return RecordedExcitation(self.spectra[frames], self.hertz[frames], self.share[frames], self.highest[frames])

    def at_pitch(self, hertz: np.ndarray, start_cycles: float = 0.0, in_step: bool = False) -> "RecordedExcitation":
        """Return the excitation at another pitch (frames,), its periods where those of pulses with that start are.

        in_step: stretches whose pitch stays are left as they are, and what is between them is in step with them.
        """
        ratio = hertz / self.hertz
        semitones = 12 * np.abs(np.log2(ratio))
        if semitones.max() <= _SAME_SEMITONES:
            return self
        kept = ((_KEPT_SEMITONES + _FADE_SEMITONES - semitones) / _FADE_SEMITONES).clip(0.0, 1.0)
        if not kept.any():
            return replace(self, hertz=hertz, share=torch.zeros_like(self.share))  # moving it would be for nothing
        stays = _long_runs(semitones <= _SAME_SEMITONES) & in_step
        flat = overlap_add(self.spectra[None])[0].cpu().numpy()
        samples = moved(flat, self.hertz, hertz, self.share.amax(1).cpu().numpy(), start_cycles, stays)
        cut = cut_frames(samples, len(hertz)).to(self.spectra.device)
        stays_here = torch.from_numpy(stays).to(self.spectra.device)[:, None]
        share = self.share * torch.from_numpy(kept[:, None] * _has_sound(ratio)).to(self.share)
        spectra = torch.where(stays_here, self.spectra, frame_spectra(cut))
        return replace(self, spectra=spectra, hertz=hertz, share=share)


def _long_runs(chosen: np.ndarray) -> np.ndarray:
    """Return the chosen frames that have enough like them beside them, bool (frames,)."""
    return ndimage.binary_opening(chosen, np.ones(min(_SHORTEST_RUN, len(chosen))))


def _has_sound(ratio: np.ndarray) -> np.ndarray:
    """Return which bins (frames, bins) an excitation reaches when its pitch is multiplied."""
    return np.linspace(0.0, 1.0, BINS) <= np.minimum(ratio, 1.0)[:, None]


def moved(
    flat: np.ndarray,
    source_hertz: np.ndarray,
    hertz: np.ndarray,
    voiced: np.ndarray,
    start_cycles: float = 0.0,
    stays: np.ndarray | None = None,
) -> np.ndarray:
    """Bring a flat excitation (n,) to another pitch, float32 ((frames - 1) * HOP,).

    source_hertz, hertz (frames,): its pitch and the wanted one; voiced (frames,): where it has one, 0..1. Its periods
    lie where those of pulses that begin with `start_cycles` do; or, if the pitch of some frames `stays`, in step with
    the recording in these.
    """
    places = np.arange((len(hertz) - 1) * HOP)
    flat = np.pad(flat, (0, max(0, len(places) - len(flat))))[: len(places)]
    had, wanted = _glide(source_hertz), _glide(hertz)
    had_cycles, wanted_cycles = (np.cumsum(curve) / SAMPLE_RATE for curve in (had, wanted))
    # of the glottis, at whole numbers
    pulses = np.maximum.accumulate(had_cycles - _place_of_energy(flat, had_cycles, voiced))
    if stays is None or not stays.any():
        wanted_cycles += start_cycles
    else:
        gained = wanted_cycles - had_cycles
        wanted_cycles = np.maximum.accumulate(pulses + gained + _to_whole_numbers(gained, np.repeat(stays[:-1], HOP)))
    cycle = np.floor(wanted_cycles)
    marks = np.interp(np.arange(cycle[0], cycle[-1] + 2), wanted_cycles, places)
    # the period of the recording that is nearest; near the end, the last one that is whole
    first, last = np.ceil(pulses[0]), np.floor(np.interp(places[-1] - SAMPLE_RATE / had[-1], places, pulses))
    nearest = np.rint(np.interp(marks, places, pulses)).clip(first, max(first, last))
    begins = np.interp(nearest, pulses, places)
    return _added(flat, begins, SAMPLE_RATE / had[_whole(begins)], wanted_cycles - cycle[0], wanted)


def _to_whole_numbers(gained: np.ndarray, stays: np.ndarray) -> np.ndarray:
    """Return what brings the gained cycles (n,) to whole numbers where the pitch stays, spread over what is between."""
    missing = np.rint(gained) - gained
    return np.interp(np.arange(len(gained)), np.flatnonzero(stays), missing[stays])


def _added(flat: np.ndarray, begins: np.ndarray, read: np.ndarray, cycles: np.ndarray, hertz: np.ndarray) -> np.ndarray:
    """Fade, within each cycle of (n,), from the period after its beginning to the one before the next beginning.

    begins, read: where each beginning is in `flat`, and how many samples its period has there; hertz (n,).
    """
    which = _whole(cycles)
    after = cycles - which
    fade = 0.5 - 0.5 * np.cos(np.pi * after)
    smooth = _oversampled(flat, max(1.0, float((read[which] * hertz).max() / SAMPLE_RATE)))
    gain = np.sqrt(read)  # of a period that is read faster, so that its power stays
    added = (1.0 - fade) * gain[which] * _read(smooth, begins[which] + after * read[which])
    which += 1
    added += fade * gain[which] * _read(smooth, begins[which] + (after - 1.0) * read[which])
    return (added * np.sqrt(hertz / SAMPLE_RATE)).astype(np.float32)


def _read(smooth: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return what lies at places between samples, of a sound with more samples in the same time."""
    places = (places * _OVERSAMPLED).clip(0, len(smooth) - 2)
    before = _whole(places)
    return smooth[before] + (places - before) * (smooth[before + 1] - smooth[before])


def _oversampled(flat: np.ndarray, speed: float) -> np.ndarray:
    """Return more samples in the same time, without what would fold back when they are read at that speed."""
    count = 2 * _REACH + 1
    taps = signal.firwin(2 * _REACH * _OVERSAMPLED + 1, 0.96 / (_OVERSAMPLED * speed), window=("kaiser", 5.0))
    phases = np.pad(_OVERSAMPLED * taps, (0, _OVERSAMPLED - 1)).reshape(count, _OVERSAMPLED)[::-1].T[:, None]
    samples = torch.from_numpy(np.pad(flat, _REACH))[None]
    between = nn.functional.conv1d(samples, torch.from_numpy(np.ascontiguousarray(phases)).float())
    return between.T.flatten().numpy()


def _place_of_energy(flat: np.ndarray, cycles: np.ndarray, voiced: np.ndarray) -> np.ndarray:
    """Return where within its period the energy lies, in cycles (n,): the pulse of the glottis, as it closes.

    voiced (frames,): consonants, whose energy is as large once it is flat, would move it at the ends of a voice.
    """
    turning = np.repeat(voiced[:-1], HOP) * flat**2 * np.exp(2j * np.pi * (cycles % 1.0).astype(np.float32))
    blocks = turning.reshape(-1, _ALIGNING_BLOCK).sum(1)
    averaged = signal.oaconvolve(blocks, np.hanning(round(_ALIGNING_S * SAMPLE_RATE / _ALIGNING_BLOCK)), mode="same")
    middles = (np.arange(len(blocks)) + 0.5) * _ALIGNING_BLOCK
    return np.interp(np.arange(len(flat)), middles, np.unwrap(np.angle(averaged)) / (2 * np.pi))


def _glide(hertz: np.ndarray) -> np.ndarray:
    """Return the frequency of each sample between frames, float64 ((frames - 1) * HOP,)."""
    frames = np.arange(len(hertz)) * HOP
    return np.exp2(np.interp(np.arange(frames[-1]), frames, np.log2(hertz.astype(np.float64))))


def _whole(place: np.ndarray) -> np.ndarray:
    return place.astype(int)
