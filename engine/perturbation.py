"""Information perturbation: change in the spectrum what belongs to the speaker, so the encoder cannot lean on it.

After NANSY (Choi et al., 2021), but on log envelopes instead of samples, where it costs almost nothing: the frequency
axis is warped as a longer or shorter vocal tract would, a smooth random equalizer and a random noise floor are added.
"""

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from engine.envelope import BANDS, band_centres, band_widths, hertz_to_mel

_EQUALIZER_CURVES = 6
_LOWEST_OTHER_HERTZ, _HIGHEST_OTHER_HERTZ, _OTHER_PITCHES = 180.0, 1100.0, 32


@lru_cache(maxsize=1)
def _mel_centres() -> np.ndarray:
    return hertz_to_mel(band_centres())


def warp_bands(envelope: Tensor, factor: Tensor) -> Tensor:
    """Resonances at f moved to f * factor: envelope (batch, frames, bands), factor (batch,) -> the same shape."""
    bands = envelope.shape[2]
    # which bands those are is found on the processor, since not every device has numbers of 64 bits
    centres = torch.from_numpy(band_centres()[:bands])
    mel = torch.from_numpy(_mel_centres())
    wanted = 2595.0 * torch.log10(1.0 + centres[None] / factor.cpu().double()[:, None] / 700.0)
    position = ((wanted - mel[0]) / (mel[1] - mel[0])).clamp(0, bands - 1 - 1e-6)
    left = position.floor().long()
    fraction = (position - left).to(envelope.dtype).to(envelope.device)[:, None]
    index = left.to(envelope.device)[:, None].expand(envelope.shape)
    return torch.gather(envelope, 2, index) * (1 - fraction) + torch.gather(envelope, 2, index + 1) * fraction


def random_factor(batch: int, widest: float, random: torch.Generator) -> Tensor:
    """Factors between 1 / widest and widest, even in the logarithm, (batch,)."""
    return torch.exp((torch.rand(batch, generator=random) * 2 - 1) * np.log(widest))


def random_equalizer(batch: int, bands: int, strength: float, random: torch.Generator) -> Tensor:
    """Smooth random gains in nepers, (batch, 1, bands): a sum of slow cosines over the bands."""
    position = torch.arange(bands)[None] + 0.5
    curves = torch.cos(torch.pi * torch.arange(_EQUALIZER_CURVES)[:, None] * position / BANDS * 1.3)
    weights = torch.randn(batch, _EQUALIZER_CURVES, generator=random) * strength
    return (weights @ curves)[:, None]


def as_at_pitch(envelope: Tensor, voicing: Tensor, number: Tensor) -> Tensor:
    """What would be measured of the same vocal tract at a higher pitch, of which harmonics show fewer places.

    envelope (batch, frames, BANDS), voicing (batch, frames), number (batch,): which of the pitches of
    `random_pitches`, or -1 for as it is. Unvoiced frames have no harmonics and stay.
    """
    chosen = torch.nonzero(number >= 0)[:, 0]
    if not len(chosen):
        return envelope
    means = torch.from_numpy(_harmonic_means())[number[chosen].cpu()].to(envelope)
    own = envelope[chosen]
    at_pitch = 0.5 * torch.log(torch.exp(2 * own) @ means + 1e-9)
    share = voicing[chosen][..., None]
    return envelope.index_copy(0, chosen, own + share * (at_pitch - own))


def random_pitches(batch: int, share: float, random: torch.Generator) -> Tensor:
    """Numbers of pitches from 180 to 1100 Hz, even in the logarithm, for `share` of the batch, and -1, (batch,)."""
    numbers = (torch.rand(batch, generator=random) * _OTHER_PITCHES).long()
    return torch.where(torch.rand(batch, generator=random) < share, numbers, -1)


@lru_cache(maxsize=1)
def _harmonic_means() -> np.ndarray:
    """`_measured_at` each of the pitches, float32 (pitches, BANDS, BANDS)."""
    pitches = np.geomspace(_LOWEST_OTHER_HERTZ, _HIGHEST_OTHER_HERTZ, _OTHER_PITCHES)
    return np.stack([_measured_at(pitch) for pitch in pitches]).astype(np.float32)


def _measured_at(pitch: float) -> np.ndarray:
    """The matrix that gives of the power of a vocal tract what `engine.envelope` measures of it at a pitch: the power
    at the harmonics, averaged over one harmonic distance; (BANDS, BANDS)."""
    centres = band_centres()
    width, centre = np.maximum(pitch, band_widths()), np.maximum(centres, pitch)
    harmonics = np.arange(1, int(centres[-1] / pitch) + 3) * pitch
    at_harmonics = np.stack([np.interp(harmonics, centres, band) for band in np.eye(BANDS)], 1)
    # each harmonic stands for what is nearer to it than to the others, the first also for what is below
    starts = np.append(0.0, harmonics[1:] - pitch / 2)
    lengths = np.append(starts[1:], harmonics[-1] + pitch / 2) - starts

    def below(hertz: np.ndarray) -> np.ndarray:
        return np.clip(hertz[:, None] - starts[None], 0.0, lengths[None])

    def around(shift: float) -> np.ndarray:  # the centre, moved by so many widths
        return below(centre + (shift + 0.5) * width) - below(np.maximum(centre + (shift - 0.5) * width, 0.0))

    shares = 2 * around(0.0) + around(-0.25) + around(0.25)
    return (shares / shares.sum(1, keepdims=True) @ at_harmonics).T


def add_noise_floor(envelope: Tensor, random: torch.Generator) -> Tensor:
    """A steady noise under half of the batch; envelope in nepers relative to the recording's level."""
    batch, _, bands = envelope.shape
    level = torch.rand(batch, 1, 1, generator=random) * 4.5 - 8.0
    level = level + random_equalizer(batch, bands, 0.5, random)
    level = torch.where(torch.rand(batch, 1, 1, generator=random) < 0.5, level, torch.full_like(level, -20.0))
    return 0.5 * torch.logaddexp(2 * envelope, 2 * level)
