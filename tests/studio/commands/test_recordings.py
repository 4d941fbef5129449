"""Which files a command is meant to work on."""

import shutil
from pathlib import Path

import pytest

from engine.errors import AudioError
from engine.voices.card import DEMO_VOICES
from studio.commands.recordings import find_recordings


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    for name in ("b.wav", "a.FLAC", "notes.txt", ".hidden.wav", ".git/c.wav", "deep/d.mp3", "x[1].wav"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["b.wav", "notes.txt"], ["b.wav", "notes.txt"]),  # a file that is named is meant, whatever it is called
        (["."], ["a.FLAC", "b.wav", "deep/d.mp3", "x[1].wav"]),
        (["*.wav", "deep/*"], [".hidden.wav", "b.wav", "x[1].wav", "deep/d.mp3"]),
        (["x[1].wav"], ["x[1].wav"]),
        (["deep", "b.wav", "deep/d.mp3", "./b.wav"], ["deep/d.mp3", "b.wav"]),
    ],
)
def test_find_recordings_takes_files_folders_and_patterns_each_once(here, given, found):
    assert find_recordings([Path(one) for one in given]) == [Path(one) for one in found]
    assert find_recordings([here / one for one in given]) == [here / one for one in found]


@pytest.mark.parametrize("given", ["nothing.wav", "nothing/*.wav", "empty"])
def test_find_recordings_refuses_what_is_not_there(here, given):
    (here / "empty").mkdir()
    with pytest.raises(AudioError, match=r"does not exist|no recordings"):
        find_recordings([Path("b.wav"), Path(given)])


def test_find_recordings_leaves_out_results_in_a_folder_and_takes_those_that_are_named(here, capsys):
    result = here / "deep" / "d.koguchi.wav"
    shutil.copyfile(DEMO_VOICES / "koguchi" / "preview.wav", result)
    assert find_recordings([here / "deep"]) == [here / "deep" / "d.mp3"]
    assert "Results of earlier conversions" in capsys.readouterr().err
    assert find_recordings([result]) == [result]
    assert find_recordings([here / "deep", result]) == [here / "deep" / "d.mp3", result]


def test_find_recordings_refuses_a_folder_of_results_alone(here):
    (here / "made").mkdir()
    shutil.copyfile(DEMO_VOICES / "koguchi" / "preview.wav", here / "made" / "b.koguchi.wav")
    with pytest.raises(AudioError, match="no recordings"):
        find_recordings([here / "made"])


def test_find_recordings_leaves_results_out_beside_others_and_says_so(tmp_path, capsys):
    preview = DEMO_VOICES / "koguchi" / "preview.wav"  # which says that it was made by this program
    for name in ("vocal.koguchi.wav", "vocal.kathleen.wav"):
        shutil.copy(next(preview.parent.glob("preview.*")), tmp_path / name)
    (tmp_path / "vocal.wav").touch()
    given = sorted(tmp_path.glob("*.wav"))
    assert find_recordings(given) == [tmp_path / "vocal.wav"]
    assert "2 results of earlier conversions are left out" in capsys.readouterr().err
    for meant in (given[:1], given[:2]):  # nothing else is named
        assert find_recordings(meant) == meant
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("marked", ["song.mia.vocal.wav", "song.mia.mix.wav", "song.mia.wav"])
def test_find_recordings_leaves_out_the_backing_and_stems_of_an_earlier_song(marked, tmp_path, capsys):
    preview = DEMO_VOICES / "koguchi" / "preview.wav"
    names = [marked, "song.mia.backing.wav", "song.mia.stem2.wav"]
    for name in (*names, "song.wav", "other.backing.wav", "song.mia.backing.flac"):
        shutil.copyfile(preview, tmp_path / name) if name == marked else (tmp_path / name).touch()
    own = [tmp_path / name for name in ("other.backing.wav", "song.mia.backing.flac", "song.wav")]
    assert find_recordings(sorted(tmp_path.iterdir())) == own
    assert "3 results of earlier conversions are left out" in capsys.readouterr().err
    assert find_recordings([tmp_path]) == own
    assert find_recordings([tmp_path / "song.mia.backing.wav"]) == [tmp_path / "song.mia.backing.wav"]
