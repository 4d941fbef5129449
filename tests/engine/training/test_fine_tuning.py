import copy
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import torch
from torch import Tensor

from engine.audio.files import Audio
from engine.devices import working_device
from engine.features.clips import Clip, analyse_clip
from engine.features.speaker_timbre import speaker_timbre
from engine.networks.base import WEIGHTS, load_base, load_weights
from engine.networks.discriminator import EnvelopeDiscriminator
from engine.networks.timbre_encoder import TIMBRE
from engine.training.fine_tuning import FineTuning
from engine.training.plan import TrainingPlan
from engine.units import SAMPLE_RATE
from tests.engine.pretended_gpu import crossings, pretended_gpu
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


# ---- queued ahead of a device


def ahead_of(clips: list[Clip], plan: TrainingPlan = PLAN) -> FineTuning:
    return FineTuning(load_base(), clips, plan, ahead=True)


def test_fine_tuning_ahead_learns_what_steps_that_are_waited_for_learn(clips, tuning):
    ahead = ahead_of(clips)
    expected = [tuning.step(40 + number, PIECES) for number in range(3)]
    found = ahead.read([ahead.queue(step) for step in ahead.draw(40, [PIECES] * 3)])
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, rel=1e-4)
    start = FineTuning(load_base(), clips, PLAN).state()["learned"]
    wanted = moved(start, tuning.state()["learned"])
    assert (moved(start, ahead.state()["learned"]) - wanted).norm() < 0.01 * wanted.norm()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_fine_tuning_ahead_leaves_out_a_batch_with_nan_or_infinity_and_goes_on(clips, value):
    tuning = ahead_of(clips)
    tuning.step(40, PIECES)
    before = copy.deepcopy(tuning.state())
    poisoned = replace(clips[0], envelope=clips[0].envelope.copy())
    poisoned.envelope[10:20] = value
    tuning.clips = [poisoned, clips[1]]
    assert tuning.step(41, PIECES) is None
    after = tuning.state()
    assert same(after["learned"], before["learned"])
    assert same(after["critic"], before["critic"])
    for name in ("optimizer", "judge"):
        counted = [{int(one["step"]) for one in state[name]["state"].values()} for state in (before, after)]
        assert counted == [{1}, {1}]
    assert tuning.is_sound()
    tuning.clips = clips
    assert tuning.step(42, PIECES) is not None
    assert not same(tuning.state()["learned"], before["learned"])


def test_fine_tuning_ahead_reads_none_once_weights_are_nan(clips):
    tuning = ahead_of(clips)
    with torch.no_grad():
        tuning.discriminator.leave.bias[0] = float("nan")
    assert tuning.step(0, PIECES) is None
    assert not tuning.is_sound()


@pytest.mark.parametrize("ahead", [True, False])
def test_fine_tuning_restores_a_state_of_the_other_kind(clips, ahead):
    """A training begun on a graphics card goes on on the processor, and the other way round."""
    first, second = (FineTuning(load_base(), clips, PLAN, ahead=one) for one in (ahead, not ahead))
    first.step(40, PIECES)
    second.restore(copy.deepcopy(first.state()))
    before = copy.deepcopy(second.state()["learned"])
    figures = [one.step(41, PIECES) for one in (first, second)]
    assert figures[1] == pytest.approx(figures[0], rel=1e-4)
    wanted = moved(before, first.state()["learned"])
    assert (moved(before, second.state()["learned"]) - wanted).norm() < 0.01 * wanted.norm()
    assert second.optimizer.param_groups[0]["fused"] == (None if ahead else True)


@pytest.mark.parametrize("ahead", [True, False])
def test_fine_tuning_step_works_where_no_piece_is_retrieved(clips, tuning, ahead):
    own = FineTuning(load_base(), clips, PLAN, ahead=ahead)
    number = next(n for n in range(100) if not len(own.draw(n, [PIECES[:1]])[0].drawn.strengths))
    assert own.step(number, PIECES[:1]) is not None


def test_fine_tuning_steps_taken_together_move_by_the_square_root_and_count_all(clips):
    """Four steps as one: twice the rate of the step that would be their last, and four times the foreign pieces."""

    def moved_by(number: int, together: float) -> float:
        tuning = FineTuning(load_base(), clips, PLAN)
        tuning.together = together
        before = tuning.timbre.detach().clone()
        tuning.step(number, PIECES)
        return float((tuning.timbre.detach() - before).norm())

    for fourth, number in ((24, 99), (2, 11)):  # after and within the slow beginning
        assert moved_by(fourth, 4.0) == pytest.approx(2 * moved_by(number, 1.0), rel=0.02)
    tuning = FineTuning(load_base(), clips, PLAN)
    tuning.together = 4.0
    [step] = tuning.draw(0, [PIECES])
    assert len(step.drawn.foreign) == len(set(step.drawn.foreign.tolist())) == 4 * PLAN.foreign


@pytest.mark.filterwarnings("ignore:for .*copying from a non-meta parameter")
@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True to a scalar")
def test_fine_tuning_ahead_crosses_to_the_device_once_before_steps_and_once_after(clips, monkeypatch):
    """No `.item()`, `.cpu()`, `.numpy()` or copy in a step, counted in torch itself."""
    adam = import_module("torch.optim.adam")
    monkeypatch.setattr(adam, "_device_dtype_check_for_fused", lambda *_: None)  # the device is only pretended
    ahead = ahead_of(clips)
    expected = ahead.read([ahead.queue(step) for step in ahead.draw(0, [PIECES, PIECES[1:]])])
    with pretended_gpu() as gpu:
        tuning = FineTuning(load_base(device=gpu), clips, PLAN, ahead=True)
        tuning.step(0, PIECES)
        tuning = FineTuning(load_base(device=gpu), clips, PLAN, ahead=True)
        with crossings() as crossed:
            steps = tuning.draw(0, [PIECES, PIECES[1:]])
            assert len(crossed) == 1
            crossed.clear()
            queued = [tuning.queue(step) for step in steps]
            assert crossed == []
            found = tuning.read(queued)
            assert len(crossed) == 1
    assert found == [pytest.approx(one, rel=1e-4) for one in expected]
