import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.base import BaseModel, load_weights, save_weights
from engine.content import CONTENT
from engine.envelope import BANDS, LOW_BANDS
from engine.errors import Cancelled, TrainingError
from engine.losses import EnvelopeDiscriminator
from engine.pretraining.acoustic import (
    BASE_PARTS,
    AcousticNetworks,
    AcousticPlan,
    BatchMaker,
    Refinement,
    SpeakerClassifier,
    begin_from,
    first_part_loss,
    heard_again,
    learning_rate,
    train_acoustic,
)
from engine.pretraining.corpus import Corpus, split_speakers

# no cooling down, so that a step does not depend on how many there will be
PLAN = AcousticPlan(
    steps=4, refine_from=1.0, batch=2, frames=40, rate=5e-3, cool_down=0.0, refinement_cool_down=0.0,
    validation_speakers=0.2,
)  # fmt: skip
CPU = torch.device("cpu")


def train(corpus: Corpus, folder: Path, **changes) -> dict[str, torch.Tensor]:
    folder.mkdir(exist_ok=True)
    return train_acoustic(corpus, folder, replace(PLAN, **changes), CPU, lambda fraction, message: None)


def lines(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "acoustic.jsonl").read_text().splitlines()]


def assert_equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        torch.testing.assert_close(value, other[name], atol=0, rtol=0, msg=name)


@pytest.fixture(scope="module")
def maker(corpus) -> BatchMaker:
    training, _ = split_speakers(corpus.clips, PLAN.validation_speakers, PLAN.seed)
    speakers = {name: number for number, name in enumerate(sorted({clip.speaker for clip in training}))}
    return BatchMaker(corpus, training, PLAN, speakers)


@pytest.fixture(scope="module")
def uninterrupted(corpus, tmp_path_factory) -> dict[str, torch.Tensor]:
    """Eight steps at one go, the last four of them sharpening."""
    return train(corpus, tmp_path_factory.mktemp("whole"), steps=8, refine_from=0.5)


# ---- batches


@pytest.mark.parametrize("perturbed", [True, False])
def test_a_batch_has_its_shapes(maker, perturbed):
    batch = maker.make(0, perturbed)
    assert batch.envelope.shape == (2, 40, BANDS)
    assert batch.heard.shape == batch.reference.shape == batch.shown.shape == (2, 40, LOW_BANDS)
    assert batch.prosody.shape == (2, 40, 3)
    assert batch.phones.shape == (2, 40)
    assert batch.bands.shape == batch.speaker.shape == batch.semitones.shape == (2,)
    assert all(torch.isfinite(value.float()).all() for value in vars(batch).values())


def test_a_batch_is_given_by_seed_and_step(maker):
    one, same, other = maker.make(3), maker.make(3), maker.make(4)
    for name, value in vars(one).items():
        torch.testing.assert_close(value, getattr(same, name), atol=0, rtol=0)
    assert (one.heard != other.heard).any()


def test_without_perturbation_the_recording_itself_is_heard(maker, corpus):
    batch = maker.make(3, perturbed=False)
    levels = batch.envelope.amax((1, 2))
    assert (levels < 4).all()
    for row in range(2):
        own = [clip for clip in corpus.clips if maker.speakers.get(clip.speaker) == int(batch.speaker[row])]
        assert int(batch.bands[row]) in {clip.bands for clip in own}
    assert (batch.heard != maker.make(3).heard).any()
    assert batch.shown.all()


def test_a_training_that_draws_from_elsewhere_learns_something_else(corpus, tmp_path):
    one, same, other = (train(corpus, tmp_path / str(number), steps=1, first_batch=first)
                        for number, first in enumerate((0, 0, 1000)))  # fmt: skip
    assert_equal(one, same)
    assert (one["content.leave.1.weight"] != other["content.leave.1.weight"]).any()


# ---- parts


def test_the_rate_warms_up_stays_and_cools_down():
    rates = [learning_rate(1.0, step, 1000, 0.2) for step in range(1000)]
    assert rates[0] == pytest.approx(1 / 200)
    assert rates[199] == rates[500] == rates[799] == 1.0
    assert np.all(np.diff(rates[:200]) > 0)
    assert np.all(np.diff(rates[801:]) < 0)
    assert rates[900] == pytest.approx(0.5, abs=0.01)
    assert rates[-1] < 1e-3


def test_the_classifier_names_a_speaker_for_each_crop():
    assert SpeakerClassifier(7)(torch.randn(3, 40, CONTENT)).shape == (3, 7)


def test_the_first_part_moves_every_network_and_the_encoder_against_the_classifier(maker):
    torch.manual_seed(0)
    networks, batch = AcousticNetworks(len(maker.speakers)), maker.make(0)
    loss, figures = first_part_loss(networks, batch, PLAN)
    loss.backward()
    assert set(figures) == {"envelope", "phones", "agreement", "speaker"}
    for name, parameter in networks.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_a_batch_without_labels_has_no_phone_loss(maker):
    batch = maker.make(0)
    batch.phones[:] = -1
    _, figures = first_part_loss(AcousticNetworks(len(maker.speakers)), batch, PLAN)
    assert figures["phones"] == 0.0


def test_sharpening_leaves_the_encoders_alone(maker):
    torch.manual_seed(0)
    networks, critic = AcousticNetworks(len(maker.speakers)), EnvelopeDiscriminator()
    loss, critic_loss, figures = Refinement(networks, critic).losses(maker.make(0))
    assert set(figures) == {"envelope", "matching", "deceiving", "kept", "taken"}
    networks.content.requires_grad_(False)
    loss.backward()
    moved = {name.partition(".")[0] for name, p in networks.named_parameters() if p.grad is not None and p.grad.any()}
    assert "decoder" in moved
    judged = critic_loss()
    assert torch.isfinite(judged)
    judged.backward()


# ---- training


def test_training_brings_down_the_loss_on_speakers_never_heard(corpus, tmp_path):
    train(corpus, tmp_path / "short", steps=1)
    train(corpus, tmp_path / "long", steps=40)
    [first], [last] = lines(tmp_path / "short"), lines(tmp_path / "long")
    assert last["unseen_envelope"] < 0.8 * first["unseen_envelope"]
    assert last["envelope"] < first["envelope"]
    assert 0 <= last["unseen_phone_error"] <= 1
    assert (last["step"], last["seconds"] > 0) == (40, True)


def test_a_training_goes_on_from_its_checkpoint_as_if_nothing_had_happened(corpus, out, uninterrupted):
    train(corpus, out, steps=4)
    assert_equal(train(corpus, out, steps=8, refine_from=0.5), uninterrupted)
    assert [line["step"] for line in lines(out)] == [4, 8]


def test_a_training_that_begins_from_a_base_gives_at_first_what_that_gives(corpus, tmp_path):
    """Also where the networks have grown by a block since."""
    base = BaseModel()
    weights = base.state_dict()
    shorter = {name: value for name, value in weights.items() if not name.startswith("content.blocks.7.")}
    save_weights(tmp_path / "base.safetensors", shorter, {})
    save_weights(tmp_path / "critic.safetensors", EnvelopeDiscriminator().state_dict(), {})
    networks, critic = AcousticNetworks(3), EnvelopeDiscriminator()
    begin_from(tmp_path, networks, critic)
    before = load_weights(tmp_path / "base.safetensors")
    heard = torch.randn(1, 60, LOW_BANDS)
    base.load_state_dict(weights | before)
    del base.content.blocks[7]
    networks.eval()
    with torch.no_grad():
        torch.testing.assert_close(networks.content(heard), base.content(heard))
    trained = train_acoustic(corpus, tmp_path, replace(PLAN, steps=1), CPU, lambda *_: None, begin=tmp_path)
    assert (trained["decoder.leave.1.bias"] - before["decoder.leave.1.bias"]).abs().max() < 1e-3


def test_what_only_training_needs_goes_on_too_where_it_was_kept(corpus, tmp_path):
    trained = train(corpus, tmp_path, steps=1)
    base = {name: value for name, value in trained.items() if name.partition(".")[0] in BASE_PARTS}
    save_weights(tmp_path / "base.safetensors", base, {})
    save_weights(tmp_path / "critic.safetensors", EnvelopeDiscriminator().state_dict(), {})
    training, _ = split_speakers(corpus.clips, PLAN.validation_speakers, PLAN.seed)
    networks = AcousticNetworks(len({clip.speaker for clip in training}))
    begin_from(tmp_path, networks, EnvelopeDiscriminator())
    for name in ("phones.weight", "classifier.leave.weight"):
        assert torch.equal(networks.state_dict()[name], trained[name])


def test_a_base_of_other_networks_is_no_beginning(tmp_path):
    weights = {name: value[..., :1] for name, value in BaseModel().state_dict().items()}
    save_weights(tmp_path / "base.safetensors", weights, {})
    save_weights(tmp_path / "critic.safetensors", EnvelopeDiscriminator().state_dict(), {})
    with pytest.raises(TrainingError, match="other shapes; begin without it"):
        begin_from(tmp_path, AcousticNetworks(3), EnvelopeDiscriminator())


def test_the_second_hearing_is_half_perturbed_half_another_speaker_with_pieces_hidden(maker):
    torch.manual_seed(0)
    networks, batch = AcousticNetworks(len(maker.speakers)), maker.make(0)
    with torch.no_grad():
        again = heard_again(networks, batch, networks.timbre(batch.reference))
    torch.testing.assert_close(again[0], batch.heard_again[0] * batch.shown[0], atol=0, rtol=0)
    assert (again[1] != batch.heard_again[1])[batch.shown[1] == 1].any()
    assert not again[batch.shown == 0].any()


def test_a_truncated_checkpoint_gives_way_to_the_one_before(corpus, out, uninterrupted):
    train(corpus, out, steps=3)
    train(corpus, out, steps=5, refine_from=0.8)
    path = out / "acoustic.pt"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert_equal(train(corpus, out, steps=8, refine_from=0.5), uninterrupted)


def test_a_finished_training_has_nothing_left_to_do(corpus, out):
    once = train(corpus, out, steps=2)
    before = (out / "acoustic.pt").read_bytes()
    assert_equal(train(corpus, out, steps=2), once)
    assert (out / "acoustic.pt").read_bytes() == before


def test_a_stop_is_passed_on_and_keeps_the_checkpoint(corpus, out):
    def stop(fraction: float, message: str) -> None:
        assert (fraction, "unseen_envelope" in message) == (1.0, True)
        raise Cancelled

    with pytest.raises(Cancelled):
        train_acoustic(corpus, out, replace(PLAN, steps=2), CPU, stop)
    assert torch.load(out / "acoustic.pt", weights_only=True)["step"] == 2


def test_the_plan_is_kept_inside_the_checkpoint(corpus, out):
    train(corpus, out, steps=1)
    assert AcousticPlan(**torch.load(out / "acoustic.pt", weights_only=True)["plan"]) == replace(PLAN, steps=1)
