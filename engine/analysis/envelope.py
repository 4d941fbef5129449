"""The spectral envelope: the timbre of a sound, without the harmonics of its pitch.

The spectrum of a voice shows both the resonances of the vocal tract and the comb of its harmonics. Averaging the power
over exactly one harmonic spacing removes the comb and keeps the resonances, at any pitch (the idea behind CheapTrick;
Morise, 2015). Here the average is read from the cumulative power spectrum directly at the centres of bands that are
evenly spaced in mel (O'Shaughnessy, 1987), so the cost does not depend on the pitch.

Values are natural logarithms of the square root of power density, so that the synthesizer can use exp(envelope) as the
gain of an excitation with unit density.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from engine.analysis.pitch import Pitch
from engine.units import HOP, SAMPLE_RATE, frame_count, hertz_to_mel, mel_to_hertz

WINDOW = 1323  # samples: 30 ms, three periods of a low voice
UNVOICED_WINDOW = 441  # 10 ms: keeps stops and the onsets of fricatives sharp
TRANSFORM = 2048  # points of the Fourier transform
_UNVOICED_TRANSFORM = 1024
BANDS = 108
LOW_BANDS = 80  # the bands below 8 kHz, which every recording of the corpus has
LOWEST_HERTZ = 40.0
TOP_OF_LOW_BANDS_HERTZ = 8000.0
FLOOR = -14.0  # nepers; digital silence
ACTIVE_NEPERS = -3.5  # relative to a recording's level (30 dB); louder frames are active
SILENT = -8.0  # nepers relative to a recording's level; quieter differences are not modelled
UNVOICED_WIDTH_HERTZ = 240.0
_SOFT_VOICING = 0.5  # where one window cross-fades into the other
_BLOCK_FRAMES = 64  # frames analysed at a time: so few stay in the cache of a processor
_LEAST = float(np.exp(2 * FLOOR))
# Between which edges power is averaged, in widths from the centre, and with which weights: one width, and before and
# after it, by a quarter of a width
_EDGES = {0.5: 2.0, -0.5: -2.0, 0.25: 1.0, -0.75: -1.0, 0.75: 1.0, -0.25: -1.0}
_UNITS, _SOFTEST = 2.0**58, 1e-18  # into which the power of a frame is divided, if it is not below the floor


@lru_cache(maxsize=1)
def band_centres() -> np.ndarray:
    """Return the centre frequencies in hertz, float64 (BANDS,): LOW_BANDS up to 8 kHz, the last near 20 kHz."""
    lowest, top = hertz_to_mel(LOWEST_HERTZ), hertz_to_mel(TOP_OF_LOW_BANDS_HERTZ)
    step = (top - lowest) / LOW_BANDS
    return mel_to_hertz(lowest + step * (np.arange(BANDS) + 0.5))


@lru_cache(maxsize=1)
def band_widths() -> np.ndarray:
    """Return the width of each band in hertz, float64 (BANDS,)."""
    centres_mel = hertz_to_mel(band_centres())
    step = centres_mel[1] - centres_mel[0]
    return mel_to_hertz(centres_mel + step / 2) - mel_to_hertz(centres_mel - step / 2)


def bands_below(bandwidth_hertz: float) -> int:
    """Count the bands entirely below a recording's bandwidth."""
    return int((band_centres() + band_widths() / 2 <= bandwidth_hertz * 0.98).sum())


def measure_envelope(samples: np.ndarray, pitch: Pitch, device: torch.device | str = "cpu") -> np.ndarray:
    """Measure the log envelope of mono `samples` at SAMPLE_RATE, float32 (frames, BANDS), frames as in `pitch`."""
    curves = (np.ascontiguousarray(curve, np.float32) for curve in (samples, pitch.hertz, pitch.voicing))
    return envelope_of(*(torch.from_numpy(curve).to(device) for curve in curves)).cpu().numpy()


def envelope_of(samples: Tensor, hertz: Tensor, voicing: Tensor) -> Tensor:
    """Measure the log envelope (frames, BANDS) of samples (samples,) where they lie, with their pitch (frames,)."""
    frames = frame_count(len(samples))
    if len(hertz) != frames:
        raise ValueError(f"pitch has {len(hertz)} frames, the audio {frames}")
    # to the left by the reach of the longest transform, to the right by two hops more than needed
    padded = torch.nn.functional.pad(samples, (TRANSFORM // 2, TRANSFORM // 2 + HOP))
    at_once = _BLOCK_FRAMES if samples.device.type == "cpu" else frames
    blocks = []
    for start in range(0, frames, at_once):
        stop = min(start + at_once, frames)
        piece = padded[start * HOP : (stop - 1) * HOP + TRANSFORM]
        part = hertz[start:stop, None], voicing[start:stop, None].sqrt()
        voiced = _log_density(piece, *part, WINDOW, TRANSFORM)
        unvoiced = _log_density(piece, *part, UNVOICED_WINDOW, _UNVOICED_TRANSFORM)
        share = torch.sigmoid((_SOFT_VOICING - voicing[start:stop, None]) * 12)
        blocks.append(torch.lerp(voiced, unvoiced, share))
    return torch.cat(blocks)


@dataclass(frozen=True, eq=False)
class _Scale:
    """What a measurement with one window and transform needs on a device, frequencies in bins of the transform."""

    window: Tensor  # (transform,), whose square is a power density where the power of its spectrum is added up
    centres: Tensor  # (1, BANDS), likewise the widths
    widths: Tensor
    edges: Tensor  # (1, edges, 1), in widths from the centre
    weights: Tensor  # likewise, of the power up to each edge
    spacing_hertz: float


@lru_cache(maxsize=8)
def _scale(window_length: int, transform: int, device: torch.device) -> _Scale:
    window = torch.hann_window(window_length)
    # |X|^2 / (rate * sum of squared window) is a two-sided power density; doubled it is one-sided. In units where a
    # density of 1 over the whole band has unit variance, as for the excitation, the rate falls out
    window = window / window.square().sum().sqrt()
    before = (transform - window_length) // 2
    window = torch.nn.functional.pad(window, (before, transform - window_length - before))
    spacing = SAMPLE_RATE / transform
    centres, widths = (torch.from_numpy(hertz[None] / spacing).float() for hertz in (band_centres(), band_widths()))
    edges, weights = (torch.tensor(list(one))[None, :, None] for one in (_EDGES, _EDGES.values()))
    window, centres, widths, edges, weights = (one.to(device) for one in (window, centres, widths, edges, weights))
    return _Scale(window, centres, widths, edges, weights, spacing)


def _log_density(piece: Tensor, hertz: Tensor, root_voicing: Tensor, window_length: int, transform: int) -> Tensor:
    """Measure the log envelope (frames, BANDS) with one window; pitch and the root of its voicing (frames, 1).

    `piece` extends TRANSFORM / 2 samples beyond the first and last frame.
    """
    scale = _scale(window_length, transform, piece.device)
    margin = (TRANSFORM - transform) // 2
    frames = piece[margin : len(piece) - margin].unfold(0, transform, HOP)
    spectrum = torch.fft.rfft(frames * scale.window)
    power = torch.addcmul(spectrum.real.square(), spectrum.imag, spectrum.imag)
    return 0.5 * _average_one_harmonic(power, hertz / scale.spacing_hertz, root_voicing, scale).clamp_min(_LEAST).log()


def _average_one_harmonic(power: Tensor, spacing: Tensor, root_voicing: Tensor, scale: _Scale) -> Tensor:
    """Average power density (frames, bins) around each band centre, (frames, BANDS); spacing: of harmonics, in bins.

    The average spans one harmonic spacing or one band, whichever is wider.
    """
    sung = root_voicing * spacing
    width = torch.maximum(sung + (1 - root_voicing) * (UNVOICED_WIDTH_HERTZ / scale.spacing_hertz), scale.widths)
    # below the fundamental there is nothing to average: hold its value to avoid a sharp drop
    centre = torch.maximum(scale.centres, sung)

    # a second average, half as wide, rounds the corners of the first (together close to a triangle)
    edges = torch.addcmul(centre[:, None], width[:, None], scale.edges)  # (frames, edges, BANDS)
    weights = edges.sign().mul_(scale.weights)  # below zero are the frequencies above, once more
    position = edges.abs_().add_(0.5).clamp_max_(power.shape[1])  # a bin reaches half a bin to both sides
    left = position.floor().clamp_max_(power.shape[1] - 1)
    places, missing = left.long().flatten(1), position.sub_(left).sub_(1.0)
    unit = _UNITS / power.sum(1, keepdim=True).clamp_min(_SOFTEST)
    up_to = (power * unit).to(_exact(power.device)).cumsum(1)
    whole = up_to.gather(1, places).view(left.shape).mul_(weights.to(up_to.dtype)).sum(1)
    partial = power.gather(1, places).view(left.shape).mul_(missing).mul_(weights).sum(1)
    return ((whole.float() / unit + partial) / (4 * width)).clamp_min_(0.0)


def _exact(device: torch.device) -> torch.dtype:
    """Return in what the powers of all bins are added up: in 32 bits, soft bands would be lost beside loud ones.

    Where there are no floats of 64 bits, whole numbers are as exact.
    """
    return torch.int64 if device.type == "mps" else torch.float64


@dataclass(frozen=True)
class Level:
    """The overall level of a recording, from which everything learned is made independent."""

    nepers: float  # the loud end of the frame loudness


def loudness_of(envelope: Tensor) -> Tensor:
    """Return each frame's log amplitude below 8 kHz in nepers: (..., frames, BANDS) -> (..., frames)."""
    weights = _power_weights(envelope.dtype, envelope.device)
    # no matrix product, whose sums depend on the number of threads
    return 0.5 * torch.log((torch.exp(2 * envelope[..., :LOW_BANDS]) * weights).sum(-1) + 1e-14)


@lru_cache(maxsize=4)
def _power_weights(precision: torch.dtype, device: torch.device) -> Tensor:
    """Return the weight of each low band (LOW_BANDS,), on a device once, since a step of training may wait for none."""
    with torch.inference_mode(False):  # training may use it as well
        return torch.from_numpy(band_widths()[:LOW_BANDS] / (SAMPLE_RATE / 2)).to(device, precision)


def frame_loudness(envelope: np.ndarray) -> np.ndarray:
    """Return `loudness_of` for an array, float32 (frames,)."""
    return loudness_of(torch.from_numpy(envelope)).numpy()


def measure_level(envelope: np.ndarray) -> Level:
    """Measure the level of a recording from its log envelope (frames, BANDS)."""
    return Level(float(np.percentile(frame_loudness(envelope), 95)))
