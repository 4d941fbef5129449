"""Which files a command is meant to work on."""

from pathlib import Path

import pytest

from engine.errors import AudioError
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
