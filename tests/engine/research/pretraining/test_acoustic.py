import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.analysis.envelope import BANDS, LOW_BANDS
from engine.errors import Cancelled
from engine.features.augmentations import AUGMENTATIONS
from engine.networks.content_encoder import CONTENT, ContentEncoder
from engine.networks.discriminator import EnvelopeDiscriminator
from engine.networks.envelope_content import EnvelopeContentEncoder
from engine.networks.listener import FEATURES
from engine.research.pretraining.acoustic import (
    AcousticNetworks,
    AcousticPlan,
    AcousticTrainer,
    Batch,
    BatchMaker,
    Refinement,
    ReverseGradient,
    SpeakerClassifier,
    first_part_loss,
    train_acoustic,
)
from engine.research.pretraining.corpus import ClipEntry, Corpus, split_speakers
from engine.research.pretraining.feature_means import FeatureMeans
from engine.research.pretraining.training_run import learning_rate
from tests.halves import forced_halves, product_precisions

# no cooling down, so that a step does not depend on how many there will be
PLAN = AcousticPlan(
    **dict(steps=4, refine_from=1.0, batch=2, frames=40, rate=5e-3, cool_down=0.0, refinement_cool_down=0.0),
    validation_speakers=0.2,
)
CPU = torch.device("cpu")


def train(corpus: Corpus, means: FeatureMeans, folder: Path, **changes) -> dict[str, torch.Tensor]:
    folder.mkdir(exist_ok=True)
    return train_acoustic(corpus, means, folder, replace(PLAN, **changes), CPU, lambda fraction, message: None)


def lines(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "acoustic.jsonl").read_text().splitlines()]


def assert_equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        torch.testing.assert_close(value, other[name], atol=0, rtol=0, msg=name)


@pytest.fixture(scope="module")
def maker(corpus, means) -> BatchMaker:
    training, _ = split_speakers(corpus.clips, PLAN.validation_speakers, PLAN.seed)
    speakers = {name: number for number, name in enumerate(sorted({clip.speaker for clip in training}))}
    return BatchMaker(corpus, means, training, PLAN, speakers)


@pytest.fixture(scope="module")
def uninterrupted(corpus, means, tmp_path_factory) -> dict[str, torch.Tensor]:
    """Eight steps at one go, the last four of them sharpening."""
    return train(corpus, means, tmp_path_factory.mktemp("whole"), steps=8, refine_from=0.5)


# ---- batches


@pytest.mark.parametrize("perturbed", [True, False])
def test_batch_maker_returns_the_expected_shapes(maker, perturbed):
    batch = maker.make(0, perturbed)
    assert batch.envelope.shape == (2, 40, BANDS)
    assert batch.otherwise.shape == (2, 40, BANDS)
    assert batch.reference.shape == (2, 40, LOW_BANDS)
    assert batch.features.shape == (4, 20, FEATURES)
    assert batch.mean.shape == (4, FEATURES)
    assert batch.prosody.shape == (2, 40, 3)
    assert batch.bands.shape == batch.speaker.shape == batch.semitones.shape == (2,)
    assert all(torch.isfinite(value.float()).all() for value in vars(batch).values())


def test_batch_maker_repeats_a_step_and_varies_between_steps(maker):
    one, same, other = maker.make(3), maker.make(3), maker.make(4)
    for name, value in vars(one).items():
        torch.testing.assert_close(value, getattr(same, name), atol=0, rtol=0)
    assert (one.features != other.features).any()


def test_batch_maker_without_perturbation_takes_the_recording_itself(maker, corpus):
    batch = maker.make(3, perturbed=False)
    levels = batch.envelope.amax((1, 2))
    assert (levels < 4).all()
    for row in range(2):
        own = [clip for clip in corpus.clips if maker.speakers.get(clip.speaker) == int(batch.speaker[row])]
        assert int(batch.bands[row]) in {clip.bands for clip in own}
    torch.testing.assert_close(batch.features[:2], batch.features[2:], atol=0, rtol=0)
    torch.testing.assert_close(batch.mean[:2], batch.mean[2:], atol=0, rtol=0)
    for _, clip, begin, augmentation in places_of(batch, corpus)[:2]:
        assert augmentation == 0
        rows = slice(clip.first_frame + begin, clip.first_frame + begin + 40)
        envelope = np.maximum(corpus.envelope[rows].astype(np.float32) - clip.nepers, -8.0)
        assert any(np.array_equal(envelope, one) for one in batch.envelope.numpy())


def places_of(batch: Batch, corpus: Corpus) -> list[tuple[int, ClipEntry, int, int]]:
    """Find each crop of a batch: number and entry of the clip, the first frame in it, and the augmentation."""
    found = []
    for heard in batch.features.numpy():
        augmentations, rows = np.nonzero((corpus.listener_features == heard[0]).all(2))
        [augmentation], [row] = augmentations, rows
        number = int(np.searchsorted(corpus.first_feature, row, side="right")) - 1
        found.append((number, corpus.clips[number], 2 * int(row - corpus.first_feature[number]), int(augmentation)))
    return found


def test_batch_maker_pairs_two_augmentations_with_their_own_likeliest_means(maker, corpus, means):
    """Of the same moment as the envelope's, in two different ways; over many batches in all of them."""
    seen = set()
    for step in range(6):
        batch = maker.make(step)
        places = places_of(batch, corpus)
        for row in range(2):
            (number, clip, begin, one), (*same, other) = places[row], places[2 + row]
            assert same == [number, clip, begin]
            assert one != other
            assert maker.speakers[clip.speaker] == int(batch.speaker[row])
            seen |= {one, other}
            for place, augmentation in ((row, one), (2 + row, other)):
                rows = corpus.first_feature[number] + begin // 2 + np.arange(20)
                np.testing.assert_array_equal(batch.features[place], corpus.listener_features[augmentation, rows])
                encoder = ContentEncoder()
                for name in ("usual", "between", "within"):
                    getattr(encoder, name).copy_(torch.from_numpy(getattr(means, name)))
                plain = torch.from_numpy(means.mean[number, augmentation])
                likeliest = encoder.likeliest_mean(plain, float(means.sounds[number]) + 1.0)
                torch.testing.assert_close(batch.mean[place], likeliest, atol=1e-4, rtol=1e-4)
    assert seen == set(range(AUGMENTATIONS))


def test_batch_maker_repeats_a_clip_shorter_than_a_crop(corpus, means):
    plan = replace(PLAN, frames=400)
    batch = BatchMaker(corpus, means, corpus.clips, plan, {}).make(0, perturbed=False)
    assert batch.features.shape == (4, 200, FEATURES)
    torch.testing.assert_close(batch.features[:, 85:170], batch.features[:, :85], atol=0, rtol=0)
    torch.testing.assert_close(batch.envelope[:, 170:340], batch.envelope[:, :170], atol=0, rtol=0)


# ---- parts


def test_learning_rate_warms_up_stays_and_cools_down():
    rates = [learning_rate(1.0, step, 1000, 0.2) for step in range(1000)]
    assert rates[0] == pytest.approx(1 / 200)
    assert rates[199] == rates[500] == rates[799] == 1.0
    assert np.all(np.diff(rates[:200]) > 0)
    assert np.all(np.diff(rates[801:]) < 0)
    assert rates[900] == pytest.approx(0.5, abs=0.01)
    assert rates[-1] < 1e-3


def test_speaker_classifier_scores_every_speaker_for_each_crop():
    assert SpeakerClassifier(7)(torch.randn(3, 40, CONTENT)).shape == (3, 7)


def test_first_part_loss_gives_finite_gradients_to_every_network(maker):
    torch.manual_seed(0)
    networks, batch = AcousticNetworks(len(maker.speakers)), maker.make(0)
    loss, figures = first_part_loss(networks, batch, PLAN)
    loss.backward()
    assert set(figures) == {"envelope", "agreement", "speaker", "envelope_content"}
    for name, parameter in networks.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_first_part_loss_agreement_is_near_zero_for_equal_augmentations(maker):
    torch.manual_seed(0)
    networks = AcousticNetworks(len(maker.speakers)).eval()
    with torch.no_grad():
        _, same = first_part_loss(networks, maker.make(0, perturbed=False), PLAN)
        _, different = first_part_loss(networks, maker.make(0), PLAN)
    assert same["agreement"] < 1e-5
    assert different["agreement"] > 0.01


def test_first_part_loss_sends_no_envelope_content_gradient_to_the_encoder(maker):
    """With another ear the encoder would learn the same."""
    torch.manual_seed(0)
    networks, batch = AcousticNetworks(len(maker.speakers)).eval(), maker.make(0)
    gradients, distances = [], []
    for _ in range(2):
        loss, figures = first_part_loss(networks, batch, PLAN)
        loss.backward()
        gradients.append({name: one.grad.clone() for name, one in networks.content.named_parameters()})
        distances.append(figures["envelope_content"])
        networks.zero_grad()
        networks.envelope_content = EnvelopeContentEncoder()
    assert distances[0] != distances[1]
    assert_equal(*gradients)


def test_refinement_losses_train_the_decoder_and_the_discriminator(maker):
    torch.manual_seed(0)
    networks, discriminator = AcousticNetworks(len(maker.speakers)), EnvelopeDiscriminator()
    batch = maker.make(0)
    refinement = Refinement(networks, discriminator, PLAN.kept, PLAN.taken)
    loss, discriminator_loss, figures = refinement.losses(batch, networks.encode_first(batch))
    assert set(figures) == {"envelope", "matching", "deceiving", "kept", "taken"}
    networks.content.requires_grad_(False)
    loss.backward()
    moved = {name.partition(".")[0] for name, p in networks.named_parameters() if p.grad is not None and p.grad.any()}
    assert "decoder" in moved
    judged = discriminator_loss()
    assert torch.isfinite(judged)
    judged.backward()


# ---- training


@pytest.mark.system
def test_train_acoustic_lowers_the_loss_on_unseen_speakers(corpus, means, tmp_path):
    train(corpus, means, tmp_path / "short", steps=1)
    train(corpus, means, tmp_path / "long", steps=40)
    [first], [last] = lines(tmp_path / "short"), lines(tmp_path / "long")
    assert last["unseen_envelope"] < 0.8 * first["unseen_envelope"]
    assert last["envelope"] < first["envelope"]
    assert 0 < last["unseen_agreement"] < 2
    assert (last["step"], last["seconds"] > 0) == (40, True)


def test_acoustic_trainer_steps_of_both_parts_learn_alike_in_halves_and_in_single_precision(maker, halves):
    plan = replace(PLAN, steps=6, refine_from=0.5, rate=0.1, refinement_rate=2e-3)  # in a warm-up of 200 steps

    def figures() -> list[dict[str, float]]:
        torch.manual_seed(0)
        networks = AcousticNetworks(len(maker.speakers))
        trainer, batch = AcousticTrainer(networks, plan, CPU), maker.make(0)
        steps = [trainer.step(number, batch) for number in range(plan.steps)]
        assert all(torch.isfinite(value).all() for value in networks.state_dict().values())
        return [{name: float(value) for name, value in step.items()} for step in steps]

    with forced_halves(False):
        expected = figures()
    with product_precisions() as precisions:
        found = figures()
    assert (torch.bfloat16 in precisions) == halves
    assert found[2]["envelope"] < 0.9 * found[0]["envelope"]
    for one, wanted in zip(found, expected, strict=True):
        assert one == pytest.approx(wanted, rel=0.05 if halves else 0)


@pytest.mark.system
def test_train_acoustic_resumes_from_its_checkpoint_exactly(corpus, means, out, uninterrupted):
    train(corpus, means, out, steps=4)
    assert_equal(train(corpus, means, out, steps=8, refine_from=0.5), uninterrupted)
    assert [line["step"] for line in lines(out)] == [4, 8]


def test_train_stores_the_feature_means_unchanged_in_the_encoder(uninterrupted, means):
    for name in ("usual", "between", "within"):
        np.testing.assert_array_equal(uninterrupted[f"content.{name}"].numpy(), getattr(means, name))


@pytest.mark.system
def test_train_acoustic_falls_back_to_the_checkpoint_before_a_truncated_one(corpus, means, out, uninterrupted):
    train(corpus, means, out, steps=3)
    train(corpus, means, out, steps=5, refine_from=0.8)
    path = out / "acoustic.pt"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert_equal(train(corpus, means, out, steps=8, refine_from=0.5), uninterrupted)


def test_train_acoustic_does_nothing_when_finished(corpus, means, out):
    once = train(corpus, means, out, steps=2)
    before = (out / "acoustic.pt").read_bytes()
    assert_equal(train(corpus, means, out, steps=2), once)
    assert (out / "acoustic.pt").read_bytes() == before


def test_train_acoustic_raises_cancelled_and_keeps_the_checkpoint(corpus, means, out):
    def stop(fraction: float, message: str) -> None:
        assert (fraction, "unseen_envelope" in message) == (1.0, True)
        raise Cancelled

    with pytest.raises(Cancelled):
        train_acoustic(corpus, means, out, replace(PLAN, steps=2), CPU, stop)
    assert torch.load(out / "acoustic.pt", weights_only=True)["step"] == 2


def test_train_acoustic_stores_the_plan_in_the_checkpoint(corpus, means, out):
    train(corpus, means, out, steps=1)
    assert AcousticPlan(**torch.load(out / "acoustic.pt", weights_only=True)["plan"]) == replace(PLAN, steps=1)


def test_reverse_gradient_negates_and_scales_the_gradient():
    values = torch.tensor([1.0, 2.0], requires_grad=True)
    passed = ReverseGradient.apply(values, 0.25)
    torch.testing.assert_close(passed, values)
    (passed * torch.tensor([2.0, 4.0])).sum().backward()
    torch.testing.assert_close(values.grad, torch.tensor([-0.5, -1.0]))
