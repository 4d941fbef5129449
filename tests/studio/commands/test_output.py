"""The command line where its output has another encoding, is full, or is closed early."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SPEECH = Path(__file__).parents[3] / "engine" / "samples" / "speech.flac"
FULL = Path("/dev/full")
full_only = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")


@pytest.fixture
def run_to(tmp_path):
    """Run the command line with its output there; return the status, what it wrote there, and its errors."""

    def run(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **environment):
        home = os.environ | {"TIMBRE_STUDIO_HOME": str(tmp_path), "PYTHONUNBUFFERED": ""} | environment
        command = [sys.executable, "-m", "studio", *map(str, arguments)]
        done = subprocess.run(command, stdout=stdout, stderr=stderr, env=home, timeout=120)
        return done.returncode, done.stdout or b"", (done.stderr or b"").decode()

    return run


@pytest.mark.parametrize(
    ("encoding", "language", "shown"), [("ascii", "en", b"G?khan"), ("cp1252", "ja", b"G\xf6khan   ????")]
)
def test_output_replaces_characters_that_its_encoding_lacks(run_to, encoding, language, shown):
    status, wrote, errors = run_to("--language", language, "voices", PYTHONIOENCODING=encoding)
    assert (status, errors) == (0, "")
    assert shown in wrote
    status, wrote, errors = run_to("--language", language, "convert", "--help", PYTHONIOENCODING=encoding)
    assert (status, errors) == (0, "")
    assert b"--voice" in wrote


@full_only
@pytest.mark.parametrize("arguments", [["voices"], ["voices", "--json"], ["--help"], ["analyse", SPEECH, "--json"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written_is_one_sentence(run_to, arguments, unbuffered):
    with FULL.open("wb") as full:
        status, _, errors = run_to(*arguments, stdout=full, PYTHONUNBUFFERED=unbuffered)
    assert status == 1
    assert errors.splitlines() == ["The output cannot be written (No space left on device): write it somewhere else."]


@full_only
def test_errors_that_cannot_be_written_still_give_an_exit_status(run_to):
    with FULL.open("wb") as full:
        assert run_to("convert", "nothing.wav", stderr=full)[0] == 1
        assert run_to("voices", stdout=full, stderr=full)[0] == 1


def test_output_to_a_pipe_that_is_closed_ends_silently(run_to):
    reader, writer = os.pipe()
    os.close(reader)
    _, _, errors = run_to("voices", "--json", stdout=writer)
    os.close(writer)
    assert errors == ""
