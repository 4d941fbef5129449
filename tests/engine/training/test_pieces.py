from dataclasses import replace

import numpy as np
import pytest
import torch

from engine.analysis.envelope import BANDS
from engine.audio.files import Audio
from engine.features.clips import Clip, analyse_clip
from engine.networks.content_encoder import CONTENT
from engine.training.pieces import PIECE_FRAMES, PackedClips, drawn_augmentations, epoch_pieces, loud_frames, make_batch
from engine.units import SAMPLE_RATE
from tests.engine.pretended_gpu import pretended_gpu

PIECES = [(0, 0), (1, 100), (1, 300)]


@pytest.fixture(scope="module")
def clips(sing) -> list[Clip]:
    """Sixteen seconds of one voice in two recordings."""
    return [analyse_clip(Audio(sing(8.0, hertz=hertz, seed=int(hertz))[None], SAMPLE_RATE)) for hertz in (150.0, 170.0)]


def test_epoch_pieces_covers_nearly_all_frames_of_each_clip(clips):
    pieces = epoch_pieces(clips, seed=0, epoch=0)
    assert len(pieces) == 2 * 6  # 801 frames are five pieces and a little more
    for number, clip in enumerate(clips):
        seen = np.zeros(len(clip.pitch), int)
        for clip_number, first in pieces:
            if clip_number == number:
                assert 0 <= first <= len(clip.pitch) - PIECE_FRAMES
                seen[first : first + PIECE_FRAMES] += 1
        assert (seen > 0).mean() > 0.9
        assert seen.max() <= 3


def test_epoch_pieces_is_repeatable_and_differs_by_seed_and_epoch(clips):
    assert epoch_pieces(clips, 0, 3) == epoch_pieces(clips, 0, 3)
    assert epoch_pieces(clips, 0, 3) != epoch_pieces(clips, 0, 4)
    assert epoch_pieces(clips, 0, 3) != epoch_pieces(clips, 1, 3)


def test_epoch_pieces_leaves_out_silence(sing):
    samples = np.concatenate([sing(4.0), np.zeros(20 * SAMPLE_RATE, np.float32)])
    clip = analyse_clip(Audio(samples[None], SAMPLE_RATE))
    assert max(first for _, first in epoch_pieces([clip], 0, 0)) <= 400
    assert epoch_pieces([clip.piece(600, 1400)], 0, 0) == []


def test_make_batch_is_repeatable_for_a_seed_and_step(clips):
    one, same_again = make_batch(clips, PIECES, 0, 3), make_batch(clips, PIECES, 0, 3)
    other = make_batch(clips, PIECES, 0, 4)
    assert one.envelope.shape == (3, PIECE_FRAMES, BANDS)
    assert one.content.shape == (3, PIECE_FRAMES, CONTENT)
    assert one.prosody.shape == (3, PIECE_FRAMES, 3)
    assert torch.equal(one.content, same_again.content)
    assert torch.equal(one.envelope, other.envelope)


def test_make_batch_draws_all_augmentations_about_equally_often(clips):
    """Over many steps in all of them, each as often; the envelope stays that of the recording."""
    three = [replace(clip, content=np.stack([clip.content[0] + np.float16(n) for n in range(3)])) for clip in clips]
    plain = make_batch(clips, PIECES, 0, 0).content
    drawn = []
    for step in range(40):
        moved = make_batch(three, PIECES, 0, step).content - plain
        drawn += moved.mean((1, 2)).round().int().tolist()
        torch.testing.assert_close(moved, moved.mean((1, 2), keepdim=True).round().expand_as(moved), atol=0.01, rtol=0)
    counts = np.bincount(drawn, minlength=3)
    assert len(counts) == 3
    assert counts.min() > 20


def test_make_batch_repeats_a_clip_shorter_than_a_piece(clips):
    batch = make_batch([clips[0].piece(100, 120)], [(0, 0)], 0, 0)
    assert batch.envelope.shape == (1, PIECE_FRAMES, BANDS)
    torch.testing.assert_close(batch.envelope[:, :20], batch.envelope[:, 20:40])
    torch.testing.assert_close(batch.content[:, :20], batch.content[:, 20:40])


def test_epoch_pieces_is_the_same_with_known_loud_frames(clips):
    assert epoch_pieces(clips, 0, 3, [loud_frames(clip) for clip in clips]) == epoch_pieces(clips, 0, 3)


# ---- packed on a device


def test_packed_clips_gather_the_same_batch_to_the_bit(clips):
    """Also from clips shorter than a piece, from the last frames, and with a number of augmentations for each clip."""
    more = replace(clips[1], content=np.stack([clips[1].content[0] + np.float16(n) for n in range(3)]))
    mixed = [clips[0], more, clips[0].piece(100, 120), replace(clips[1], envelope=clips[1].envelope.astype(np.float32))]
    pieces = [*PIECES, (2, 0), (3, len(clips[1].pitch) - PIECE_FRAMES), (0, 641)]
    packed = PackedClips(mixed, torch.device("cpu"))
    for step in range(4):
        wanted = make_batch(mixed, pieces, 0, step)
        found = packed.batch(packed.places(pieces, drawn_augmentations(mixed, pieces, 0, step)))
        for name, value in vars(wanted).items():
            assert torch.equal(getattr(found, name), value)
            assert getattr(found, name).dtype == value.dtype


def test_packed_clips_lie_on_the_device(clips):
    with pretended_gpu() as gpu:
        packed = PackedClips(clips, gpu)
        batch = packed.batch(packed.places(PIECES, [0, 0, 0]).to(gpu))
        assert {value.device for value in vars(batch).values()} == {gpu}
        assert torch.equal(batch.envelope.cpu(), make_batch(clips, PIECES, 0, 0).envelope)
