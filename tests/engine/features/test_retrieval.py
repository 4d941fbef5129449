from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.audio.files import Audio
from engine.features.clips import analyse_clip
from engine.features.retrieval import FrameSearch, gather_retrieval_frames, in_context, nearest_frames, retrieve
from engine.networks.content_encoder import CONTENT, mix_content
from engine.units import SAMPLE_RATE

CPU = torch.device("cpu")


def unit(*rows: float) -> torch.Tensor:
    """Frames of unit variance that point in the directions of the basis."""
    frames = torch.zeros(len(rows), CONTENT)
    for row, place in enumerate(rows):
        frames[row, int(place)] = 1.0
    return torch.nn.functional.layer_norm(frames, (CONTENT,))


@pytest.fixture(scope="module")
def clip(sing):
    return analyse_clip(Audio(sing(6.0)[None], SAMPLE_RATE))


def test_gather_retrieval_frames_returns_the_audible_frames_in_order(clip):
    own = gather_retrieval_frames([clip, clip.piece(0, 200)], CPU)
    assert own.content.shape == (len(own.clip), CONTENT)
    assert (own.content.std(1, correction=0) - 1).abs().max() < 1e-3
    assert 300 < (own.clip == 0).sum() <= 601
    assert (own.clip.diff() >= 0).all()
    assert (own.frame[own.clip == 0].diff() > 0).all()
    first = own.frame[own.clip == 0]
    assert torch.equal(own.content[: len(first)], torch.from_numpy(clip.content[0].astype(np.float32))[first])


def test_gather_retrieval_frames_ignores_augmented_copies(clip):
    more = replace(clip, content=np.concatenate([clip.content, np.zeros_like(clip.content)]))
    assert torch.equal(gather_retrieval_frames([more], CPU).content, gather_retrieval_frames([clip], CPU).content)


def test_gather_retrieval_frames_keeps_evenly_spread_runs_up_to_the_limit(clip):
    every, some = gather_retrieval_frames([clip], CPU), gather_retrieval_frames([clip], CPU, most=150)
    assert len(some.content) == 150
    assert some.frame[0] == every.frame[0]
    assert some.frame[-1] == every.frame[-1]
    assert (some.frame.diff() == 1).sum() >= 100


def test_retrieve_finds_the_nearest_frame():
    own = unit(1, 2, 3)
    near = own + 0.05 * torch.randn(3, CONTENT, generator=torch.Generator().manual_seed(0))
    drawn = retrieve(near, own, 1.0)
    assert torch.nn.functional.cosine_similarity(drawn[:, None], own[None], 2).argmax(1).tolist() == [0, 1, 2]


def test_nearest_frames_skips_forbidden_frames():
    own = unit(*range(20))
    similarity = torch.nn.functional.cosine_similarity
    assert similarity(nearest_frames(own[:1], own), own[:1]) > 0.9
    assert similarity(nearest_frames(own[:1], own, slice(0, 1)), own[:1]) < 0.1


def test_nearest_frames_samples_from_many_frames_and_skips_forbidden_ones():
    """Frames come in threes that are nearly the same, so every third does as well as all of them."""
    random = torch.Generator().manual_seed(5)
    slow = torch.randn(1, CONTENT, 4000, generator=random)
    own = torch.nn.functional.layer_norm(
        torch.nn.functional.interpolate(slow, size=12_000, mode="linear")[0].T, (CONTENT,)
    )
    rows = slice(6000, 6060)
    similarity = torch.nn.functional.cosine_similarity
    assert similarity(nearest_frames(own[rows], own), own[rows]).mean() > 0.9
    assert similarity(nearest_frames(own[rows], own, rows), own[rows])[20:40].mean() < 0.6


def test_nearest_frames_compares_long_content_in_blocks_with_the_same_result():
    random = torch.Generator().manual_seed(1)
    content, own = torch.randn(2500, CONTENT, generator=random), torch.randn(40, CONTENT, generator=random)
    whole = nearest_frames(content, own)
    torch.testing.assert_close(whole[1990:2010], nearest_frames(content[1980:2020], own)[10:30])


def test_nearest_frames_compares_frames_in_context():
    """The same frame stands in two places; the one whose surroundings fit is taken."""
    random = torch.Generator().manual_seed(3)
    first, second, twin = (torch.randn(9, CONTENT, generator=random) for _ in range(3))
    twin[4] = first[4]
    own = torch.cat([first, second, twin])
    before, after = (nearest_frames(own[rows], own)[4] for rows in (slice(0, 9), slice(18, 27)))
    assert not torch.allclose(before, after)  # though the frames themselves are the same


@settings(max_examples=20)
@given(st.integers(1, 12), st.integers(1, 30), st.floats(0.0, 1.0))
def test_retrieve_returns_normalised_content(frames, count, strength):
    random = torch.Generator().manual_seed(frames + count)
    content = torch.nn.functional.layer_norm(torch.randn(frames, CONTENT, generator=random), (CONTENT,))
    drawn = retrieve(content, torch.randn(count, CONTENT, generator=random), strength)
    assert drawn.shape == content.shape
    assert (drawn.std(1, correction=0) - 1).abs().max() < 1e-2


def test_retrieve_moves_content_towards_the_nearest_frames_with_strength():
    random = torch.Generator().manual_seed(2)
    content, own = torch.randn(5, CONTENT, generator=random), torch.randn(30, CONTENT, generator=random)
    content, own = (torch.nn.functional.layer_norm(frames, (CONTENT,)) for frames in (content, own))
    nearest = nearest_frames(content, own)
    likeness = [
        float(torch.nn.functional.cosine_similarity(mix_content(content, nearest, s), nearest).mean())
        for s in (0.0, 0.4, 0.8, 1.0)
    ]
    assert likeness == sorted(likeness)
    assert likeness[-1] > 0.999
    assert torch.equal(retrieve(content, own, 0.0), content)


def test_retrieve_returns_content_unchanged_without_frames():
    content = torch.randn(5, CONTENT)
    assert torch.equal(retrieve(content, torch.zeros(0, CONTENT), 1.0), content)


def test_retrieve_with_averaging_keeps_a_sustained_sound_steady():
    """A steady sound with a little wobble, between two frames of the voice: averaged, the offset is even."""
    random = torch.Generator().manual_seed(4)
    ends = torch.nn.functional.layer_norm(torch.randn(2, CONTENT, generator=random), (CONTENT,))
    held = ends.mean(0) + 0.3 * torch.randn(200, CONTENT, generator=random)
    own = ends.repeat_interleave(20, 0) + 0.1 * torch.randn(40, CONTENT, generator=random)
    hopping, even = (retrieve(held, own, 1.0, frames) - held for frames in (0, 20))

    def unrest(way: torch.Tensor) -> float:
        return float(way.diff(dim=0).norm(dim=1).mean())

    assert unrest(even) < 0.5 * unrest(hopping)


def test_retrieve_with_averaging_keeps_an_even_offset_up_to_the_ends():
    content, own = unit(*[1] * 30), unit(2, 2, 2, 2)
    torch.testing.assert_close(retrieve(content, own, 0.7, 10), retrieve(content, own, 0.7))


def test_frame_search_finds_for_several_pieces_at_once_what_it_finds_for_each():
    """With rows of its own left out for each piece, and where only every second frame is compared."""
    drawn = torch.Generator().manual_seed(2)
    own = torch.nn.functional.normalize(torch.randn(5000, CONTENT, generator=drawn), dim=1)
    pieces = torch.stack([own[first : first + 50] for first in (0, 700, 4950)])
    search, rows = FrameSearch(own), [slice(0, 50), slice(0), slice(4900, 5000)]
    first, stop = torch.tensor([search.compared(one) for one in rows])[..., None, None].unbind(1)
    found = search.nearest(in_context(pieces), first, stop)
    for piece, forbidden, one in zip(pieces, rows, found, strict=True):
        torch.testing.assert_close(one, nearest_frames(piece, own, forbidden), atol=1e-5, rtol=0)
