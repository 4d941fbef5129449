"""`verify` and `credentials` as a user and a script see them."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from engine.audio.files import AudioWriter
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement
from studio.commands.cli import app


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def made(home, tmp_path):
    path = tmp_path / "take.wav"
    with AudioWriter(path, 44_100, 1, Statement("mia", "Mia", None, {}, None, "0.9"), Installation(home)) as writer:
        writer.write(np.full((1, 4410), 0.1, np.float32))
    return path


def test_verify_reports_the_origin_of_a_file(made):
    result = run("verify", made)
    assert result.exit_code == 0
    assert result.stdout == f"{made}: Made here, a synthetic recording in the voice Mia, and unchanged since.\n"


def test_verify_exits_with_1_for_a_changed_file(made):
    content = bytearray(made.read_bytes())
    content[5000] ^= 1
    made.write_bytes(content)
    result = run("verify", made, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["state"] == "changed"


def test_verify_refuses_a_file_that_is_not_audio(tmp_path, home):
    (tmp_path / "notes.txt").write_text("Dear diary")
    result = run("verify", tmp_path / "notes.txt")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "not an audio file" in result.stderr


def test_credentials_shows_and_rotates_the_certificate(made):
    before = run("credentials").stdout
    assert "CN=Timbre Studio" in before
    assert "CN=Timbre Studio" in run("credentials", "rotate").stdout
    assert run("credentials").stdout != before
    assert "Made here" in run("verify", made).stdout


def test_credentials_reports_when_switched_off(home, monkeypatch):
    monkeypatch.setenv("TIMBRE_STUDIO_CREDENTIALS", "off")
    assert run("credentials").stdout == "Content credentials are switched off here.\n"
