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
_BLOCK_FRAMES = 32  # frames analysed at a time: so few stay in the cache of a processor


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


def measure_envelope(samples: np.ndarray, pitch: Pitch) -> np.ndarray:
    """Measure the log envelope of mono `samples` at SAMPLE_RATE, float32 (frames, BANDS), frames as in `pitch`."""
    frames = frame_count(len(samples))
    if len(pitch) != frames:
        raise ValueError(f"pitch has {len(pitch)} frames, the audio {frames}")
    signal = torch.from_numpy(np.ascontiguousarray(samples, np.float32))
    # to the left by the reach of the longest transform, to the right by two hops more than needed
    padded = torch.nn.functional.pad(signal, (TRANSFORM // 2, TRANSFORM // 2 + HOP))
    blocks = []
    for start in range(0, frames, _BLOCK_FRAMES):
        stop = min(start + _BLOCK_FRAMES, frames)
        piece, part = padded[start * HOP : (stop - 1) * HOP + TRANSFORM], pitch[start:stop]
        voiced = _log_density(piece, part, WINDOW, TRANSFORM)
        unvoiced = _log_density(piece, part, UNVOICED_WINDOW, _UNVOICED_TRANSFORM)
        share = torch.sigmoid((_SOFT_VOICING - torch.from_numpy(part.voicing)) * 12)[:, None]
        blocks.append(torch.lerp(voiced, unvoiced, share))
    return torch.cat(blocks).numpy()


def _log_density(piece: torch.Tensor, pitch: Pitch, window_length: int, transform: int) -> torch.Tensor:
    """Measure the log envelope (frames, BANDS) with one window.

    `piece` extends TRANSFORM / 2 samples beyond the first and last frame.
    """
    window = torch.hann_window(window_length)
    # |X|^2 / (rate * sum of squared window) is a two-sided power density; doubled it is one-sided
    scale = 2.0 / (SAMPLE_RATE * float((window**2).sum()))
    margin = (TRANSFORM - transform) // 2
    inner = piece[margin : len(piece) - margin]
    spectrum = torch.stft(inner, transform, HOP, window_length, window, center=False, return_complex=True)
    # in units where a density of 1 over the whole band has unit variance, as for the excitation
    density = _average_one_harmonic(spectrum.abs().square().T * scale, pitch, SAMPLE_RATE / transform)
    return 0.5 * (density * (SAMPLE_RATE / 2)).clamp_min(np.exp(2 * FLOOR)).log()


def _average_one_harmonic(power: torch.Tensor, pitch: Pitch, spacing: float) -> torch.Tensor:
    """Average power density (block, bins), `spacing` hertz apart, around each band centre: (block, BANDS).

    The average spans one harmonic spacing or one band, whichever is wider.
    """
    cumulative = torch.nn.functional.pad(power.double().cumsum(1), (1, 0)) * spacing  # up to the lower edge of each bin
    hertz = torch.from_numpy(pitch.hertz).double()[:, None]
    voicing = torch.from_numpy(pitch.voicing).double()[:, None].sqrt()
    centres = torch.from_numpy(band_centres())[None]
    width = torch.maximum(voicing * hertz + (1 - voicing) * UNVOICED_WIDTH_HERTZ, torch.from_numpy(band_widths())[None])
    # below the fundamental there is nothing to average: hold its value to avoid a sharp drop
    centre = torch.maximum(centres, voicing * hertz)

    # a second average, half as wide, rounds the corners of the first (together close to a triangle)
    narrow = width / 4
    middles = torch.stack([centre, centre - narrow, centre + narrow])
    edges = torch.stack([middles + width / 2, middles - width / 2])
    position = (edges.abs() / spacing + 0.5).clamp(0, power.shape[1] - 1e-6)
    left = position.floor().long()
    fraction = position - left
    below = cumulative.expand(2, 3, -1, -1)
    value = below.gather(3, left) * (1 - fraction) + below.gather(3, left + 1) * fraction
    first, before, after = (value * edges.sign()).diff(dim=0)[0].neg()
    return ((first * 2 + (before + after)) / (4 * width)).clamp_min(0.0).float()


@dataclass(frozen=True)
class Level:
    """The overall level of a recording, from which everything learned is made independent."""

    nepers: float  # the loud end of the frame loudness


def loudness_of(envelope: torch.Tensor) -> torch.Tensor:
    """Return each frame's log amplitude below 8 kHz in nepers: (..., frames, BANDS) -> (..., frames)."""
    weights = _power_weights(envelope.dtype, envelope.device)
    return 0.5 * torch.log(torch.exp(2 * envelope[..., :LOW_BANDS]) @ weights + 1e-14)


@lru_cache(maxsize=4)
def _power_weights(precision: torch.dtype, device: torch.device) -> torch.Tensor:
    """Return the weight of each low band (LOW_BANDS,), on a device once, since a step of training may wait for none."""
    with torch.inference_mode(False):  # training may use it as well
        return torch.from_numpy(band_widths()[:LOW_BANDS] / (SAMPLE_RATE / 2)).to(device, precision)


def frame_loudness(envelope: np.ndarray) -> np.ndarray:
    """Return `loudness_of` for an array, float32 (frames,)."""
    return loudness_of(torch.from_numpy(envelope)).numpy()


def measure_level(envelope: np.ndarray) -> Level:
    """Measure the level of a recording from its log envelope (frames, BANDS)."""
    return Level(float(np.percentile(frame_loudness(envelope), 95)))
