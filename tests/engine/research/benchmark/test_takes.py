import json

import pytest
import soundfile

from engine.research.command import main
from engine.units import SAMPLE_RATE

pytest.importorskip("resemblyzer")


@pytest.fixture
def sources(tmp_path, sing):
    soundfile.write(tmp_path / "one.wav", sing(3.0, hertz=200.0), SAMPLE_RATE)
    return tmp_path


@pytest.mark.system
def test_takes_benchmark_reports_differences_and_scores_as_json(sources, capsys):
    given = ["--sources", str(sources), "--voices", "kathleen", "--takes", "2", "--json"]
    assert main("benchmark", ["takes", *given]) == 0
    told = json.loads(capsys.readouterr().out)
    [row] = told["rows"]
    assert (row["source"], row["voice"], len(row["others"])) == ("one.wav", "kathleen", 1)
    assert told["means"]["difference"] == row["difference"]
    assert 1 < row["difference"]["pitch_cents"] < 50
    assert row["difference"]["colour_db"] > 0.1
    assert 0 < told["means"]["scores"]["first take"]["speaker_similarity"] <= 1


@pytest.mark.system
def test_takes_benchmark_prints_tables_by_default(sources, capsys):
    assert main("benchmark", ["takes", "--sources", str(sources), "--voices", "kathleen", "--takes", "2"]) == 0
    out = capsys.readouterr().out
    assert "1 conversions" in out
    assert "pitch_cents" in out
    assert "other takes" in out


def test_takes_benchmark_reports_a_folder_without_recordings(tmp_path, capsys):
    assert main("benchmark", ["takes", "--sources", str(tmp_path), "--voices", "kathleen"]) == 1
    assert "There is no recording in" in capsys.readouterr().err
