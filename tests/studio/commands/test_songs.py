"""The command line in this process, with a network of a few hundred bytes in place of the pinned one."""

import json
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from engine.audio.files import Audio, read_audio, write_audio
from engine.provenance.verification import verify
from engine.songs import separator_file
from tests import command_line
from tests.engine.songs.conftest import chords, save, write_network

RATE = 44_100


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def stems(vocal, tmp_path):
    sung, played = vocal(4.0, 200.0).astype(np.float32), chords(4.0)
    return save(tmp_path / "vocal.wav", sung), save(tmp_path / "backing.wav", played, played)


run = partial(command_line.run, code=0)


def test_convert_mixes_a_vocal_with_its_backing_in_two_voices(stems, tmp_path):
    told = run(
        "convert", stems[0], "--voice", "koguchi", "--from", "0:02 kathleen", "--backing", stems[1], "-o", "x.flac"
    )
    assert told.stdout.split() == ["x.flac", "x.vocal.flac", "x.backing.flac"]
    assert "Koguchi, " in told.stderr
    assert "Kathleen, " in told.stderr
    mixed, lanes = read_audio("x.flac").samples, [read_audio(f"x.{lane}.flac").samples for lane in ("vocal", "backing")]
    np.testing.assert_allclose(mixed, sum(lanes), atol=1e-6)
    assert verify(tmp_path / "x.flac").state == "made_here"


def test_convert_in_two_voices_needs_no_backing(stems):
    assert run("convert", stems[0], "--from", "0:02 keep", "-o", "x.wav").stdout.split() == ["x.wav"]
    assert read_audio("x.wav").sample_count == 4 * RATE


def test_convert_separate_needs_the_fetched_network_and_writes_both_stems(stems, tmp_path, monkeypatch, home):
    song = (read_audio(path).samples for path in stems)
    sung, played = song
    write_audio("song.wav", Audio(np.stack([sung[0] + played[0], sung[0] - played[0]]), RATE))
    refused = run("convert", "song.wav", "--separate", "--backing", "keep", code=1)
    assert "separation fetch where the studio runs (166 MB)" in refused.stderr
    network = write_network(tmp_path / "middle.onnx").read_bytes()
    pinned = replace(separator_file.PINNED[0], size=len(network), sha256=sha256(network).hexdigest())
    monkeypatch.setattr(separator_file, "PINNED", (pinned,))
    run("separation", "fetch", "--file", tmp_path / "middle.onnx")
    told = run("convert", "song.wav", "--voice", "koguchi", "--separate", "--backing", "keep")
    assert told.stdout.split() == ["song.koguchi.mix.wav", "song.koguchi.vocal.wav", "song.koguchi.backing.wav"]
    found = read_audio("song.koguchi.backing.wav").samples
    np.testing.assert_allclose(found, np.stack([played[0], -played[0]]), atol=1e-5)
    assert not list(home.rglob("stages"))  # they are kept only until it is finished


def test_convert_keeps_a_song_as_a_project_with_all_its_lanes(stems, vocal, tmp_path):
    harmony = save(tmp_path / "harmony.wav", vocal(4.0, 300.0).astype(np.float32))
    more = ["--stem", f"{harmony}=kathleen", "--stem", f"{harmony}=keep", "--project", "Night", "--json"]
    told = run("convert", stems[0], "--voice", "koguchi", "--backing", stems[1], *more)
    [song] = json.loads(told.stdout)["conversions"]
    assert list(song["files"]) == ["mix", "vocal", "backing", "stem", "stem3"]
    assert song["files"]["stem3"].endswith("vocal.koguchi.stem3.wav")
    assert set(song["voices"]) == {"koguchi", "kathleen"}
    # a stem that is kept is no synthetic recording, in a mix that is one
    assert [verify(Path(song["files"][lane])).state for lane in ("mix", "stem")] == ["made_here"] * 2
    assert verify(Path(song["files"]["stem3"])).statement is None
    [project] = json.loads(run("projects", "--json").stdout)["projects"]
    assert (project["id"], project["name"], len(project["conversions"])) == (song["project"], "Night", 1)
    run("projects", "export", "Night", "-o", tmp_path / "night.zip")
    assert (tmp_path / "night.zip").is_file()


def test_convert_no_project_keeps_nothing_of_a_song(stems):
    told = run("convert", stems[0], "--backing", stems[1], "--no-project", "--json")
    assert json.loads(told.stdout)["conversions"][0]["project"] is None
    assert json.loads(run("projects", "--json").stdout)["projects"] == []


def test_mix_keeps_level_timing_and_content_credentials(stems, tmp_path):
    run("convert", stems[0], "--voice", "koguchi", "-o", "take.wav")
    quiet = read_audio("take.wav")
    assert run("mix", "take.wav", stems[1], "--original", stems[0], "-o", "mix.wav").stdout == "mix.wav\n"
    mixed, backing = read_audio("mix.wav").samples, read_audio(stems[1]).samples
    vocal = mixed - backing
    share = float((vocal[0] * quiet.samples[0]).sum() / (quiet.samples[0] ** 2).sum())
    assert 0.5 < share < 2.0
    np.testing.assert_allclose(vocal, share * quiet.samples.repeat(2, axis=0), atol=1e-4)
    assert verify(tmp_path / "mix.wav").statement["voice"]["id"] == "koguchi"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--backing", "keep"], "needs --separate"),
        (["--offset", "1"], "need --backing"),
        (["--backing", "none.wav"], "does not exist"),
        (["--backing", "backing.wav", "--takes", "2"], "made in one take"),
        (["--backing", "backing.wav", "--stem", "harmony.wav"], "FILE=VOICE"),
        (["--backing", "backing.wav", "--from", "9:00 koguchi"], "begins after the end"),
        (["--backing", "backing.wav", "--voice", "keep"], "Nothing is converted"),
        (["--backing", "backing.wav", "--effects", "hall"], "Effects"),
    ],
)
def test_convert_refuses_invalid_song_options_and_writes_nothing(stems, tmp_path, options, sentence):
    told = run("convert", stems[0], "-o", "x.wav", *options, code=1)
    assert sentence in told.stderr
    assert not list(tmp_path.glob("x*"))


def test_convert_and_mix_refuse_to_overwrite_the_backing(stems, tmp_path):
    backing = stems[1].rename(tmp_path / "cover.backing.wav")
    before = backing.read_bytes()
    told = run("convert", stems[0], "--backing", backing, "-o", "cover.wav")
    assert told.stdout.split() == ["cover-2.wav", "cover-2.vocal.wav", "cover-2.backing.wav"]
    for output in ("cover.wav", "cover.backing.wav"):
        told = run("convert", stems[0], "--backing", backing, "-o", output, "--overwrite", code=1)
        assert "would overwrite the recording" in told.stderr
    run("mix", stems[0], backing, "--original", stems[0], "-o", backing, code=1)
    assert backing.read_bytes() == before


def test_convert_in_two_voices_warns_of_two_pitches_at_once(vocal, tmp_path):
    both = save(tmp_path / "both.wav", (vocal(4.0, 200.0) + 0.5 * vocal(4.0, 252.0)).astype(np.float32))
    told = run("convert", both, "--voice", "koguchi", "--from", "0:02 keep", "-o", "x.wav")
    assert "Koguchi, " in told.stderr
    assert "Two pitches sound at once" in told.stderr


def test_convert_warns_of_a_song_or_a_recording_in_two_voices_without_a_voice(stems, tmp_path):
    hiss = save(tmp_path / "hiss.wav", np.random.default_rng(0).uniform(-0.3, 0.3, 3 * RATE).astype(np.float32))
    for options in (("--backing", stems[1], "--offset", "0"), ("--from", "0:01 kathleen")):
        told = run("convert", hiss, "--voice", "koguchi", *options, "-o", "x.wav")
        assert told.stderr.count("No voice was found in this recording") == 1
    told = run(
        "convert", stems[0], "--backing", stems[1], "--stem", f"{hiss}=koguchi", "--voice", "koguchi", "-o", "y.wav"
    )
    assert '"hiss.wav": No voice was found' in told.stderr
    silent = save(tmp_path / "silent.wav", np.zeros(3 * RATE, np.float32))
    told = run("convert", silent, "--voice", "koguchi", "--from", "0:01 kathleen", "-o", "z.wav", code=1)
    assert "silent" in told.stderr
    assert not (tmp_path / "z.wav").exists()
