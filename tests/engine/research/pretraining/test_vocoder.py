import copy
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from engine.analysis.envelope import BANDS
from engine.networks.synthesizer import Synthesizer
from engine.research.pretraining.corpus import Corpus
from engine.research.pretraining.vocoder import (
    SynthesizerPlan,
    make_batch,
    spectral_distance,
    synthesis_loss,
    train_synthesizer,
)
from engine.units import HOP, SAMPLE_RATE

# no cooling down, so that a step does not depend on how many there will be
PLAN = SynthesizerPlan(steps=3, batch=1, frames=24, rate=2e-3, cool_down=0.0, validation_speakers=0.2)
CPU = torch.device("cpu")
EVERYTHING = torch.full((2,), 22_050.0)


def train(corpus: Corpus, folder: Path, **changes) -> dict[str, torch.Tensor]:
    folder.mkdir(exist_ok=True)
    return train_synthesizer(corpus, folder, replace(PLAN, **changes), CPU, lambda fraction, message: None)


def assert_equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        torch.testing.assert_close(value, other[name], atol=0, rtol=0, msg=name)


@pytest.fixture(scope="module")
def uninterrupted(corpus, tmp_path_factory) -> dict[str, torch.Tensor]:
    return train(corpus, tmp_path_factory.mktemp("whole"), steps=6)


def test_make_batch_returns_known_shapes_and_is_deterministic_per_step(corpus):
    plan = replace(PLAN, batch=3)
    one, same, other = (make_batch(corpus, corpus.clips, plan, step) for step in (2, 2, 3))
    assert one["envelope"].shape == (3, 24, BANDS)
    assert one["hertz"].shape == one["voicing"].shape == (3, 24)
    assert one["samples"].shape == one["noise"].shape == (3, 23 * HOP)
    assert one["bandwidth"].shape == one["start"].shape == (3,)
    for name, value in one.items():
        torch.testing.assert_close(value, same[name], atol=0, rtol=0)
    assert (one["noise"] != other["noise"]).any()


def test_make_batch_cuts_samples_at_a_frame_boundary(corpus):
    batch = make_batch(corpus, corpus.clips[:1], PLAN, 0)
    clip = torch.from_numpy(corpus.audio[: corpus.clips[0].frames].ravel() / 32767).float()
    starts = [i * HOP for i in range(corpus.clips[0].frames - 23)]
    assert any(torch.allclose(clip[start : start + 23 * HOP], batch["samples"][0], atol=1e-6) for start in starts)


def test_make_batch_fills_the_envelope_smoothly_above_the_bandwidth(corpus):
    narrow = corpus.clips[-1]
    batch = make_batch(corpus, [narrow], PLAN, 0)
    top = batch["envelope"][0, :, narrow.bands :]
    assert (top.diff(dim=1).abs() < 0.5).all()
    edge = batch["envelope"][0, :, narrow.bands - 2]
    assert ((top[:, 0] - edge).abs() < 1.5).all()


def test_synthesis_loss_of_an_untrained_network_is_lower_for_the_right_envelope(corpus):
    torch.manual_seed(0)
    batch = make_batch(corpus, corpus.clips, replace(PLAN, batch=2), 0)
    right = synthesis_loss(Synthesizer(), batch, CPU)
    wrong = synthesis_loss(Synthesizer(), batch | {"envelope": batch["envelope"] - 2}, CPU)
    assert right < 0.7 * wrong


@pytest.mark.system
def test_train_synthesizer_lowers_the_loss_on_unseen_speakers(corpus, tmp_path):
    quiet = copy.copy(corpus)
    quiet.envelope = corpus.envelope - 1  # something to learn: all is a neper louder than it says
    train(quiet, tmp_path / "short", steps=1)
    train(quiet, tmp_path / "long", steps=40)
    first, last = (
        json.loads((tmp_path / name / "synthesizer.jsonl").read_text().splitlines()[-1])["unseen_spectrum"]
        for name in ("short", "long")
    )
    assert last < 0.8 * first


def test_train_synthesizer_resumes_exactly_from_its_checkpoint(corpus, out, uninterrupted):
    train(corpus, out, steps=3)
    assert_equal(train(corpus, out, steps=6), uninterrupted)


def test_train_synthesizer_resumes_from_the_previous_checkpoint_if_one_is_truncated(corpus, out, uninterrupted):
    train(corpus, out, steps=2)
    train(corpus, out, steps=4)
    path = out / "synthesizer.pt"
    path.write_bytes(path.read_bytes()[:1000])
    assert_equal(train(corpus, out, steps=6), uninterrupted)


def test_spectral_distance_of_equal_samples_is_zero():
    samples = torch.randn(2, 5000)
    assert spectral_distance(samples, samples, EVERYTHING, SAMPLE_RATE) == 0


def test_spectral_distance_grows_with_the_difference():
    torch.manual_seed(0)
    wanted, other = torch.randn(2, 5000), torch.randn(2, 5000)
    mixed = [wanted + share * other for share in (0.01, 0.1, 1)]
    distances = [float(spectral_distance(one, wanted, EVERYTHING, SAMPLE_RATE)) for one in mixed]
    assert 0 < distances[0] < distances[1] < distances[2]


def test_spectral_distance_of_a_doubled_signal_is_half_plus_log_two():
    wanted = torch.randn(2, 5000)
    # half of the relative error of the magnitudes and all of their logarithm
    expected = 0.5 * 1.0 + torch.log(torch.tensor(2.0))
    assert spectral_distance(2 * wanted, wanted, EVERYTHING, SAMPLE_RATE) == pytest.approx(float(expected), abs=0.01)


def test_spectral_distance_ignores_frequencies_above_the_bandwidth():
    wanted = torch.randn(1, 20_000, generator=torch.Generator().manual_seed(0))
    predicted = wanted + torch.sin(2 * torch.pi * 15_000 * torch.arange(20_000) / SAMPLE_RATE)
    heard, deaf = torch.tensor([22_050.0]), torch.tensor([6_000.0])
    whole = spectral_distance(predicted, wanted, heard, SAMPLE_RATE)
    assert spectral_distance(predicted, wanted, deaf, SAMPLE_RATE) < 0.1 * whole


def test_spectral_distance_has_a_finite_gradient_in_silence():
    samples = torch.zeros(1, 5000, requires_grad=True)
    spectral_distance(samples, torch.randn(1, 5000), EVERYTHING[:1], SAMPLE_RATE).backward()
    assert torch.isfinite(samples.grad).all()
