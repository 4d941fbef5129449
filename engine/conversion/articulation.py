"""Articulation: what is kept of the recording's own sounds, and how far the voice is driven towards itself."""

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from engine.analysis.envelope import BANDS, band_centres
from engine.carrying import carried
from engine.networks.layers import moving_average
from engine.networks.synthesizer import unvoiced_share
from engine.units import hertz_to_mel

# How far to extrapolate beyond the target timbre, away from the source timbre, because content keeps a trace of the
# source speaker. More costs intelligibility (engine/EXPERIMENTS.md), soonest for voices without recordings of the same
# kind, speech or singing.
BEYOND, BEYOND_THE_KNOWN = 0.5, 0.1
_MORE_CONTRAST = 1.2  # times what was measured of the voice: a little too much sounds better, at the same words
COLOUR_FRAMES = 60  # on each side, over which detail is averaged to find what is only colour
_RECOLOURED = 0.7  # how much of the colour of a recording's consonants gives way to the voice's
_BACKGROUND_NEPERS = 3.7  # below the level; quieter unvoiced frames are the room
_EDGE_BANDS = 6  # over which the recording's own spectrum gives way at its bandwidth
_TEXTURE_EDGE_BANDS = 8  # between what is made anew and what is kept


def articulate(decoded: Tensor, centre: Tensor, contrast: Tensor) -> Tensor:
    """Restore the variance that a decoder averages away (Toda et al., 2007): (..., frames, BANDS).

    Parameters: decoded (..., frames, BANDS), nepers; centre and contrast (BANDS,) of the voice.
    """
    return centre + (decoded - centre) * (_MORE_CONTRAST * contrast)


def protect_consonants(
    decoded: Tensor, envelope: Tensor, voicing: Tensor, loudness: Tensor, strength: float, known: Tensor
) -> Tensor:
    """Keep a share of the recording's own breaths and unvoiced consonants, in the voice's colour: (frames, BANDS).

    Parameters: decoded and envelope (frames, BANDS), nepers; voicing and loudness (frames,); known (BANDS,).
    """
    consonant = unvoiced_share(voicing) * foreground(loudness)
    protected = strength * consonant[:, None] * known
    return decoded + protected * less_colour(envelope - decoded, consonant, _RECOLOURED)


def less_colour(difference: Tensor, weight: Tensor, share: float) -> Tensor:
    """Subtract a share of the moving average over about a second, which removes the speaker and keeps articulation.

    Parameters: difference (frames, BANDS); weight (frames,) of each frame in the average.
    """
    return difference - share * moving_average(difference, COLOUR_FRAMES, weight[:, None] + 1e-3)


def foreground(loudness: Tensor) -> Tensor:
    """Measure how far each frame stands out of the background, 0..1, (frames,): room noise is not protected."""
    return torch.sigmoid((loudness + _BACKGROUND_NEPERS) * 4)


def known_bands(bands: int) -> Tensor:
    """1 where the recording holds signal, falling to 0 at its bandwidth, (BANDS,)."""
    if bands >= BANDS:
        return torch.ones(BANDS)
    return ((bands - 1 - torch.arange(BANDS)) / _EDGE_BANDS).clamp(0, 1)


def kept_texture(texture: float, device: torch.device | None = None) -> Tensor:
    """How much of each band is the performer's own sound, 0..1, (BANDS,): from the highest one down, at 1 all."""
    lowest = (1.0 - texture) * (BANDS + _TEXTURE_EDGE_BANDS) - _TEXTURE_EDGE_BANDS
    return ((torch.arange(BANDS, device=device) - lowest) / _TEXTURE_EDGE_BANDS).clamp(0, 1)


@lru_cache(maxsize=1)
def _mel_centres() -> np.ndarray:
    return hertz_to_mel(band_centres())


def warp_bands(envelope: Tensor, factor: Tensor | float) -> Tensor:
    """Move resonances from f to f * factor: envelope (batch, frames, bands), factor (batch,) or one -> same shape."""
    kind = envelope.shape[2], envelope.dtype, envelope.device
    left, fraction = _warped_places(factor, *kind) if isinstance(factor, Tensor) else _places_warped_by(factor, *kind)
    index = left[:, None].expand(envelope.shape)
    return torch.gather(envelope, 2, index) * (1 - fraction) + torch.gather(envelope, 2, index + 1) * fraction


@lru_cache(maxsize=4)
def _places_warped_by(factor: float, bands: int, kind: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    return _warped_places(torch.tensor([factor]), bands, kind, device)


def _warped_places(factor: Tensor, bands: int, kind: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return below which band each one lies in the envelope before it is warped (batch, bands), and how far above it
    (batch, 1, bands)."""
    # on the processor, since not every device has 64-bit floats
    centres = torch.from_numpy(band_centres()[:bands])
    mel = torch.from_numpy(_mel_centres())
    wanted = 2595.0 * torch.log10(1.0 + centres[None] / factor.cpu().double()[:, None] / 700.0)
    position = ((wanted - mel[0]) / (mel[1] - mel[0])).clamp(0, bands - 1 - 1e-6)
    left = position.floor().long()
    left, fraction = carried([left, (position - left).to(kind)], device)
    return left, fraction[:, None]
