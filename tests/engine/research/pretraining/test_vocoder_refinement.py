import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from engine.errors import TrainingError
from engine.research.pretraining import vocoder_refinement as module
from engine.research.pretraining.vocoder import SynthesizerPlan, train_synthesizer
from engine.research.pretraining.vocoder_refinement import RefinementPlan, SpectrumDiscriminator, refine_synthesizer
from tests.halves import forced_halves, product_precisions

PLAN = RefinementPlan(steps=4, batch=1, frames=24, warm_up=1)
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def steady_rate(monkeypatch):
    """A rate that does not depend on how many steps there will be."""
    monkeypatch.setattr(module, "learning_rate", lambda rate, step, steps, cool_down: rate)


@pytest.fixture
def first_part(corpus, out) -> Path:
    plan = SynthesizerPlan(steps=1, batch=1, frames=24, validation_speakers=0.2)
    train_synthesizer(corpus, out, plan, CPU, lambda fraction, message: None)
    return out


def refine(corpus, folder: Path, **changes) -> dict:
    refine_synthesizer(corpus, folder, replace(PLAN, **changes), CPU, lambda fraction, message: None)
    return torch.load(folder / "synthesizer_refined.pt", weights_only=True)


@pytest.mark.parametrize("resolution", module._RESOLUTIONS)
def test_spectrum_discriminator_ignores_sound_above_the_bandwidth(resolution):
    torch.manual_seed(0)
    discriminator, samples = SpectrumDiscriminator(*resolution), 0.1 * torch.randn(2, 8000)
    scores, features = discriminator(samples, torch.full((2,), 22_050.0))
    assert scores.shape[:2] == (2, 1)
    assert len(features) == 4
    time_s = torch.arange(8000) / 44_100
    above = samples + 0.1 * torch.sin(2 * torch.pi * 8000 * time_s)
    narrow = torch.full((2,), 4000.0)
    difference = (discriminator(above, narrow)[0] - discriminator(samples, narrow)[0]).abs().max()
    assert (
        difference < 0.1 * (discriminator(above, narrow * 10)[0] - discriminator(samples, narrow * 10)[0]).abs().max()
    )


def test_refine_synthesizer_refuses_a_folder_without_a_synthesizer(corpus, out):
    with pytest.raises(TrainingError, match="holds no synthesizer to refine; train it first"):
        refine(corpus, out)


def test_refine_synthesizer_trains_only_the_discriminators_during_warm_up(corpus, first_part):
    before = torch.load(first_part / "synthesizer.pt", weights_only=True)["average"]
    state = refine(corpus, first_part, steps=1)
    for name, value in before.items():
        torch.testing.assert_close(state["synthesizer"][name], value, atol=0, rtol=0)
    state = refine(corpus, first_part, steps=2)
    assert any((state["synthesizer"][name] != value).any() for name, value in before.items())


def test_refine_synthesizer_learns_alike_in_halves_and_in_single_precision(corpus, first_part, halves):
    def refined(folder: Path) -> tuple[dict, dict[str, float]]:
        folder.mkdir()
        shutil.copy(first_part / "synthesizer.pt", folder)
        state = refine(corpus, folder, steps=3)
        return state, json.loads((folder / "synthesizer_refined.jsonl").read_text())

    before = torch.load(first_part / "synthesizer.pt", weights_only=True)["average"]
    with forced_halves(False):
        expected, losses = refined(first_part / "single")
    with product_precisions() as precisions:
        found, figures = refined(first_part / "halves")
    assert (torch.bfloat16 in precisions) == halves
    for name in ("spectrum", "matching", "deceiving", "critic"):
        assert figures[name] == pytest.approx(losses[name], rel=0.02 if halves else 0)
    moved, off = (
        torch.cat([(one["synthesizer"][name] - value).flatten() for name, value in other.items()]).norm()
        for one, other in ((expected, before), (found, expected["synthesizer"]))
    )
    if halves:
        assert 0 < off < 0.5 * moved
    else:
        assert off == 0


@pytest.mark.system
def test_refine_synthesizer_resumes_exactly_from_its_checkpoint(corpus, first_part):
    refine(corpus, first_part, steps=2)
    resumed = refine(corpus, first_part, steps=4)
    for name in ("synthesizer_refined.pt", "synthesizer_refined.pt.previous"):
        (first_part / name).unlink()
    whole = refine(corpus, first_part, steps=4)
    for part in ("synthesizer", "average", "judges"):
        for name, value in whole[part].items():
            torch.testing.assert_close(resumed[part][name], value, atol=0, rtol=0, msg=name)
