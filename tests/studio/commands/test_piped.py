"""`-` in place of a recording or a result: sound through pipes, and nothing but sound."""

import io
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from studio.commands.demo import bundled_sample
from studio.commands.piped import shown_path
from tests.command_line import run

pytestmark = pytest.mark.usefixtures("here")

RATE = 44_100


def buzz(seconds: float = 1.5) -> np.ndarray:
    """A3 with vibrato, int16 (samples,)."""
    time_s = np.arange(round(seconds * RATE)) / RATE
    phase = 2 * np.pi * 220 * time_s + 2 * np.sin(2 * np.pi * 5.5 * time_s)
    return (4000 * sum(np.sin(harmonic * phase) / harmonic for harmonic in range(1, 20))).astype(np.int16)


def as_ffmpeg_pipes_it(samples: np.ndarray) -> bytes:
    """A WAV whose length was not known when its header was written: FFmpeg writes 0xFFFFFFFF then."""
    unknown, form = struct.pack("<I", 0xFFFF_FFFF), struct.pack("<IHHIIHH", 16, 1, 1, RATE, 2 * RATE, 2, 16)
    return b"RIFF" + unknown + b"WAVEfmt " + form + b"data" + unknown + samples.tobytes()


def test_convert_writes_the_same_sound_to_standard_output_as_to_a_file_and_all_else_to_standard_error(here):
    song = as_ffmpeg_pipes_it(buzz())
    done = run("convert", "-", "-v", "koguchi", "-o", "-", "--no-project", given=song)
    assert done.exit_code == 0, done.stderr
    assert "Koguchi" in done.stderr
    sound, rate = soundfile.read(io.BytesIO(done.stdout_bytes))
    assert (len(sound), rate) == (len(buzz()), RATE)
    assert os.listdir(here) == []
    soundfile.write("file.wav", buzz(), RATE)
    assert run("convert", "file.wav", "-v", "koguchi", "-o", "made.wav", "--no-project").stdout == "made.wav\n"
    assert np.array_equal(soundfile.read("made.wav")[0], sound)


@pytest.mark.parametrize(("form", "named"), [(None, "WAV"), ("flac", "FLAC"), ("mp3", "MP3"), ("ogg", "OGG")])
def test_mix_chooses_the_format_of_standard_output(form, named):
    soundfile.write("a.wav", np.random.default_rng(0).normal(0, 0.1, len(buzz())), RATE)
    more = ("--format", form) if form else ()
    done = run("mix", "-", "a.wav", "-o", "-", "--offset", 0, *more, given=as_ffmpeg_pipes_it(buzz()))
    assert done.exit_code == 0, done.stderr
    # credentials of a FLAC lie before it
    sound = done.stdout_bytes[done.stdout_bytes.index(b"fLaC") :] if form == "flac" else done.stdout_bytes
    assert soundfile.info(io.BytesIO(sound)).format == named


def test_results_that_are_named_by_a_folder_have_the_format_that_is_asked_for(here):
    soundfile.write("a.wav", buzz(), RATE)
    assert run("convert", "a.wav", "-o", "to/", "--format", "flac", "--dry-run").stdout == "to/a.kathleen.flac\n"
    refused = run("convert", "a.wav", "-o", "x.flac", "--format", "mp3")
    assert (refused.exit_code, refused.stderr[:24]) == (1, "-o names a .flac file, a")
    assert run("convert", "a.wav", "-o", "-", "--format", "xyz").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        *((("--takes", 2), "one take"), (("--json",), "--json does not go"), (("--dry-run",), "--dry-run does not go")),
        *((("--skip-existing",), "--skip-existing does not go"), (("b.wav",), "one recording")),
    ],
)
def test_convert_refuses_what_standard_output_cannot_hold_before_any_work(arguments, reason):
    soundfile.write("b.wav", buzz(), RATE)
    done = run("convert", "-", *arguments, "-o", "-", given=as_ffmpeg_pipes_it(buzz()))
    assert (done.exit_code, done.stdout_bytes) == (1, b"")
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_comp_lists_phrases_even_where_sound_is_to_come_later(here):
    soundfile.write("take.wav", buzz(), RATE)
    done = run("comp", "-", "take.wav", "-o", "-", given=as_ffmpeg_pipes_it(buzz()))
    assert (done.exit_code, done.stdout.split()[0]) == (0, "1")
    assert run("comp", "take.wav", "take.wav", "--choose", 1, "-o", "-", "--json").exit_code == 1
    sound = run("comp", "take.wav", "take.wav", "--choose", 1, "-o", "-")
    assert len(soundfile.read(io.BytesIO(sound.stdout_bytes))[0]) == len(buzz())


def test_a_pipe_that_brings_nothing_or_no_sound_is_said():
    empty = run("convert", "-")
    assert (empty.exit_code, empty.stderr) == (
        1,
        "Nothing came through the pipe: check the output of the program before it.\n",
    )
    text = run("analyse", "-", given=b"hello")
    assert (text.exit_code, len(text.stderr.splitlines())) == (1, 1)
    assert "not an audio file" in text.stderr


def test_verify_reads_standard_input_and_calls_it_so():
    done = run("verify", "-", "--json", given=bundled_sample().read_bytes())
    assert json.loads(done.stdout)["file"] == "-"
    assert shown_path(Path("a/b.wav")) == "a/b.wav"


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes in folders")
def test_other_pipes_than_standard_input_are_read_too(here):
    """As of `analyse <(program)`."""
    os.mkfifo("pipe")
    program = f"open('pipe', 'wb').write(open({str(bundled_sample())!r}, 'rb').read())"
    with subprocess.Popen([sys.executable, "-c", program]):
        done = run("analyse", "pipe", "--json")
    assert json.loads(done.stdout)["duration_s"] > 5, done.stderr


@pytest.mark.system
@pytest.mark.skipif(sys.platform == "win32", reason="no terminals of this kind")
@pytest.mark.parametrize("arguments", [("convert", "vocal.wav", "-o", "-"), ("convert", "-")])
def test_a_terminal_is_no_pipe(arguments):
    import pty

    soundfile.write("vocal.wav", buzz(), RATE)
    main, other = pty.openpty()
    command = [sys.executable, "-m", "studio", *arguments]
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        command, stdin=other, stdout=other, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": root}, check=False
    )
    os.close(other), os.close(main)
    assert done.returncode == 1
    assert "pipe" in done.stderr.decode()
