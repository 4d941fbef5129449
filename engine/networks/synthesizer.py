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

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from engine.analysis.envelope import BANDS, FLOOR
from engine.analysis.pitch import Pitch
from engine.carrying import on_device
from engine.networks.band_filters import Mix, filter_table, log_gain, response
from engine.networks.batches import inside, together
from engine.networks.excitation import noise_at, pulse_curves, pulses_of
from engine.networks.layers import (
    HIGHEST_LEARNED_HERTZ,
    ConvNextBlock,
    FrameConvolution,
    frames_after_blocks,
    receptive_frames,
)
from engine.networks.recorded_excitation import RecordedExcitation
from engine.networks.spectral_frames import BINS, WINDOW, blocks_of, cut_frames, frame_spectra, join_pieces, pieces_of
from engine.units import HOP

_CHANNELS = 256
_DILATIONS = (1, 2, 1, 2)
_RESIDUAL_GAIN = 0.92  # dividing by an envelope that was measured of the same noise adds as much on average
_LARGEST_RESIDUAL = 6.0 * (3 / 8 * WINDOW) ** 0.5  # times what is usual of noise, where an envelope missed a click
LOWEST = FLOOR + 1.0  # nepers, of an envelope that a recording is divided by
LARGEST_LIFT = 5.0  # nepers by which the envelope of a recording is raised: hum stays below a voice
UNVOICED = 0.35  # voicing in the middle of the soft edge between breath and voice: consonants count as unvoiced early


@dataclass(frozen=True)
class Residual:
    """The excitation of a recording where it has no pitch, as in residual-excited vocoders (Un and Magill, 1975).

    frames: samples (..., frames, WINDOW), of unit power density without their `envelope` (..., frames, BANDS), in
    nepers; share: (..., frames), 0..1, that replaces noise, in the bands that are `known` (BANDS,), 0..1.
    """

    frames: Tensor
    envelope: Tensor
    share: Tensor
    known: Tensor

    def __getitem__(self, frames: slice) -> "Residual":
        own, envelope = self.frames[..., frames, :], self.envelope[..., frames, :]
        return Residual(own, envelope, self.share[..., frames], self.known)

    @staticmethod
    def stacked(residuals: Sequence["Residual"]) -> "Residual":
        """Return those of windows in one recording as a batch, zeros after the shorter ones."""
        frames, envelopes, shares = (
            together(one) for one in zip(*((r.frames, r.envelope, r.share) for r in residuals), strict=True)
        )
        return Residual(frames, envelopes, shares, residuals[0].known)


class Synthesizer(nn.Module):
    """Synthesize samples from a log envelope, pitch and two excitations."""

    receptive_frames = receptive_frames(_DILATIONS, 5)

    def __init__(self) -> None:
        super().__init__()
        self.enter = FrameConvolution(BANDS + 2, _CHANNELS, 5)
        self.blocks = nn.ModuleList(ConvNextBlock(_CHANNELS, 2, dilation) for dilation in _DILATIONS)
        correction = nn.Linear(_CHANNELS, 3 * BANDS)
        if not correction.weight.is_meta:  # as in `layers`
            nn.init.normal_(correction.weight, std=0.01)
        nn.init.zeros_(correction.bias)
        self.leave = nn.Sequential(nn.LayerNorm(_CHANNELS), correction)
        self.table: Tensor
        with torch.device("cpu"):  # it is no weight, so it has values from the beginning
            self.register_buffer("table", filter_table(), persistent=False)

    @property
    def bands_to_bins(self) -> Tensor:
        """The matrix (BANDS, bins) that interpolates a curve over bands linearly at the frequency of each bin."""
        return self.table[:, :BINS]

    def filters(
        self, envelope: Tensor, hertz: Tensor, voicing: Tensor, last: int | None = None, within: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the log gain of harmonics, that of noise, and extra phase in radians, each (batch, frames, BANDS).

        last: so many of the frames instead; within: (batch, frames, 1), 0 after the end of shorter windows.
        """
        level = envelope.amax(2, keepdim=True)
        prosody = torch.stack([torch.log2(hertz.clamp_max(HIGHEST_LEARNED_HERTZ) / 220.0), voicing * 2 - 1], 2)
        entered = torch.cat([((envelope - level) / 2 + 1.5).clamp_min(-3.0), prosody], 2)
        hidden = self.enter(entered if within is None else entered * within)
        for block, kept in zip(self.blocks, frames_after_blocks(_DILATIONS, last or hidden.shape[1]), strict=True):
            hidden = block(hidden, None, kept if last else None, within)
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
        within: Tensor | None = None,
    ) -> Tensor:
        """Synthesize samples (batch, (frames - 1) * HOP) from frames, and excitations of that length.

        within: (batch, frames, 1), 0 after the end of shorter windows, where the excitations are zero.
        """
        filters, frames = self.filters(envelope, hertz, voicing, within=within), envelope.shape[1]
        pulses, noise = cut_frames(pulses, frames), cut_frames(noise, frames)
        shared = residual is not None and recorded is not None and residual.frames is recorded.frames

        def pieces_in(block: slice) -> Tensor:
            own, hiss = recorded and recorded[block], residual and residual[block]
            if own and hiss and shared:
                own = replace(own, frames=hiss.frames)
            gains = [curve[:, block] for curve in filters]
            return self.pieces(gains, pulses[:, block], noise[:, block], hiss, own, envelope[:, block])

        return join_pieces(map(pieces_in, blocks_of(frames, envelope.device, len(envelope))), frames)

    def residual(self, frames: Tensor, envelope: Tensor, voicing: Tensor, share: Tensor, known: Tensor) -> Residual:
        """Return the residual of a recording's frames (..., frames, 2 * HOP), each centred on its frame.

        envelope (..., frames, BANDS), absolute; voicing and share (..., frames), the latter wanted where there is no
        pitch; known (BANDS,): 1 where the recording holds signal.
        """
        return Residual(frames, envelope, unvoiced_share(voicing) * share, known)

    def recorded(
        self, frames: Tensor, envelope: Tensor, pitch: Pitch, share: Tensor, voicing: Tensor | None = None
    ) -> RecordedExcitation:
        """Return the voiced excitation of a recording's frames (frames, 2 * HOP), each centred on its frame.

        envelope (frames, BANDS), absolute; share (frames, BANDS), 0..1, wanted where there is a pitch; voicing: that
        of the pitch, if it lies on their device.
        """
        voicing = torch.from_numpy(pitch.voicing).to(share.device) if voicing is None else voicing
        voiced = torch.sigmoid((voicing - UNVOICED) * 12)[:, None] * share
        measured = envelope.clamp_min(LOWEST)
        return RecordedExcitation(frames, pitch.hertz, voiced, envelope + LARGEST_LIFT, measured, self.table)

    def pieces(
        self,
        filters: Sequence[Tensor],
        pulses: Tensor,
        noise: Tensor,
        residual: Residual | None,
        recorded: RecordedExcitation | None,
        envelope: Tensor,
    ) -> Tensor:
        """Filter the frames of two excitations, (batch, frames, 2 * HOP) each: (batch, frames, PIECE) samples to add.

        filters, residual, recorded and envelope: of these frames. A piece begins PIECE_BEGINS samples before its
        frame's excitation.
        """
        harmonic, hiss, phase = filters
        share = None if recorded is None else recorded.share_of_bins()
        rest = 1.0 if share is None else 1.0 - share
        mix = Mix(frame_spectra(pulses), *response(harmonic, self.table, rest, phase))
        noise_gain = rest * log_gain(hiss, self.table).exp()
        if residual is not None:
            own_gain, noise_gain = self.residual_gains(noise_gain, residual, spectra := frame_spectra(residual.frames))
            mix.add(spectra, own_gain)
        mix.add(frame_spectra(noise), noise_gain)
        if recorded is not None and share is not None:
            if residual is None or recorded.frames is not residual.frames:
                spectra = frame_spectra(recorded.frames)
            lift = torch.minimum(envelope, recorded.highest) - recorded.envelope
            mix.add(spectra, *response(lift, self.table, share))
        return pieces_of(mix.spectra())

    def residual_gains(self, gain: Tensor, residual: Residual, spectra: Tensor) -> tuple[Tensor, Tensor]:
        """Share the gain of noise out between the spectra of a recording, as a residual, and noise, at its power."""
        share = residual.share[..., None] * log_gain(residual.known, self.table)
        flattened = _RESIDUAL_GAIN * (-log_gain(residual.envelope, self.table).clamp_min(LOWEST)).exp()
        size = flattened * torch.addcmul(spectra.real * spectra.real, spectra.imag, spectra.imag).sqrt()
        limit = (_LARGEST_RESIDUAL / size.clamp_min(1e-6)).clamp_max(1.0)
        return gain * share * flattened * limit, gain * (1.0 - share * share).sqrt()


def unvoiced_share(voicing: Tensor) -> Tensor:
    """Return how far each frame is breath or consonant rather than voice, 0..1, of voicing (frames,)."""
    return torch.sigmoid((UNVOICED - voicing) * 12)


def synthesize(
    synthesizer: Synthesizer,
    envelope: np.ndarray | Tensor,
    pitch: Pitch,
    first_sample: int = 0,
    cycles: float = 0.0,
    seed: int = 0,
    residual: Residual | None = None,
    recorded: RecordedExcitation | None = None,
) -> np.ndarray:
    """Synthesize samples, float32 ((frames - 1) * HOP,).

    envelope (frames, BANDS); `first_sample` sets the position of the noise, `cycles` the phase of the pulses; residual
    and recorded: of these frames, for the place of noise and of all that is voiced.
    """
    device = synthesizer.table.device
    [source] = on_device([source_of(pitch, first_sample, cycles, seed)], device)
    envelope = torch.as_tensor(envelope).to(device)
    [samples] = synthesize_together(synthesizer, [envelope], [source], [residual], [recorded])
    return samples.cpu().numpy()


@dataclass(frozen=True)
class Source:
    """What is synthesized from beside the envelope, float32: pitch and voicing (frames,), what the pulses are made of
    (4, frames - 1), and noise ((frames - 1) * HOP,)."""

    hertz: Tensor
    voicing: Tensor
    pulses: Tensor
    noise: Tensor


def source_of(pitch: Pitch, first_sample: int, cycles: float, seed: int) -> Source:
    """Return the source for a pitch (see `synthesize`), on the processor."""
    hertz = torch.from_numpy(pitch.hertz)
    curves, _ = pulse_curves(hertz[None], cycles)
    noise = torch.from_numpy(noise_at(first_sample, (len(hertz) - 1) * HOP, seed))
    return Source(hertz, torch.from_numpy(pitch.voicing), curves[:, 0], noise)


def synthesize_together(
    synthesizer: Synthesizer,
    envelopes: Sequence[Tensor],
    sources: Sequence[Source],
    residuals: Sequence[Residual | None],
    excitations: Sequence[RecordedExcitation | None],
) -> list[Tensor]:
    """Synthesize several windows (see `synthesize`) where all of them lie: samples ((frames - 1) * HOP,) of each."""
    with torch.inference_mode():
        hertz, voicing = together([one.hertz for one in sources], 1.0), together([one.voicing for one in sources])
        pulses = together([pulses_of(one.pulses[:, None])[0] for one in sources])
        excited = pulses, together([one.noise for one in sources]), *_stacked(residuals, excitations)
        within = inside([len(one) for one in envelopes], synthesizer.table.device)
        samples = synthesizer(together(envelopes), hertz, voicing, *excited, within)
    return [row[: len(one.noise)] for row, one in zip(samples, sources, strict=True)]


def _stacked(
    residuals: Sequence[Residual | None], excitations: Sequence[RecordedExcitation | None]
) -> tuple[Residual | None, RecordedExcitation | None]:
    """Return what of the recording all windows keep, as a batch; the frames of both once, where they are the same."""
    if len(residuals) == 1 and len(excitations) == 1:
        return residuals[0], excitations[0]
    hisses, voices = [one for one in residuals if one], [one for one in excitations if one]
    residual = Residual.stacked(hisses) if hisses else None
    recorded = RecordedExcitation.stacked(voices) if voices else None
    if residual and recorded and all(one.frames is other.frames for one, other in zip(hisses, voices, strict=True)):
        recorded = replace(recorded, frames=residual.frames)
    return residual, recorded
