"""The synthesizer: turn envelope and pitch into samples, with a source and a learned filter.

    pitch --> pulses (band limited) --> x harmonic filter --+
                                                            +--> overlap-add --> samples
              noise, residual --------> x noise filter -----+
                                          ^
    envelope, pitch, voicing --> network -+

Where the recording has no pitch, its own residual can take the place of noise. A stop keeps its burst and a fricative
its grain, which are finer than frames.

Each frame of the two excitations is filtered in the frequency domain. The filters start from the measured envelope
(both excitations have unit power density, so exp(envelope) is the right gain), and the network corrects it: how much of
each band is harmonic, how much is noise, and how the phase is dispersed. Compare DDSP (Engel et al., 2020), the
neural source-filter model (Wang et al., 2019) and Vocos (Siuzdak, 2023).
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from engine.analysis.envelope import BANDS, FLOOR, band_centres, measure_envelope
from engine.analysis.pitch import Pitch, detect_pitch
from engine.audio.files import Audio
from engine.audio.resampling import resample
from engine.networks.layers import (
    HIGHEST_LEARNED_HERTZ,
    ConvNextBlock,
    FrameConvolution,
    frames_after_blocks,
    receptive_frames,
)
from engine.units import HOP, SAMPLE_RATE

_CHANNELS = 256
_DILATIONS = (1, 2, 1, 2)
_WINDOW = 2 * HOP  # of each excitation frame; Hann windows at half overlap add up to one
_TRANSFORM = 1536  # leaves 654 samples (15 ms) for the filter's response before it wraps around
PIECE = _TRANSFORM  # samples that a filtered frame may take
PIECE_BEGINS = (_TRANSFORM - _WINDOW) // 4  # samples before the frame's excitation
_BINS = _TRANSFORM // 2 + 1
_RESIDUAL_GAIN = 0.92  # dividing by an envelope that was measured of the same noise adds as much on average
_LARGEST_RESIDUAL = 6.0  # times what is usual, where an envelope missed a click
_UNVOICED = 0.35  # below this voicing the residual takes the place of noise, with a soft edge
_NOISE_BLOCK = 1 << 16
_FRAMES_AT_ONCE = 256


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
        self.window: Tensor
        self.register_buffer("bands_to_bins", torch.from_numpy(_band_interpolation()), persistent=False)
        self.register_buffer("window", torch.hann_window(_WINDOW), persistent=False)

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
    ) -> Tensor:
        """Synthesize samples (batch, (frames - 1) * HOP) from frames, and excitations of that length."""
        hiss = self._frames(noise) if residual is None else residual.mixed(self._frames(noise))
        return self._overlap_add(self._filtered(self.filters(envelope, hertz, voicing), self._frames(pulses), hiss))

    def residual(self, frames: Tensor, envelope: Tensor, voicing: Tensor, share: Tensor, known: Tensor) -> Residual:
        """Return the residual of a recording's frames (frames, 2 * HOP), each centred on its frame.

        envelope (frames, BANDS), absolute; voicing and share (frames,), the latter wanted where there is no pitch;
        known (BANDS,): 1 where the recording holds signal.
        """
        gain = (envelope @ self.bands_to_bins).clamp_min(FLOOR + 1.0).exp() / _RESIDUAL_GAIN
        spectra = torch.fft.rfft(frames * self.window, _TRANSFORM) / gain
        usual = float(self.window.square().sum().sqrt())
        spectra = spectra * (_LARGEST_RESIDUAL * usual / spectra.abs().clamp_min(1e-6)).clamp_max(1.0)
        unvoiced = torch.sigmoid((_UNVOICED - voicing) * 12) * share
        return Residual(spectra, unvoiced[:, None] * (known @ self.bands_to_bins))

    def pieces(
        self,
        filters: tuple[Tensor, Tensor, Tensor],
        pulses: Tensor,
        noise: Tensor,
        residual: Residual | None = None,
    ) -> Tensor:
        """Filter the frames of two excitations, (batch, frames, 2 * HOP) each: (batch, frames, PIECE) samples to add.

        filters and residual: of these frames. A piece begins PIECE_BEGINS samples before its frame's excitation.
        """
        voice, hiss = (torch.fft.rfft(frames * self.window, _TRANSFORM) for frames in (pulses, noise))
        return _rotated(self._filtered(filters, voice, hiss if residual is None else residual.mixed(hiss)))

    def _filtered(self, filters: tuple[Tensor, Tensor, Tensor], pulses: Tensor, noise: Tensor) -> Tensor:
        """Apply filters to the spectra of the excitations, (batch, frames, bins)."""
        harmonic_gain, noise_gain, phase = (curve @ self.bands_to_bins for curve in filters)
        phase = phase + minimum_phase(harmonic_gain)
        response = torch.polar(harmonic_gain.exp(), phase)
        return pulses * response + noise * noise_gain.exp()

    def _frames(self, excitation: Tensor) -> Tensor:
        """Compute windowed spectra (batch, frames, bins) of (batch, samples); frame i is centred on sample i * HOP."""
        padded = nn.functional.pad(excitation, (HOP, HOP))
        return torch.fft.rfft(padded.unfold(1, _WINDOW, HOP) * self.window, _TRANSFORM)

    def _overlap_add(self, spectrum: Tensor) -> Tensor:
        _batch, frames, _bins = spectrum.shape
        before, pieces = PIECE_BEGINS, _rotated(spectrum)
        length = (frames - 1) * HOP + _TRANSFORM
        joined = nn.functional.fold(pieces.transpose(1, 2), (1, length), kernel_size=(1, _TRANSFORM), stride=(1, HOP))
        return joined[:, 0, 0, before + HOP : before + HOP + (frames - 1) * HOP]


def _rotated(spectrum: Tensor) -> Tensor:
    """Return the samples of filtered frames (..., _TRANSFORM); a response may begin before its frame."""
    return torch.fft.irfft(spectrum, _TRANSFORM).roll(PIECE_BEGINS, dims=2)


def minimum_phase(log_gain: Tensor) -> Tensor:
    """Compute the minimum phase in radians for a log gain (..., bins).

    Done by folding the real cepstrum (Oppenheim and Schafer, Discrete-Time Signal Processing, chapter 13).
    """
    cepstrum = torch.fft.irfft(log_gain, _TRANSFORM)
    fold = torch.zeros(_TRANSFORM, device=log_gain.device)
    fold[1 : _TRANSFORM // 2] = 2.0
    fold[0] = fold[_TRANSFORM // 2] = 1.0
    return torch.fft.rfft(cepstrum * fold).imag


def _band_interpolation() -> np.ndarray:
    """Return the matrix (BANDS, bins) that interpolates a curve over bands linearly at the frequency of each bin."""
    hertz = np.arange(_BINS) * SAMPLE_RATE / _TRANSFORM
    identity = np.eye(BANDS)
    return np.stack([np.interp(hertz, band_centres(), row) for row in identity]).astype(np.float32)


def pulse_train(hertz: Tensor, start_cycles: Tensor | float = 0.0) -> tuple[Tensor, Tensor]:
    """Generate band-limited pulses of unit power density from frame pitch (batch, frames).

    Returns samples (batch, (frames - 1) * HOP) and the phase in cycles at the end. The sum of all cosines below half
    the sample rate in closed form (discrete summation; Moorer, 1976); the highest one fades in and out, so that a glide
    makes no clicks.
    """
    batch, _frames = hertz.shape
    log_hertz = hertz.double().log2()
    fraction = torch.arange(HOP, dtype=torch.float64, device=hertz.device) / HOP
    glide = log_hertz[:, :-1, None] * (1 - fraction) + log_hertz[:, 1:, None] * fraction
    frequency = torch.exp2(glide).reshape(batch, -1)
    cycles = torch.cumsum(frequency / SAMPLE_RATE, 1)
    start = torch.as_tensor(start_cycles, dtype=torch.float64, device=hertz.device).reshape(-1, 1)
    cycles = cycles - cycles[:, :1] + start + frequency[:, :1] / SAMPLE_RATE
    end = _fraction(cycles[:, -1])
    harmonics = 0.5 * SAMPLE_RATE / frequency
    whole = harmonics.floor()
    cycles = _fraction(cycles)
    phase = (cycles * (2 * torch.pi)).float()
    whole_f, top = whole.float(), (harmonics - whole).float()
    half = torch.sin(phase / 2)
    near_zero = half.abs() < 1e-4
    # whole + 1/2 cycles of a large phase lose precision in float32, so reduce them before the sine
    upper = torch.sin((_fraction((whole + 0.5) * cycles) * (2 * torch.pi)).float())
    total = upper / (2 * torch.where(near_zero, torch.ones_like(half), half)) - 0.5
    total = torch.where(near_zero, whole_f, total)
    highest = torch.cos((_fraction((whole + 1) * cycles) * (2 * torch.pi)).float())
    # a harmonic of amplitude 1 has power 1/2 in a band as wide as the pitch; unit density is 1 per half the rate
    gain = (2 * frequency / (0.5 * SAMPLE_RATE)).sqrt().float()
    return (total + top * highest) * gain, end


def _fraction(cycles: Tensor) -> Tensor:
    """Return the fractional part of cycles, at least zero; cheaper than a remainder."""
    return cycles - cycles.floor()


def noise_at(first_sample: int, sample_count: int, seed: int) -> np.ndarray:
    """Return white noise of unit variance, float32 (sample_count,), fixed by the seed and the position alone.

    So windows of any size get the same noise, and the same seed gives the same bytes.
    """
    first_block, last_block = first_sample // _NOISE_BLOCK, (first_sample + max(sample_count, 1) - 1) // _NOISE_BLOCK
    blocks = [
        np.random.Generator(np.random.Philox(key=[seed, block])).standard_normal(_NOISE_BLOCK, np.float32)
        for block in range(first_block, last_block + 1)
    ]
    start = first_sample - first_block * _NOISE_BLOCK
    return np.concatenate(blocks)[start : start + sample_count]


def synthesize(
    synthesizer: Synthesizer,
    envelope: np.ndarray,
    pitch: Pitch,
    first_sample: int = 0,
    cycles: float = 0.0,
    seed: int = 0,
    residual: Residual | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Synthesize samples, float32 ((frames - 1) * HOP,), and return the pulses' phase in cycles, float64 (frames,).

    envelope (frames, BANDS); `first_sample` sets the position of the noise, `cycles` the phase of the pulses; residual:
    of these frames, for the place of noise.
    """
    hertz = torch.from_numpy(pitch.hertz)[None]
    with torch.inference_mode():
        # on the CPU, since not every device has the 64-bit floats needed for the phase
        pulses, _ = pulse_train(hertz, cycles)
        noise = torch.from_numpy(noise_at(first_sample, pulses.shape[1], seed))[None]
        frames = torch.from_numpy(envelope)[None], hertz, torch.from_numpy(pitch.voicing)[None]
        samples = synthesizer(*(one.to(synthesizer.window.device) for one in (*frames, pulses, noise)), residual)
    return samples[0].cpu().numpy(), cycles_per_frame(pitch.hertz, cycles)


def cycles_per_frame(hertz: np.ndarray, start: float) -> np.ndarray:
    """Return the unwrapped phase in cycles of `pulse_train` at each frame centre, float64 (frames,)."""
    log_hertz = np.log2(hertz.astype(np.float64))
    fraction = np.arange(HOP) / HOP
    steps = np.zeros(len(hertz))
    for first in range(0, len(hertz) - 1, _FRAMES_AT_ONCE):  # in blocks to limit memory use
        begins, ends = log_hertz[first:-1][:_FRAMES_AT_ONCE, None], log_hertz[first + 1 :][:_FRAMES_AT_ONCE, None]
        glides = np.exp2(begins * (1 - fraction) + ends * fraction)
        steps[first + 1 : first + 1 + len(glides)] = glides.sum(1) / SAMPLE_RATE
    return start + np.cumsum(steps)


def excitation_frames(samples: np.ndarray, frames: int) -> Tensor:
    """Cut samples (n,) into frames (frames, 2 * HOP), the first centred on the first sample; zeros beyond the ends."""
    wanted = (frames + 1) * HOP
    padded = np.pad(np.asarray(samples, np.float32), (HOP, max(0, wanted - HOP - len(samples))))
    return torch.from_numpy(padded[:wanted]).unfold(0, _WINDOW, HOP)


def residual_of(samples: np.ndarray, envelope: np.ndarray, pitch: Pitch, synthesizer: Synthesizer) -> Residual:
    """Return the whole residual of a recording at SAMPLE_RATE, from its envelope (frames, BANDS) and pitch."""
    frames = excitation_frames(samples, len(envelope))
    with torch.inference_mode():
        curves = torch.from_numpy(envelope), torch.from_numpy(pitch.voicing)
        return synthesizer.residual(frames, *curves, share=torch.ones(len(envelope)), known=torch.ones(BANDS))


def copy_synthesis(audio: Audio, synthesizer: Synthesizer) -> Audio:
    """Analyse and resynthesize the mid of `audio` without changing the voice: the synthesizer's upper limit."""
    samples = resample(audio.mono(), audio.rate, SAMPLE_RATE)
    pitch = detect_pitch(samples, SAMPLE_RATE)
    envelope = np.pad(measure_envelope(samples, pitch), ((0, 1), (0, 0)), "edge")  # one more for the last samples
    pitch = pitch.one_frame_longer()
    residual = residual_of(samples, envelope, pitch, synthesizer)
    output, _ = synthesize(synthesizer, envelope, pitch, residual=residual)
    return Audio(output[None, : len(samples)], SAMPLE_RATE)
