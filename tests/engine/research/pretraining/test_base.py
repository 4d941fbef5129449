"""`python -m engine.pretraining` from a folder of recordings to the weights."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from engine.networks.base import load_base
from engine.research.command import main


def test_pretraining_command_refuses_a_folder_without_manifest(tmp_path, capsys):
    assert main("pretraining", ["--corpus", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert "has no manifest.tsv" in capsys.readouterr().err
    assert not (tmp_path / "out" / "base.safetensors").exists()


@pytest.mark.parametrize("arguments", [[], ["--corpus", "a"], ["--corpus", "a", "--out", "b", "--parts", "cook"]])
def test_pretraining_command_refuses_wrong_arguments(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main("pretraining", arguments)
    assert caught.value.code == 2
    assert "usage: python -m engine.pretraining" in capsys.readouterr().err


@pytest.mark.slow
def test_pretraining_command_trains_weights_from_recordings(tmp_path, sing):
    rows = ["path\tset\tspeaker\tkind\tseconds\toriginal_rate"]
    for number in range(24):
        samples = np.stack([sing(2.5, hertz=100.0 + 8 * (number // 2), seed=number)] * 2, 1)
        soundfile.write(tmp_path / f"{number}.flac", samples, 44_100)
        rows.append(f"{number}.flac\tspeechocean762\ts{number // 2}\tspeech\t2.5\t44100")
    (tmp_path / "manifest.tsv").write_text("\n".join(rows) + "\n")
    steps = ["--acoustic-steps", "2", "--synthesizer-steps", "2", "--refinement-steps", "2"]
    steps += ["--device", "cpu"]
    arguments = ["--corpus", str(tmp_path), "--out", str(tmp_path / "out"), *steps]
    root = Path(__file__).parents[4]
    call = [sys.executable, "-m", "engine.pretraining", *arguments]
    finished = subprocess.run(call, cwd=root, capture_output=True, text=True, timeout=900)
    assert finished.returncode == 0, finished.stderr
    assert "100.0%" in finished.stderr
    load_base(tmp_path / "out" / "base.safetensors")
    assert json.loads((tmp_path / "out" / "base.json").read_text(encoding="utf-8"))["acoustic"]["steps"] == 2
