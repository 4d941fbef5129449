"""`verify` and `credentials` as a user and a script see them."""

import json
import shutil
import zipfile

import numpy as np
import pytest

from engine.audio.files import AudioWriter
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement
from tests.command_line import run


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


def test_verify_checks_the_other_files_after_one_that_cannot_be_checked(made, tmp_path):
    (tmp_path / "notes.txt").write_text("Dear diary")
    result = run("verify", tmp_path / "missing.wav", made, tmp_path / "notes.txt", made)
    assert result.exit_code == 1
    assert [line.partition(": ")[0] for line in result.stdout.splitlines()] == [str(made)] * 2
    assert len(result.stderr.splitlines()) == 2
    lines = run("verify", tmp_path / "notes.txt", made, "--json").stdout.splitlines()
    assert ["error" in json.loads(line) for line in lines] == [True, False]


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_verify_never_calls_an_archive_changed(made, tmp_path, kind):
    (tmp_path / "folder").mkdir()
    shutil.copy(made, tmp_path / "folder" / "preview.wav")
    packed = shutil.make_archive(str(tmp_path / "mia.voice"), kind, tmp_path / "folder")
    if kind == "zip":  # stored as it is, as packages hold it
        with zipfile.ZipFile(packed, "w") as package:
            package.write(made, "preview.wav")
    result = run("verify", packed)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "is an archive" in result.stderr


def test_verify_takes_texts_about_credentials_for_what_they_are(tmp_path, home):
    (tmp_path / "notes.txt").write_text("c2pa.claim and jumdc2pa are parts of a manifest")
    assert "not an audio file" in run("verify", tmp_path / "notes.txt").stderr


def test_verify_still_calls_a_file_changed_whose_first_bytes_are_lost(made):
    made.write_bytes(b"xxxx" + made.read_bytes()[4:])
    assert "its content credentials are damaged" in run("verify", made).stdout


def test_credentials_shows_and_rotates_the_certificate(made):
    before = run("credentials").stdout
    assert "CN=Timbre Studio" in before
    assert "CN=Timbre Studio" in run("credentials", "rotate").stdout
    assert run("credentials").stdout != before
    assert "Made here" in run("verify", made).stdout


def test_credentials_reports_when_switched_off(home, monkeypatch):
    monkeypatch.setenv("TIMBRE_STUDIO_CREDENTIALS", "off")
    assert run("credentials").stdout == "Content credentials are switched off here.\n"
