import json

import pytest
import soundfile

from engine.research.command import main
from engine.units import SAMPLE_RATE


@pytest.fixture
def vocals(tmp_path, sing):
    soundfile.write(tmp_path / "one.wav", sing(2.0, hertz=200.0), SAMPLE_RATE)
    return str(tmp_path)


def test_hearing_benchmark_finds_the_voice_in_vocals_alone(vocals, capsys):
    main("benchmark", ["detection", "--vocals", vocals, "--json"])
    rows = json.loads(capsys.readouterr().out)
    vocal = {row["condition"]: row for row in rows if row["name"] == "one.wav"}
    assert {name: bool(row["said"]) for name, row in vocal.items()} == {
        "as it is": False, "42 dB softer": False, "0.7 s of it": False, "whispered": True
    }  # fmt: skip
    assert vocal["42 dB softer"]["voiced"] > 0.98 * vocal["as it is"]["voiced"]
    made = {row["name"]: row["said"] for row in rows if row["condition"] == "made"}
    assert all(made.values())
    assert "tones" in made["220 Hz"]
    assert "noise" in made["rain"]


def test_hearing_benchmark_prints_counts_and_what_is_said(vocals, capsys):
    main("benchmark", ["detection", "--vocals", vocals, "--count", "1"])
    vocals, shares, sounds = capsys.readouterr().out.split("\n\n")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in vocals.splitlines()]
    assert ["as it is", "1", "0"] in rows
    assert ["whispered", "1", "1"] in rows
    assert "at worst" in shares
    assert "rain" in sounds
