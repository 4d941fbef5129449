import json

import pytest
import soundfile

from engine.research.benchmark.training import first_recordings
from engine.research.command import main
from engine.units import SAMPLE_RATE
from engine.voices.voice import load_voice


@pytest.fixture
def corpus(tmp_path, sing):
    home = tmp_path / "corpus" / "set" / "mia"
    home.mkdir(parents=True)
    for number in range(3):
        soundfile.write(home / f"{number}.wav", sing(8.0, hertz=180.0, seed=number), SAMPLE_RATE)
    return tmp_path / "corpus"


def test_first_recordings_returns_as_many_as_fit_and_at_least_one(corpus):
    recordings = sorted((corpus / "set" / "mia").iterdir())
    assert first_recordings(recordings, 17.0) == recordings[:2]
    assert first_recordings(recordings, 1.0) == recordings[:1]


@pytest.mark.system
def test_training_benchmark_trains_a_voice_and_reports_times_and_memory(corpus, tmp_path, short_trainings, capsys):
    work = tmp_path / "work"
    given = ["--corpus", corpus, "--speaker", "set/mia", "--minutes", 1, "--epochs", 1, "--work", work]
    assert main("benchmark", ["training", *map(str, given)]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["sound_s"] == pytest.approx(24, abs=0.1)
    assert figures["epochs"] == 1
    assert figures["analysis_times_real_time"] > 1
    assert figures["training_s"] > 0
    assert figures["peak_memory_mb"] > 100
    for name in ("kept", "last"):
        assert load_voice(work / name).card.corpus_speaker == "set/mia"


def test_training_benchmark_reports_a_speaker_without_a_folder(corpus, tmp_path, capsys):
    given = ["--corpus", str(corpus), "--speaker", "nobody", "--work", str(tmp_path / "work")]
    assert main("benchmark", ["training", *given]) == 1
    assert "There is no folder" in capsys.readouterr().err
