import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import layer_norm

from engine.analysis.envelope import BANDS, LOW_BANDS, Level
from engine.features.sustained_notes import (
    REACH_FRAMES,
    WIDTH,
    SustainedNotes,
    gather_sustained_notes,
    no_sustained_notes,
    settle_vowels,
    smooth_sustained,
    sustained_share,
)
from engine.networks.base import load_base
from engine.networks.content_encoder import CONTENT
from engine.networks.listener import FEATURES
from engine.workers import Workers

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


def test_smooth_sustained_steadies_a_held_note_with_vibrato():
    content = in_turn()
    steady = smooth_sustained(content, vibrato(0.3), torch.ones(FRAMES))
    inner = slice(30, -30)
    assert content[inner].std(0).mean() > 0.5
    assert steady[inner].std(0).mean() < 0.1
    torch.testing.assert_close(steady.var(1, correction=0), torch.ones(FRAMES), atol=1e-3, rtol=0)


def test_smooth_sustained_keeps_a_quick_change_of_sound():
    first, second = two_sounds()
    content = torch.where(torch.arange(FRAMES)[:, None] < 100, first, second)
    envelope = torch.where(torch.arange(FRAMES)[:, None] < 100, torch.zeros(BANDS), torch.linspace(-2, 2, BANDS))
    kept = smooth_sustained(content, envelope, torch.ones(FRAMES))
    torch.testing.assert_close(kept[98:102], content[98:102], atol=0.02, rtol=0)
    torch.testing.assert_close(kept[:60], content[:60], atol=0.02, rtol=0)


@pytest.mark.parametrize("voicing", [0.0, 0.4])
def test_smooth_sustained_leaves_unvoiced_content_unchanged(voicing):
    content = in_turn()
    torch.testing.assert_close(smooth_sustained(content, vibrato(0.0), torch.full((FRAMES,), voicing)), content)


def test_sustained_share_is_high_for_held_and_low_for_moving_or_unvoiced_frames():
    moving = torch.randn(FRAMES, BANDS, generator=torch.Generator().manual_seed(1)).cumsum(0)
    assert sustained_share(moving, torch.ones(FRAMES)).max() < 0.2
    assert sustained_share(vibrato(0.0), torch.ones(FRAMES)).min() == 1.0
    assert sustained_share(vibrato(0.0), torch.zeros(FRAMES)).max() == 0.0


@settings(max_examples=20)
@given(frames=st.integers(1, 120), seed=st.integers(0, 9))
def test_smooth_sustained_keeps_any_length(frames, seed):
    random = torch.Generator().manual_seed(seed)
    content = torch.randn(frames, CONTENT, generator=random)
    kept = smooth_sustained(content, torch.randn(frames, BANDS, generator=random), torch.rand(frames, generator=random))
    assert kept.shape == content.shape
    assert np.isfinite(kept.numpy()).all()


def test_smooth_sustained_depends_only_on_frames_within_its_reach():
    content, envelope, voicing = in_turn(), vibrato(0.2), torch.ones(FRAMES)
    whole = smooth_sustained(content, envelope, voicing)
    part = slice(100 - REACH_FRAMES, 100 + REACH_FRAMES + 1)
    torch.testing.assert_close(smooth_sustained(content[part], envelope[part], voicing[part])[REACH_FRAMES], whole[100])


BRIGHT = 1.6 * torch.linspace(-1, 1, BANDS)  # beside an even envelope this is another vowel


def contents(count: int, seed: int = 0) -> torch.Tensor:
    return layer_norm(torch.randn(count, CONTENT, generator=torch.Generator().manual_seed(seed)), (CONTENT,))


def table(*sounds: tuple[torch.Tensor, torch.Tensor, float]) -> SustainedNotes:
    """Of envelopes (BANDS,), contents and frames."""
    rows = [
        torch.cat([shape[:LOW_BANDS] - shape[:LOW_BANDS].mean(), said, torch.tensor([frames])])
        for shape, said, frames in sounds
    ]
    return SustainedNotes(torch.stack(rows))


def alike(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return torch.cosine_similarity(one, other, dim=-1)


def test_settle_vowels_corrects_a_misread_note_to_the_more_frequent_vowel():
    right, wrong = contents(2)
    known = table((torch.zeros(BANDS), right, 200.0), (torch.zeros(BANDS), wrong, 25.0))
    settled = settle_vowels(wrong.expand(100, -1), torch.zeros(100, BANDS) - 1.5, torch.ones(100), known)
    assert (alike(settled, right) > 0.95).all()
    torch.testing.assert_close(settled.var(1, correction=0), torch.ones(100), atol=1e-3, rtol=0)


def test_settle_vowels_keeps_another_vowel_even_if_rare():
    often, rare = contents(2)
    known = table((torch.zeros(BANDS), often, 3000.0), (BRIGHT, rare, 25.0))
    settled = settle_vowels(rare.expand(100, -1), BRIGHT.expand(100, -1), torch.ones(100), known)
    assert (alike(settled, rare) > 0.99).all()


def test_settle_vowels_keeps_a_sound_unlike_any_gathered_note():
    known, own = contents(2)
    elsewhere = table((torch.zeros(BANDS), known, 3000.0))
    settled = settle_vowels(own.expand(100, -1), 2 * BRIGHT.expand(100, -1), torch.ones(100), elsewhere)
    torch.testing.assert_close(settled, own.expand(100, -1), atol=1e-3, rtol=0)


@pytest.mark.parametrize("moving", [True, False])
def test_settle_vowels_leaves_speech_and_whisper_unchanged(moving):
    """Speech moves, and a whisper has no note."""
    random = torch.Generator().manual_seed(1)
    content, envelope = contents(100, 2), torch.zeros(100, BANDS)
    if moving:
        envelope = torch.randn(100, BANDS, generator=random).cumsum(0)
    known = table((torch.zeros(BANDS), contents(1)[0], 3000.0))
    voicing = torch.full((100,), 1.0 if moving else 0.3)
    kept = settle_vowels(content, envelope, voicing, known)
    still = (kept - content).abs().amax(1) < 1e-3
    assert still.float().mean() > 0.95


def test_settle_vowels_returns_content_unchanged_without_sustained_notes():
    content = contents(50)
    assert settle_vowels(content, torch.zeros(50, BANDS), torch.ones(50), no_sustained_notes()) is content


def recording(frames: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Notes of two seconds on vowels in turn, with two seconds of what moves between them: envelope and voicing."""
    random = np.random.default_rng(seed)
    vowels = np.cumsum(random.standard_normal((2, BANDS)), 1) * 0.2 - 4.0
    held = np.arange(frames) // 200 % 2 == 0
    envelope = np.where(held[:, None], vowels[np.arange(frames) // 400 % 2], 0)
    envelope += np.where(held, 0.0, 1.0)[:, None] * (random.standard_normal((frames, BANDS)) - 4.0)
    return envelope.astype(np.float32), np.where(held, 1.0, 0.2).astype(np.float32)


def features(frames: int) -> np.ndarray:
    """What the listener might hear there: on each vowel something else, (frames / 2, FEATURES)."""
    said = np.random.default_rng(5).standard_normal((2, FEATURES)) * 2.0
    return said[np.arange(0, frames, 2) // 400 % 2].astype(np.float16)


@pytest.mark.parametrize("frames", [1600, 20_000])
def test_gather_sustained_notes_gathers_only_long_notes(frames):
    envelope, voicing = recording(frames)
    mean = torch.zeros(FEATURES)
    held = gather_sustained_notes(load_base(), features(frames), mean, envelope, voicing, Level(-4.0), Workers(2))
    assert held.rows.shape[1] == WIDTH
    most = min(frames, 6000) / 2
    assert 0.6 * most < float(held.frames.sum()) <= most
    vowels = torch.from_numpy(envelope[[100, 500], :LOW_BANDS])
    vowels = vowels - vowels.mean(1, keepdim=True)
    nearest = (torch.cdist(held.shapes, vowels, p=1.0) / LOW_BANDS).min(1).values
    assert nearest.median() < 0.05
    assert nearest.max() < 0.4  # at the ends of a note, which the average over vibrato reaches across
    torch.testing.assert_close(held.content.square().mean(1), torch.ones(len(held.rows)), atol=0.4, rtol=0)


def test_gather_sustained_notes_keeps_the_content_of_each_note_of_a_long_recording():
    """Also of a long recording, of which only stretches are gone through."""
    base, frames = load_base(), 20_000
    envelope, voicing = recording(frames)
    mean = torch.zeros(FEATURES)
    held = gather_sustained_notes(base, features(frames), mean, envelope, voicing, Level(-4.0), Workers(2))
    with torch.inference_mode():
        whole = base.content(torch.from_numpy(features(1600))[None], torch.zeros(1, FEATURES), 1600)[0]
    said = layer_norm(whole[[100, 500]], (CONTENT,))
    vowels = torch.from_numpy(envelope[[100, 500], :LOW_BANDS])
    vowels = vowels - vowels.mean(1, keepdim=True)
    nearest = torch.cdist(held.shapes, vowels, p=1.0).argmin(1)
    right, wrong = alike(held.content, said[nearest]), alike(held.content, said[1 - nearest])
    assert right.median() > 0.95
    assert (right > wrong).float().mean() > 0.9


@pytest.mark.parametrize("frames", [1, 30])
def test_gather_sustained_notes_returns_no_rows_for_a_very_short_recording(frames):
    envelope, voicing = np.full((frames, BANDS), -4.0, np.float32), np.zeros(frames, np.float32)
    mean = torch.zeros(FEATURES)
    held = gather_sustained_notes(load_base(), features(frames), mean, envelope, voicing, Level(-4.0), Workers(2))
    assert held.rows.shape == (0, WIDTH)
