"""The engine's own settings on the command line: what lies outside a range is one sentence and leaves no file."""

from dataclasses import fields

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from engine.conversion.settings import ConversionSettings
from studio.commands.cli import app

KNOWN = {field.name: field.metadata for field in fields(ConversionSettings)}
RANGES = [(name, one["minimum"], one["maximum"]) for name, one in KNOWN.items() if "minimum" in one]


@pytest.mark.parametrize(
    ("name", "text"),
    [(name, str(value)) for name, lowest, highest in RANGES for value in (lowest - 1, highest + 1)]
    + [(name, text) for name in KNOWN for text in ("nan", "much", "")],
)
def test_convert_refuses_a_setting_outside_its_range_and_writes_no_file(tmp_path, monkeypatch, name, text):
    monkeypatch.chdir(tmp_path)
    soundfile.write("vocal.wav", np.zeros(4410), 44_100)
    flag = "--" + name.replace("_", "-")
    result = CliRunner().invoke(app, ["convert", "vocal.wav", f"{flag}={text}"], env={"COLUMNS": "200"})
    assert result.exit_code == 1
    assert result.stdout == ""
    [sentence] = result.stderr.splitlines()
    assert name in sentence.replace("-", "_")
    assert sentence.endswith(".")
    assert [path.name for path in tmp_path.iterdir()] == ["vocal.wav"]
