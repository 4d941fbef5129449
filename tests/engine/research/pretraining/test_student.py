"""The student's two trainings on recordings of seconds: they learn, resume, and leave weights that can be loaded."""

import json

import numpy as np
import pytest
import soundfile
import torch

from engine import load_voice
from engine.networks.causal_content import load_student
from engine.research.pretraining import student
from engine.research.pretraining.student import StudentPlan, load_clips, prepare, student_loss, train
from engine.research.pretraining.student_refinement import RefinementPlan, refine, relation_loss
from engine.units import SAMPLE_RATE
from tests.halves import forced_halves, product_precisions

PLAN = RefinementPlan(steps=2, batch=2, frames=100)


@pytest.fixture(scope="module")
def clips(tmp_path_factory, sing):
    folder = tmp_path_factory.mktemp("corpus")
    rows = []
    for number in range(2):
        soundfile.write(folder / f"{number}.wav", sing(2.0, hertz=150.0 + 60 * number, seed=number), SAMPLE_RATE)
        rows.append({"path": f"{number}.wav", "set": "set", "speaker": str(number), "seconds": "2"})
    assert prepare(folder, folder / "features", rows, float("inf"), lambda fraction, message: None)
    return load_clips(folder / "features", rows)


def test_train_lowers_the_difference_alike_in_halves_and_in_single_precision(clips, out, halves, monkeypatch):
    plan = StudentPlan(steps=5, batch=1, frames=80)
    monkeypatch.setattr(student, "learning_rate", lambda *_: 1e-3)
    monkeypatch.setattr(student, "student_loss", lambda *given: losses.append(student_loss(*given)) or losses[-1])
    losses: list[torch.Tensor] = []
    for folder in ("single", "halves"):
        (out / folder).mkdir()
    with forced_halves(False):
        train(clips, clips, out / "single", plan, float("inf"), lambda fraction, message: None)
    expected = torch.stack(losses)
    losses.clear()
    with product_precisions() as precisions:
        train(clips, clips, out / "halves", plan, float("inf"), lambda fraction, message: None)
    found = torch.stack(losses)
    assert (torch.bfloat16 in precisions) == halves
    assert found[-1] < 0.9 * found[0]
    torch.testing.assert_close(found, expected, atol=0, rtol=0.02 if halves else 0)


def test_refine_changes_the_student_slightly_and_logs_its_losses(clips, out):
    before = load_student().state_dict()
    after = refine(clips, clips[:1], [load_voice("kathleen")], out, PLAN, lambda fraction, message: None)
    moved = torch.cat([(after[name] - before[name]).flatten() for name in before])
    assert 0 < moved.abs().max() < 0.01
    line = json.loads((out / "student_refined.jsonl").read_text().splitlines()[-1])
    assert line["step"] == 2
    assert {"difference", "relation", "decoded", "agreement_60ms"} <= set(line)
    again = refine(clips, clips[:1], [load_voice("kathleen")], out, PLAN, lambda fraction, message: None)
    for name in before:
        torch.testing.assert_close(again[name], after[name])  # from the checkpoint: nothing is left to do


def test_relation_loss_grows_with_distance_from_the_wanted_content():
    wanted = 0.15 * torch.randn(2, 40, 64, generator=torch.Generator().manual_seed(1))
    near, far = (wanted + size * torch.randn_like(wanted) for size in (0.1, 0.4))
    losses = [float(relation_loss(found, wanted, np.random.default_rng(0))) for found in (wanted, near, far)]
    assert losses[0] == pytest.approx(0, abs=1e-5)
    assert losses[0] < losses[1] < losses[2]
