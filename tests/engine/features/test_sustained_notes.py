import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.envelope import BANDS
from engine.features.sustained_notes import REACH_FRAMES, held_share, hold_notes
from engine.networks.content_encoder import CONTENT

FRAMES = 200


def two_sounds(generator: int = 0) -> torch.Tensor:
    """Contents of two different sounds, (2, CONTENT), in unit variance."""
    random = torch.Generator().manual_seed(generator)
    return torch.nn.functional.layer_norm(torch.randn(2, CONTENT, generator=random), (CONTENT,))


def vibrato(nepers: float) -> torch.Tensor:
    """An envelope whose lower half of bands moves to and fro 5.5 times a second, (FRAMES, BANDS)."""
    time_s = torch.arange(FRAMES) / 100
    envelope = torch.zeros(FRAMES, BANDS)
    envelope[:, : BANDS // 2] = nepers * torch.sin(2 * torch.pi * 5.5 * time_s)[:, None]
    return envelope


def in_turn() -> torch.Tensor:
    """Content that is heard as one sound and the other at the pace of the vibrato, (FRAMES, CONTENT)."""
    share = torch.sin(2 * torch.pi * 5.5 * torch.arange(FRAMES) / 100) > 0
    return two_sounds()[share.long()]


def test_a_held_note_with_vibrato_is_one_sound():
    content = in_turn()
    steady = hold_notes(content, vibrato(0.3), torch.ones(FRAMES))
    inner = slice(30, -30)
    assert content[inner].std(0).mean() > 0.5
    assert steady[inner].std(0).mean() < 0.1
    torch.testing.assert_close(steady.var(1, correction=0), torch.ones(FRAMES), atol=1e-3, rtol=0)


def test_a_change_of_the_sound_stays_as_quick_as_it_is():
    first, second = two_sounds()
    content = torch.where(torch.arange(FRAMES)[:, None] < 100, first, second)
    envelope = torch.where(torch.arange(FRAMES)[:, None] < 100, torch.zeros(BANDS), torch.linspace(-2, 2, BANDS))
    kept = hold_notes(content, envelope, torch.ones(FRAMES))
    torch.testing.assert_close(kept[98:102], content[98:102], atol=0.02, rtol=0)
    torch.testing.assert_close(kept[:60], content[:60], atol=0.02, rtol=0)


@pytest.mark.parametrize("voicing", [0.0, 0.4])
def test_what_is_not_voiced_stays_as_it_is(voicing):
    content = in_turn()
    torch.testing.assert_close(hold_notes(content, vibrato(0.0), torch.full((FRAMES,), voicing)), content)


def test_how_far_a_frame_is_held_is_a_share():
    moving = torch.randn(FRAMES, BANDS, generator=torch.Generator().manual_seed(1)).cumsum(0)
    assert held_share(moving, torch.ones(FRAMES)).max() < 0.2
    assert held_share(vibrato(0.0), torch.ones(FRAMES)).min() == 1.0
    assert held_share(vibrato(0.0), torch.zeros(FRAMES)).max() == 0.0


@settings(max_examples=20, deadline=None)
@given(frames=st.integers(1, 120), seed=st.integers(0, 9))
def test_any_length_is_kept(frames, seed):
    random = torch.Generator().manual_seed(seed)
    content = torch.randn(frames, CONTENT, generator=random)
    kept = hold_notes(content, torch.randn(frames, BANDS, generator=random), torch.rand(frames, generator=random))
    assert kept.shape == content.shape
    assert np.isfinite(kept.numpy()).all()


def test_a_frame_depends_on_no_more_than_its_reach():
    content, envelope, voicing = in_turn(), vibrato(0.2), torch.ones(FRAMES)
    whole = hold_notes(content, envelope, voicing)
    part = slice(100 - REACH_FRAMES, 100 + REACH_FRAMES + 1)
    torch.testing.assert_close(hold_notes(content[part], envelope[part], voicing[part])[REACH_FRAMES], whole[100])
