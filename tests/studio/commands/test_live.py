"""`live` on files, and what it says without a sound device."""

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from studio.commands.cli import app


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def vocal(tmp_path):
    time_s = np.arange(48_000) / 48_000
    sung = sum(np.sin(2 * np.pi * k * 220 * time_s) / k for k in range(1, 15)) * 0.1
    soundfile.write(tmp_path / "vocal.wav", sung, 48_000)
    return tmp_path / "vocal.wav"


def test_live_converts_a_file_into_one_of_the_same_length(home, vocal, tmp_path):
    done = run("live", "--input", vocal, "--output", tmp_path / "out.wav", "--voice", "koguchi", "--content", "student")
    assert done.exit_code == 0, done.output
    samples, rate = soundfile.read(tmp_path / "out.wav")
    assert (len(samples), rate) == (48_000, 48_000)
    assert np.abs(samples[24_000:]).max() > 0.01


def test_live_refuses_a_recording_without_a_file_to_write_and_one_onto_itself(home, vocal):
    assert "name it with --output" in run("live", "--input", vocal).output
    assert "would overwrite" in run("live", "--input", vocal, "--output", vocal).output
    assert "multiple of 20" in run("live", "--input", vocal, "--block-ms", "50").output
