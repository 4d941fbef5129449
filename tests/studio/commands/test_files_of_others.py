"""Recordings as other programs leave them, through the command line: several tracks, places in sessions, late sound."""

import json
import struct
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from engine.audio.files import AudioWriter, open_audio
from engine.audio.session_metadata import Marker, SessionPlace, place_of
from engine.provenance.verification import verify
from tests import command_line
from tests.engine.audio.encoded import several, tone, with_ffmpeg

pytestmark = pytest.mark.usefixtures("here")

RATE = 48_000
PLACE = SessionPlace(RATE, 48_000 * 3600 + 12_345, (Marker(24_000, b"verse"),))


def sung(seconds: float = 1.5, hertz: float = 220.0) -> np.ndarray:
    """A note with vibrato that begins and ends softly, float32 (1, samples)."""
    time_s = np.arange(round(seconds * RATE)) / RATE
    phase = 2 * np.pi * hertz * time_s + 2 * np.sin(2 * np.pi * 5.5 * time_s)
    buzz = sum(np.sin(harmonic * phase) / harmonic for harmonic in range(1, 20))
    return (0.15 * buzz * np.sin(np.pi * time_s / seconds))[None].astype(np.float32)


run = partial(command_line.run, code=0)


def test_convert_and_analyse_read_the_track_that_players_play_or_another(here: Path) -> None:
    (here / "film.mkv").write_bytes(several([tone(72_000, RATE, hertz=440.0), sung()], default=1))
    told = run("convert", "film.mkv", "-o", "voice.wav")
    assert '"film.mkv" has 2 sound tracks. Track 2, the one that players play, is read' in told.stderr
    assert "no voice" not in told.stderr.lower()
    statement = verify(here / "voice.wav").statement
    assert statement is not None
    found = json.loads(run("analyse", "film.mkv", "--json").stdout)
    assert found["vocal_range"]["max"] in ("A3", "A#3", "B3")
    assert "Track 2, the one that players play, is read" in found["warning"]
    found = json.loads(run("analyse", "film.mkv", "--track", "1", "--json").stdout)
    assert "A4" in {found["notes"][0]["name"], found["vocal_range"]["max"]}
    assert "sound tracks" not in (found["warning"] or "")
    assert "has 2 sound tracks, so there is no track 3" in run("convert", "film.mkv", "--track", "3", code=1).stderr
    run("convert", "film.mkv", "--track", "0", code=2)


def test_convert_reads_the_microphones_track_where_the_first_is_silent(here: Path) -> None:
    (here / "screen.mp4").write_bytes(several([np.zeros((1, 72_000), np.float32), sung()], "mp4", "aac"))
    told = run("convert", "screen.mp4", "-o", "voice.wav")
    assert "Track 2 is read, since track 1 is silent." in told.stderr
    assert "check the microphone" not in told.stderr


@pytest.mark.parametrize("form", [(), ("--rate", "44100", "--bits", "16")])
def test_convert_keeps_the_place_of_a_recording_in_its_session(here: Path, form: tuple[str, ...]) -> None:
    with AudioWriter("take.wav", RATE, 1, place=PLACE) as writer:
        writer.write(sung())
    run("convert", "take.wav", "--effects", "clean", "-o", "result.wav", *form)
    with open_audio("result.wav") as result:
        expected = PLACE.at(result.rate)
    place = place_of(here / "result.wav")
    assert place is not None
    assert (place.time_reference, place.markers) == (expected.time_reference, expected.markers)
    assert verify(here / "result.wav").state == "made_here"


def test_convert_in_parts_keeps_the_place(here: Path) -> None:
    with AudioWriter("take.wav", RATE, 1, place=PLACE) as writer:
        writer.write(sung(3.0))
    run("convert", "take.wav", "--from", "0:02 keep", "-o", "result.wav")
    place = place_of(here / "result.wav")
    assert place is not None
    assert place.time_reference == PLACE.at(place.rate).time_reference


def test_convert_says_that_a_file_is_longer_than_its_header(here: Path) -> None:
    with AudioWriter("take.wav", RATE, 1) as writer:
        writer.write(sung(3.0))
    content = bytearray((here / "take.wav").read_bytes())
    place = content.index(b"data")
    content[place + 4 : place + 8] = struct.pack("<I", 3 * RATE)
    (here / "take.wav").write_bytes(content)
    told = run("convert", "take.wav", "-o", "result.wav")
    assert '"take.wav" holds more sound than its header says. All of it is read.' in told.stderr
    with open_audio("result.wav") as result:
        assert result.duration_s == pytest.approx(3.0)


def test_mix_says_that_a_vocal_may_begin_late(here: Path) -> None:
    content = with_ffmpeg(sung(3.0), RATE, "aac", "ipod", use_editlist="0").replace(b"Lavc", b"Nobo")
    (here / "vocal.m4a").write_bytes(content)
    with AudioWriter("backing.wav", RATE, 1) as writer:
        writer.write(tone(3 * RATE, RATE, hertz=110.0))
    told = run("mix", "vocal.m4a", "backing.wav", "--offset", "0", "-o", "mix.wav")
    assert told.stderr.count("it may begin 20 to 50 ms late") == 1
    told = run("convert", "vocal.m4a", "--backing", "backing.wav", "--offset", "0", "-o", "song.wav")
    assert told.stderr.count("it may begin 20 to 50 ms late") == 1
    assert "late" not in run("convert", "vocal.m4a", "-o", "alone.wav").stderr


def test_create_takes_the_track_that_is_chosen(here: Path) -> None:
    (here / "film.mkv").write_bytes(several([tone(12 * RATE, RATE, hertz=440.0), sung(12.0)]))
    told = run("create", "film.mkv", "--track", "2", "--name", "Mia")
    assert "sound tracks" not in told.stderr
    told = run("create", "film.mkv", "--name", "Lea")
    assert '"film.mkv" has 2 sound tracks. Track 1, the one that players play, is read' in told.stderr
