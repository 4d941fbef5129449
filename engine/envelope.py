"""The spectral envelope: how a sound is coloured, without the harmonics of its pitch.

A spectrum of a voice shows both the resonances of the vocal tract and the comb of its harmonics. Averaging the power
over exactly one harmonic distance removes the comb and keeps the resonances, at any pitch (the idea behind CheapTrick;
Morise, 2015). Here the average is read from the cumulative power spectrum directly at the centres of bands that are
evenly spaced in mel (O'Shaughnessy, 1987), so the cost does not depend on the pitch.

Values are natural logarithms of the square root of power density, so that the synthesizer can use exp(envelope) as the
gain of an excitation of unit density.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import ArrayLike

from engine.frames import HOP, SAMPLE_RATE, frame_count
from engine.pitch import Pitch

WINDOW = 1323  # samples: 30 ms, three periods of a low voice
TRANSFORM = 2048  # points of the Fourier transform
BANDS = 108
LOW_BANDS = 80  # the bands below 8 kHz, which every recording of the corpus has
LOWEST_HERTZ = 40.0
TOP_OF_LOW_BANDS_HERTZ = 8000.0
FLOOR = -14.0  # nepers; digital silence
ACTIVE_NEPERS = -3.5  # relative to a recording's level (30 dB); louder frames are active
SILENT = -8.0  # nepers below a recording's level; quieter differences are not modelled
UNVOICED_WIDTH_HERTZ = 160.0
_BLOCK_FRAMES = 3000  # frames analysed at a time, so that memory stays flat


def hertz_to_mel(hertz: ArrayLike) -> np.ndarray:
    """Mel of a frequency in hertz (2595 log10(1 + f/700))."""
    return 2595.0 * np.log10(1.0 + np.asarray(hertz) / 700.0)


def mel_to_hertz(mel: ArrayLike) -> np.ndarray:
    """Frequency in hertz of a mel."""
    return 700.0 * (10.0 ** (np.asarray(mel) / 2595.0) - 1.0)


@lru_cache(maxsize=1)
def band_centres() -> np.ndarray:
    """Centre frequencies in hertz, float64 (BANDS,); the first LOW_BANDS end at 8 kHz, the last near 20 kHz."""
    lowest, top = hertz_to_mel(LOWEST_HERTZ), hertz_to_mel(TOP_OF_LOW_BANDS_HERTZ)
    step = (top - lowest) / LOW_BANDS
    return mel_to_hertz(lowest + step * (np.arange(BANDS) + 0.5))


@lru_cache(maxsize=1)
def band_widths() -> np.ndarray:
    """Distance between the edges of each band in hertz, float64 (BANDS,)."""
    centres_mel = hertz_to_mel(band_centres())
    step = centres_mel[1] - centres_mel[0]
    return mel_to_hertz(centres_mel + step / 2) - mel_to_hertz(centres_mel - step / 2)


def bands_below(bandwidth_hertz: float) -> int:
    """How many bands lie wholly below a recording's bandwidth."""
    return int((band_centres() + band_widths() / 2 <= bandwidth_hertz * 0.98).sum())


def measure_envelope(samples: np.ndarray, pitch: Pitch) -> np.ndarray:
    """Log envelope of mono `samples` at SAMPLE_RATE, float32 (frames, BANDS), frames as in `pitch`."""
    frames = frame_count(len(samples))
    if len(pitch) != frames:
        raise ValueError(f"pitch has {len(pitch)} frames, the audio {frames}")
    signal = torch.from_numpy(np.ascontiguousarray(samples, np.float32))
    half = TRANSFORM // 2
    # two hops more than needed at the end, so that every frame centre has a whole window
    padded = torch.nn.functional.pad(signal, (half, half + HOP))
    window = torch.hann_window(WINDOW)
    # |X|^2 / (rate * sum of squared window) is a two-sided power density; doubled it is one-sided
    scale = 2.0 / (SAMPLE_RATE * float((window**2).sum()))
    blocks = []
    for start in range(0, frames, _BLOCK_FRAMES):
        stop = min(start + _BLOCK_FRAMES, frames)
        piece = padded[start * HOP : (stop - 1) * HOP + TRANSFORM]
        # (bins, block)
        spectrum = torch.stft(piece, TRANSFORM, HOP, WINDOW, window, center=False, return_complex=True)
        power = spectrum.abs().square().T * scale
        blocks.append(_average_one_harmonic(power, pitch[start:stop]))
    # in units where a density over the whole band of 1 has unit variance, as the excitation's
    density = torch.cat(blocks) * (SAMPLE_RATE / 2)
    return (0.5 * density.clamp_min(np.exp(2 * FLOOR)).log()).numpy()


def _average_one_harmonic(power: torch.Tensor, pitch: Pitch) -> torch.Tensor:
    """Power density (block, bins) -> mean around each band centre over one harmonic or one band, (block, BANDS)."""
    spacing = SAMPLE_RATE / TRANSFORM
    cumulative = torch.nn.functional.pad(power.double().cumsum(1), (1, 0)) * spacing  # up to the lower edge of each bin
    hertz = torch.from_numpy(pitch.hertz).double()[:, None]
    voicing = torch.from_numpy(pitch.voicing).double()[:, None].sqrt()
    centres = torch.from_numpy(band_centres())[None]
    width = torch.maximum(voicing * hertz + (1 - voicing) * UNVOICED_WIDTH_HERTZ, torch.from_numpy(band_widths())[None])
    # below the fundamental there is nothing to average: hold its value, so that the curve does not fall off a cliff
    centre = torch.maximum(centres, voicing * hertz)

    def power_below(frequency: torch.Tensor) -> torch.Tensor:
        position = (frequency.abs() / spacing + 0.5).clamp(0, power.shape[1] - 1e-6)
        left = position.floor().long()
        fraction = position - left
        value = torch.gather(cumulative, 1, left) * (1 - fraction) + torch.gather(cumulative, 1, left + 1) * fraction
        return value * frequency.sign()

    first = power_below(centre + width / 2) - power_below(centre - width / 2)
    # a second, half as wide average takes the corners off the first (together close to a triangle)
    narrow = width / 4
    shifted = sum(power_below(centre + d + width / 2) - power_below(centre + d - width / 2) for d in (-narrow, narrow))
    return ((first * 2 + shifted) / (4 * width)).clamp_min(0.0).float()


@dataclass(frozen=True)
class Level:
    """How loud a recording is as a whole, so that what is learned does not depend on it."""

    nepers: float  # the loud end of the frame loudness
    # float32 (BANDS,): of `measure_level` the mean of envelope - nepers over the frames that are not silent, of
    # `engine.mean_colour.measure_colour` the likeliest colour of microphone and speaker
    mean: np.ndarray


def loudness_of(envelope: torch.Tensor) -> torch.Tensor:
    """Log amplitude below 8 kHz in nepers of each frame of a log envelope: (..., frames, BANDS) -> (..., frames)."""
    weights = torch.from_numpy(band_widths()[:LOW_BANDS] / (SAMPLE_RATE / 2)).to(envelope)
    return 0.5 * torch.log(torch.exp(2 * envelope[..., :LOW_BANDS]) @ weights + 1e-14)


def frame_loudness(envelope: np.ndarray) -> np.ndarray:
    """The same of an array, float32 (frames,)."""
    return loudness_of(torch.from_numpy(envelope)).numpy()


def measure_level(envelope: np.ndarray) -> Level:
    """The level and the mean colour of a recording from its log envelope (frames, BANDS)."""
    loudness = frame_loudness(envelope)
    nepers = float(np.percentile(loudness, 95))
    active = loudness > nepers + ACTIVE_NEPERS
    mean = np.maximum(envelope[active] - nepers, SILENT).mean(0) if active.any() else np.zeros(BANDS)
    return Level(nepers, mean.astype(np.float32))
