"""The synthesizer: turn envelope and pitch into samples, with a source and a learned filter.

    pitch --> pulses (band limited) --> x harmonic filter --+
                                                            |
              noise, residual --------> x noise filter -----+--> overlap-add --> samples
                                          ^                 |
    envelope, pitch, voicing --> network -+                 |
              recorded excitation ----> x envelope ---------+

Where the recording has no pitch, its own residual can take the place of noise. A stop keeps its burst and a fricative
its grain, which are finer than frames. Where it has one, its own excitation can take the place of both.

Each frame of the two excitations is filtered in the frequency domain. The filters start from the measured envelope
(both excitations have unit power density, so exp(envelope) is the right gain), and the network corrects it: how much of
each band is harmonic, how much is noise, and how the phase is dispersed. Compare DDSP (Engel et al., 2020), the
neural source-filter model (Wang et al., 2019) and Vocos (Siuzdak, 2023).
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from engine.analysis.envelope import BANDS, FLOOR, band_centres
from engine.analysis.pitch import Pitch
from engine.networks.excitation import cycles_per_frame, noise_at, pulse_train
from engine.networks.layers import (
    HIGHEST_LEARNED_HERTZ,
    ConvNextBlock,
    FrameConvolution,
    frames_after_blocks,
    receptive_frames,
)
from engine.networks.recorded_excitation import RecordedExcitation
from engine.networks.spectral_frames import (
    BINS,
    TRANSFORM,
    WINDOW,
    frame_spectra,
    minimum_phase,
    overlap_add,
    pieces_of,
    response,
)
from engine.units import HOP, SAMPLE_RATE

_CHANNELS = 256
_DILATIONS = (1, 2, 1, 2)
_RESIDUAL_GAIN = 0.92  # dividing by an envelope that was measured of the same noise adds as much on average
_LARGEST_RESIDUAL = 6.0  # times what is usual, where an envelope missed a click
LOWEST = FLOOR + 1.0  # nepers, of an envelope that a recording is divided by
LARGEST_LIFT = 5.0  # nepers by which the envelope of a recording is raised: hum stays below a voice
UNVOICED = 0.35  # voicing in the middle of the soft edge between breath and voice: consonants count as unvoiced early


@dataclass(frozen=True)
class Residual:
    """The excitation of a recording where it has no pitch, as in residual-excited vocoders (Un and Magill, 1975).

    spectra: complex (frames, bins), of unit power density; share: (frames, bins), 0..1, that replaces noise.
    """

    spectra: Tensor
    share: Tensor

    def mixed(self, noise: Tensor) -> Tensor:
        """Replace the share of spectra of noise (..., frames, bins), at the same power."""
        return self.share * self.spectra + (1.0 - self.share.square()).sqrt() * noise


class Synthesizer(nn.Module):
    """Synthesize samples from a log envelope, pitch and two excitations."""

    receptive_frames = receptive_frames(_DILATIONS, 5)

    def __init__(self) -> None:
        super().__init__()
        self.enter = FrameConvolution(BANDS + 2, _CHANNELS, 5)
        self.blocks = nn.ModuleList(ConvNextBlock(_CHANNELS, 2, dilation) for dilation in _DILATIONS)
        correction = nn.Linear(_CHANNELS, 3 * BANDS)
        nn.init.normal_(correction.weight, std=0.01)
        nn.init.zeros_(correction.bias)
        self.leave = nn.Sequential(nn.LayerNorm(_CHANNELS), correction)
        self.bands_to_bins: Tensor
        self.register_buffer("bands_to_bins", torch.from_numpy(_band_interpolation()), persistent=False)

    def filters(
        self, envelope: Tensor, hertz: Tensor, voicing: Tensor, last: int | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the log gain of harmonics, that of noise, and extra phase in radians, each (batch, frames, BANDS).

        last: so many of the frames instead.
        """
        level = envelope.amax(2, keepdim=True)
        prosody = torch.stack([torch.log2(hertz.clamp_max(HIGHEST_LEARNED_HERTZ) / 220.0), voicing * 2 - 1], 2)
        hidden = self.enter(torch.cat([((envelope - level) / 2 + 1.5).clamp_min(-3.0), prosody], 2))
        for block, kept in zip(self.blocks, frames_after_blocks(_DILATIONS, last or hidden.shape[1]), strict=True):
            hidden = block(hidden, None, kept if last else None)
        if last:
            envelope, voicing = envelope[:, -last:], voicing[:, -last:]
        harmonic, noise, phase = self.leave(hidden).float().chunk(3, dim=2)
        voiced = voicing[..., None].clamp(1e-3, 1.0)
        # initially harmonic where voiced and noise elsewhere; training refines both
        harmonic = envelope + 0.5 * torch.log(voiced) + 3.0 * torch.tanh(harmonic / 3.0)
        noise = envelope + 0.5 * torch.log((1.0 - voiced).clamp_min(0.02)) + 4.0 * torch.tanh(noise / 4.0)
        return harmonic, noise, 3.0 * phase

    def forward(
        self,
        envelope: Tensor,
        hertz: Tensor,
        voicing: Tensor,
        pulses: Tensor,
        noise: Tensor,
        residual: Residual | None = None,
        recorded: RecordedExcitation | None = None,
    ) -> Tensor:
        """Synthesize samples (batch, (frames - 1) * HOP) from frames, and excitations of that length."""
        hiss = self._frames(noise) if residual is None else residual.mixed(self._frames(noise))
        filtered = self._filtered(self.filters(envelope, hertz, voicing), self._frames(pulses), hiss)
        return overlap_add(filtered if recorded is None else self._reshaped(filtered, envelope, recorded))

    def residual(self, frames: Tensor, envelope: Tensor, voicing: Tensor, share: Tensor, known: Tensor) -> Residual:
        """Return the residual of a recording's frames (frames, 2 * HOP), each centred on its frame.

        envelope (frames, BANDS), absolute; voicing and share (frames,), the latter wanted where there is no pitch;
        known (BANDS,): 1 where the recording holds signal.
        """
        gain = (envelope @ self.bands_to_bins).clamp_min(LOWEST).exp() / _RESIDUAL_GAIN
        spectra = frame_spectra(frames) / gain
        usual = float(torch.hann_window(WINDOW).square().sum().sqrt())
        spectra = spectra * (_LARGEST_RESIDUAL * usual / spectra.abs().clamp_min(1e-6)).clamp_max(1.0)
        unvoiced = unvoiced_share(voicing) * share
        return Residual(spectra, unvoiced[:, None] * (known @ self.bands_to_bins))

    def recorded(self, frames: Tensor, envelope: Tensor, pitch: Pitch, share: Tensor) -> RecordedExcitation:
        """Return the voiced excitation of a recording's frames (frames, 2 * HOP), each centred on its frame.

        envelope (frames, BANDS), absolute; share (frames, BANDS), 0..1, wanted where there is a pitch.
        """
        flat = frame_spectra(frames) / response(envelope.clamp_min(LOWEST) @ self.bands_to_bins)
        voicing = torch.from_numpy(pitch.voicing).to(share.device)
        voiced = torch.sigmoid((voicing - UNVOICED) * 12)[:, None] * share
        return RecordedExcitation(flat, pitch.hertz, voiced @ self.bands_to_bins, envelope + LARGEST_LIFT)

    def _reshaped(self, filtered: Tensor, envelope: Tensor, recorded: RecordedExcitation) -> Tensor:
        """Give the share of spectra (batch, frames, bins) to a recorded excitation in the same envelope."""
        own = recorded.spectra * response(torch.minimum(envelope, recorded.highest) @ self.bands_to_bins)
        return filtered + recorded.share * (own - filtered)

    def pieces(
        self,
        filters: tuple[Tensor, Tensor, Tensor],
        pulses: Tensor,
        noise: Tensor,
        residual: Residual,
        recorded: RecordedExcitation | None,
        envelope: Tensor,
    ) -> Tensor:
        """Filter the frames of two excitations, (batch, frames, 2 * HOP) each: (batch, frames, PIECE) samples to add.

        filters, residual, recorded and envelope: of these frames. A piece begins PIECE_BEGINS samples before its
        frame's excitation.
        """
        filtered = self._filtered(filters, frame_spectra(pulses), residual.mixed(frame_spectra(noise)))
        return pieces_of(filtered if recorded is None else self._reshaped(filtered, envelope, recorded))

    def _filtered(self, filters: tuple[Tensor, Tensor, Tensor], pulses: Tensor, noise: Tensor) -> Tensor:
        """Apply filters to the spectra of the excitations, (batch, frames, bins)."""
        harmonic_gain, noise_gain, phase = (curve @ self.bands_to_bins for curve in filters)
        phase = phase + minimum_phase(harmonic_gain)
        return pulses * torch.polar(harmonic_gain.exp(), phase) + noise * noise_gain.exp()

    def _frames(self, excitation: Tensor) -> Tensor:
        """Compute windowed spectra (batch, frames, bins) of (batch, samples); frame i is centred on sample i * HOP."""
        return frame_spectra(nn.functional.pad(excitation, (HOP, HOP)).unfold(1, WINDOW, HOP))


def unvoiced_share(voicing: Tensor) -> Tensor:
    """Return how far each frame is breath or consonant rather than voice, 0..1, of voicing (frames,)."""
    return torch.sigmoid((UNVOICED - voicing) * 12)


def _band_interpolation() -> np.ndarray:
    """Return the matrix (BANDS, bins) that interpolates a curve over bands linearly at the frequency of each bin."""
    hertz = np.arange(BINS) * SAMPLE_RATE / TRANSFORM
    identity = np.eye(BANDS)
    return np.stack([np.interp(hertz, band_centres(), row) for row in identity]).astype(np.float32)


def synthesize(
    synthesizer: Synthesizer,
    envelope: np.ndarray,
    pitch: Pitch,
    first_sample: int = 0,
    cycles: float = 0.0,
    seed: int = 0,
    residual: Residual | None = None,
    recorded: RecordedExcitation | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Synthesize samples, float32 ((frames - 1) * HOP,), and return the pulses' phase in cycles, float64 (frames,).

    envelope (frames, BANDS); `first_sample` sets the position of the noise, `cycles` the phase of the pulses; residual
    and recorded: of these frames, for the place of noise and of all that is voiced.
    """
    hertz = torch.from_numpy(pitch.hertz)[None]
    with torch.inference_mode():
        # on the CPU, since not every device has the 64-bit floats needed for the phase
        pulses, _ = pulse_train(hertz, cycles)
        noise = torch.from_numpy(noise_at(first_sample, pulses.shape[1], seed))[None]
        frames = torch.from_numpy(envelope)[None], hertz, torch.from_numpy(pitch.voicing)[None]
        placed = (one.to(synthesizer.bands_to_bins.device) for one in (*frames, pulses, noise))
        samples = synthesizer(*placed, residual, recorded)
    return samples[0].cpu().numpy(), cycles_per_frame(pitch.hertz, cycles)
