import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from engine.analysis.envelope import BANDS
from engine.audio.files import Audio
from engine.devices import working_device
from engine.features.clips import Clip, analyse_clip
from engine.features.speaker_timbre import speaker_timbre
from engine.networks.base import WEIGHTS, load_base, load_weights
from engine.networks.content_encoder import CONTENT
from engine.networks.discriminator import EnvelopeDiscriminator
from engine.networks.timbre_encoder import TIMBRE
from engine.training.fine_tuning import FineTuning
from engine.training.pieces import PIECE_FRAMES, epoch_pieces, make_batch
from engine.training.plan import TrainingPlan
from engine.units import SAMPLE_RATE
from tests.halves import forced_halves, product_precisions

PLAN = TrainingPlan(batch=3, foreign=2)
PIECES = [(0, 0), (1, 100), (1, 300)]


@pytest.fixture(scope="module")
def clips(sing) -> list[Clip]:
    """Sixteen seconds of one voice in two recordings."""
    return [analyse_clip(Audio(sing(8.0, hertz=hertz, seed=int(hertz))[None], SAMPLE_RATE)) for hertz in (150.0, 170.0)]


@pytest.fixture
def tuning(clips) -> FineTuning:
    return FineTuning(load_base(), clips, PLAN)


def same(one: dict, other: dict) -> bool:
    return all(torch.equal(value, other[name]) for name, value in one.items())


def moved(before: dict, after: dict) -> Tensor:
    """What was added to all weights, as one vector."""
    return torch.cat([(after[name] - value).flatten() for name, value in before.items()])


# ---- pieces and batches


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


# ---- steps


@pytest.mark.system
def test_fine_tuning_steps_reduce_the_envelope_difference(tuning):
    figures = [tuning.step(number, PIECES) for number in range(25)]
    first, last = (np.mean([f["envelope"] for f in part]) for part in (figures[:5], figures[-5:]))
    assert last < 0.9 * first


@pytest.mark.system
def test_fine_tuning_steps_are_repeatable_despite_other_random_draws(clips):
    """Also when other random numbers are drawn in between."""
    once, again = (FineTuning(load_base(), clips, PLAN) for _ in range(2))
    for number in range(3):
        once.step(number, PIECES)
    for number in range(3):
        torch.randn(5)
        np.random.default_rng().random()
        again.step(number, PIECES)
    assert same(once.state()["learned"], again.state()["learned"])
    assert same(once.state()["critic"], again.state()["critic"])
    assert same(once.average, again.average)


@pytest.mark.system
def test_fine_tuning_continues_identically_from_a_restored_state(clips):
    first, second = (FineTuning(load_base(), clips, PLAN) for _ in range(2))
    first.step(0, PIECES)
    kept = copy.deepcopy(first.state())
    for number in (1, 2):
        first.step(number, PIECES)
    second.restore(kept)
    for number in (1, 2):
        second.step(number, PIECES)
    assert same(first.state()["learned"], second.state()["learned"])
    assert same(first.average, second.average)


def test_fine_tuning_steps_learn_alike_in_halves_and_in_single_precision(clips, halves):
    """Of one piece, and from a late step on, whose rate is no longer low."""
    plan = replace(PLAN, batch=1, foreign=1, learning_rate=1e-3)
    start = FineTuning(load_base(), clips, plan)

    def tuned() -> tuple[Tensor, list[dict[str, float]]]:
        tuning = FineTuning(load_base(), clips, plan, working_device("cpu").precision)
        figures = [tuning.step(50 + number, PIECES[1:2]) for number in range(3)]
        assert tuning.is_sound()
        return moved(start.state()["learned"], tuning.state()["learned"]), figures

    with forced_halves(False):
        expected, losses = tuned()
    with product_precisions() as precisions:
        found, figures = tuned()
    assert (torch.bfloat16 in precisions) == halves
    assert figures[-1]["loss"] < 0.7 * figures[0]["loss"]
    assert [one["loss"] for one in figures] == pytest.approx([one["loss"] for one in losses], rel=0.01)
    if halves:
        assert 0 < (found - expected).norm() < 0.15 * expected.norm()
    else:
        assert torch.equal(found, expected)


def test_fine_tuning_step_leaves_the_base_unchanged(tuning):
    before = {name: value.clone() for name, value in load_base().state_dict().items()}
    tuning.step(0, PIECES)
    assert same(load_base().state_dict(), before)


def test_fine_tuning_step_moves_in_proportion_to_the_rate_share(clips):
    def moved_by(share: float) -> float:
        tuning = FineTuning(load_base(), clips, PLAN)
        before = tuning.timbre.detach().clone()
        tuning.step(50, PIECES, share)
        return float((tuning.timbre.detach() - before).norm())

    assert moved_by(0.25) == pytest.approx(0.25 * moved_by(1.0), rel=0.01)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_fine_tuning_step_skips_a_batch_with_nan_or_infinity(clips, tuning, value):
    tuning.step(0, PIECES)
    before = {name: v.clone() for name, v in tuning.state()["learned"].items()}
    average = {name: v.clone() for name, v in tuning.average.items()}
    discriminator = {name: v.clone() for name, v in tuning.state()["critic"].items()}
    poisoned = replace(clips[0], envelope=clips[0].envelope.copy())
    poisoned.envelope[10:20] = value
    tuning.clips = [poisoned, clips[1]]
    assert tuning.step(1, PIECES) is None
    assert same(tuning.state()["learned"], before)
    assert same(tuning.average, average)
    assert same(tuning.state()["critic"], discriminator)
    assert tuning.is_sound()
    tuning.clips = clips
    assert tuning.step(2, PIECES) is not None


def test_fine_tuning_is_sound_detects_nan_weights(tuning):
    assert tuning.is_sound()
    with torch.no_grad():
        next(iter(tuning.decoder.parameters())).view(-1)[5] = float("nan")
    assert not tuning.is_sound()


def test_fine_tuning_averaged_follows_the_weights(tuning):
    decoder, timbre = tuning.averaged()
    assert torch.equal(timbre, tuning.target_timbre)
    for number in range(3):
        tuning.step(number, PIECES)
    decoder, timbre = tuning.averaged()
    assert not decoder.training
    assert timbre.shape == (TIMBRE,)
    to_start, to_now = (float((timbre - other).norm()) for other in (tuning.target_timbre, tuning.timbre.detach()))
    assert to_now > 0
    assert 0 < to_start < float((tuning.timbre.detach() - tuning.target_timbre).norm()) + to_now


def test_speaker_timbre_is_closer_between_clips_of_one_voice(clips, sing):
    base = load_base()
    brighter = analyse_clip(Audio(np.diff(sing(4.0), prepend=0.0)[None], SAMPLE_RATE))
    one, two, other = (speaker_timbre(base, clip) for clip in (*clips, brighter))
    assert (one - two).norm() < (one - other).norm()


def test_envelope_discriminator_loads_the_installed_weights():
    EnvelopeDiscriminator().load_state_dict(load_weights(WEIGHTS / "discriminator.safetensors"), strict=True)
