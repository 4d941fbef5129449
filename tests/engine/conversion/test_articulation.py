import numpy as np
import pytest
import torch

from engine.analysis.envelope import BANDS, LOW_BANDS, band_centres
from engine.conversion.articulation import articulate, protect_consonants, warp_bands


def decoded(frames: int = 200) -> torch.Tensor:
    """A smooth envelope with a formant that comes and goes."""
    bands = torch.arange(BANDS)
    formant = torch.exp(-(((bands - 40) / 5.0) ** 2))
    return -0.01 * bands + formant * torch.sin(torch.linspace(0, 20, frames))[:, None]


def test_articulate_keeps_a_flat_envelope():
    level = torch.full((5, BANDS), -1.5)
    torch.testing.assert_close(articulate(level, level[0], torch.ones(BANDS)), level)


def test_articulate_adds_variance_around_the_centre():
    envelope = decoded()
    centre = envelope.mean(0)
    found = articulate(envelope, centre, torch.full((BANDS,), 1.3))
    ratio = found[:, 40].std() / envelope[:, 40].std()
    assert ratio == pytest.approx(1.3 * 1.2)
    torch.testing.assert_close(found.mean(0), centre)


def test_articulate_does_not_mix_frames():
    envelope = decoded()
    changed = envelope.clone()
    changed[100] += 1.0
    centre, contrast = envelope.mean(0), torch.ones(BANDS)
    moved = (articulate(changed, centre, contrast) - articulate(envelope, centre, contrast)).abs().amax(1)
    assert moved[100] > 0.5
    assert moved[torch.arange(len(moved)) != 100].max() == 0


@pytest.mark.parametrize(("voicing", "kept"), [(0.0, True), (1.0, False)])
def test_protect_consonants_keeps_the_recordings_own_only_where_unvoiced(voicing, kept):
    own, other = decoded(), torch.zeros(200, BANDS)
    found = protect_consonants(other, own, torch.full((200,), voicing), torch.zeros(200), 1.0, torch.ones(BANDS))
    nearer = (found - own)[:, 40].std() < 0.6 * own[:, 40].std()
    assert bool(nearer) == kept


def resonance(hertz: float) -> torch.Tensor:
    distance = torch.from_numpy(np.log2(band_centres() / hertz)).float()
    return (-4 * distance.square())[None, None].expand(1, 3, BANDS).contiguous()


@pytest.mark.parametrize("bands", [LOW_BANDS, BANDS])
def test_warp_bands_keeps_the_envelope_with_a_factor_of_1(bands):
    envelope = torch.randn(2, 5, bands)
    torch.testing.assert_close(warp_bands(envelope, torch.ones(2)), envelope, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("factor", [0.8, 1.25])
@pytest.mark.parametrize("hertz", [600.0, 1500.0, 4000.0])
def test_warp_bands_moves_a_resonance_by_the_factor(hertz, factor):
    warped = warp_bands(resonance(hertz), torch.tensor([factor]))
    assert band_centres()[warped[0, 0].argmax()] == pytest.approx(hertz * factor, rel=0.06)


def test_warp_bands_applies_one_factor_per_row():
    warped = warp_bands(resonance(1000.0).expand(2, 3, BANDS), torch.tensor([1.0, 1.3]))
    torch.testing.assert_close(warped[:1], resonance(1000.0), atol=0.01, rtol=0)
    assert warped[1, 0].argmax() > warped[0, 0].argmax()
