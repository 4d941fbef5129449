"""Training a voice on processors that multiply bfloat16 in hardware, and on others, whatever this machine has."""

from pathlib import Path

import pytest
import soundfile
import torch

from engine.features.clips import Clip, analysed_clips
from engine.training.fine_tuning import FineTuning
from engine.training.history import EVALUATIONS_FOLDER, read_history
from engine.training.plan import TrainingPlan
from engine.training.train import train
from engine.units import SAMPLE_RATE
from engine.voices.voice import load_voice
from tests.halves import forced_halves

PLAN = TrainingPlan(epochs=1, batch=1, foreign=1, learning_rate=1e-3, evaluate_epochs=1)
SCORES = {"likeness": 0.005, "content": 0.005, "mel_distance": 0.005, "pitch_error_cents": 0.5, "voicing_error": 0.02}


@pytest.fixture
def clips(tmp_path, sing) -> list[Clip]:
    """Fourteen seconds of one voice; analysed where halves are not multiplied."""
    soundfile.write(tmp_path / "one.wav", sing(14.0, hertz=150.0), SAMPLE_RATE)
    with forced_halves(False):
        return analysed_clips([tmp_path / "one.wav"])


def test_train_with_halves_gives_nearly_the_voice_of_single_precision(
    clips, tmp_path, short_trainings, halves, monkeypatch
):
    """One epoch of two steps, evaluated before and after."""
    monkeypatch.setattr("engine.training.train.epoch_pieces", lambda *_: [(0, 100), (0, 400)])
    precisions: list[torch.dtype] = []
    take_step = FineTuning.step

    def step(tuning: FineTuning, *given):
        precisions.append(tuning.precision)
        return take_step(tuning, *given)

    monkeypatch.setattr(FineTuning, "step", step)

    def learned(folder: Path) -> tuple[torch.Tensor, list[dict[str, float]]]:
        train(clips, PLAN, folder)
        before, after = (load_voice(folder / EVALUATIONS_FOLDER / name) for name in ("000000", "000001"))
        moved = torch.cat(
            [(b - a).flatten() for a, b in zip(before.decoder.parameters(), after.decoder.parameters(), strict=True)]
        )
        return moved, read_history(folder).evaluations

    with forced_halves(False):
        expected, wanted = learned(tmp_path / "expected")
    found, scores = learned(tmp_path / "found")
    assert precisions == [torch.float32] * 2 + [torch.bfloat16 if halves else torch.float32] * 2
    if halves:
        assert 0 < (found - expected).norm() < 0.2 * expected.norm()
        for name, tolerance in SCORES.items():
            assert scores[1][name] == pytest.approx(wanted[1][name], abs=tolerance)
    else:
        assert torch.equal(found, expected)
    assert [scores[0][name] for name in SCORES] == [wanted[0][name] for name in SCORES]
