"""The benchmark of graphics cards, on the processor: what it prints of a card needs one."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.devices import Device, choose_device
from engine.research.benchmark import card
from engine.research.benchmark.card import QUICK, SECTIONS
from engine.research.command import main
from tests.engine.pretended_gpu import THERE, pretended_gpu

ROOT = Path(__file__).parents[4]


def test_machine_names_processor_and_versions(capsys):
    assert main("benchmark", ["card", "--section", "machine", "--device", "cpu"]) == 0
    said = capsys.readouterr().out
    assert f"| torch | {torch.__version__} |" in said
    for name in ("processor", "cores", "onnxruntime", "precision of training"):
        assert f"| {name} |" in said


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_card_says_in_a_sentence_that_there_is_none(capsys):
    assert main("benchmark", ["card", "--section", "steps"]) == 1
    assert "There is no cuda device here" in capsys.readouterr().err


def test_difference_of_the_processor_alone_is_a_sentence():
    assert list(card._difference(choose_device("cpu"), QUICK)) == ["There is no card to compare with the processor."]


@pytest.mark.filterwarnings("ignore:for .*copying from a non-meta parameter")
@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True to a scalar")
@pytest.mark.system
def test_difference_compares_a_card_with_the_processor(monkeypatch):
    device, chosen = Device(THERE.type, "pretended", torch.float32), choose_device("cpu")
    monkeypatch.setattr(
        "engine.conversion.convert.working_device", lambda wanted: device if wanted == THERE.type else chosen
    )
    with pretended_gpu():
        lines = list(card._difference(device, QUICK))
    assert len(lines) == 2
    assert all("| below -60 dB |" in line for line in lines)  # windows in batches round otherwise


def test_difference_is_measured_in_decibels():
    wanted = np.ones(100, np.float32)
    assert card.difference_db(wanted, wanted * 1.01) == pytest.approx(-40, abs=0.1)


@pytest.mark.slow
def test_gpu_script_measures_the_processor_of_a_machine_without_a_card(tmp_path):
    command = [str(ROOT / ".ci" / "gpu"), *"--device cpu --quick --python".split(), sys.executable]
    command += ["--out", str(tmp_path)]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-1000:]
    for name in SECTIONS:
        assert (tmp_path / f"{name}.txt").read_text() in finished.stdout
    assert "| 3 s | cpu, 2 threads |" in finished.stdout
    assert "| 10 s | cpu, 1 threads |" in finished.stdout
    assert "| 1 epochs |" in finished.stdout
    assert "failed" not in finished.stdout


def test_gpu_script_refuses_what_it_does_not_know():
    finished = subprocess.run([str(ROOT / ".ci" / "gpu"), "--fast"], capture_output=True, text=True, timeout=60)
    assert finished.returncode == 2
    assert finished.stderr.startswith("usage: .ci/gpu")
