import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from engine.errors import SettingsError
from engine.files import (
    as_path,
    beside,
    close_to_others,
    fitting_name,
    make_private_folder,
    named,
    names_that_fit,
    numbered,
    replacing,
    shown_name,
    write_atomically,
)


def test_write_atomically_creates_and_replaces_a_file(tmp_path):
    for content in (b"first", b"", b"second" * 100_000):
        write_atomically(tmp_path / "a.bin", content)
        assert (tmp_path / "a.bin").read_bytes() == content
        assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_write_atomically_leaves_nothing_behind_if_the_target_is_a_folder(tmp_path):
    (tmp_path / "a.bin" / "full").mkdir(parents=True)
    with pytest.raises(OSError, match=r"a\.bin"):
        write_atomically(tmp_path / "a.bin", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]
    assert (tmp_path / "a.bin" / "full").is_dir()


def test_write_atomically_raises_if_the_folder_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "none" / "a.bin", b"content")
    assert not list(tmp_path.iterdir())


def test_write_atomically_keeps_the_old_file_on_a_full_disk(tmp_path, monkeypatch):
    write_atomically(tmp_path / "a.bin", b"before")

    def full(path, content):
        with path.open("wb") as file:
            file.write(content[:3])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(tmp_path / "a.bin", b"afterwards")
    monkeypatch.undo()
    assert (tmp_path / "a.bin").read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_write_atomically_writes_text_as_utf_8(tmp_path):
    write_atomically(tmp_path / "a.txt", "größer\n", durable=True)
    assert (tmp_path / "a.txt").read_bytes() == "größer\n".encode()


def test_write_atomically_accepts_a_file_name_of_254_bytes(tmp_path):
    write_atomically(tmp_path / ("ä" * 127), b"content")
    assert (tmp_path / ("ä" * 127)).read_bytes() == b"content"


@pytest.mark.parametrize("fails", [False, True])
def test_replacing_creates_the_folder_only_after_its_block_succeeds(tmp_path, fails):
    with pytest.raises(KeyError) if fails else nullcontext(), replacing(tmp_path / "folder") as unfinished:
        (unfinished / "in").mkdir(parents=True)
        (unfinished / "in" / "a.bin").write_bytes(b"content")
        assert not (tmp_path / "folder").exists()
        if fails:
            raise KeyError
    assert [path.name for path in tmp_path.iterdir()] == ([] if fails else ["folder"])


@pytest.mark.parametrize("stem", ["x" * 251, "\u3042" * 83, "\U0001f3a4" * 70, "a" + "\u00e9" * 140, "x" * 1000])
def test_fitting_name_keeps_the_ending_whole_and_cuts_between_characters(tmp_path, stem):
    name = fitting_name(stem, ".koguchi.wav")
    assert name.endswith(".koguchi.wav")
    assert stem.startswith(name.partition("~")[0])
    assert 236 <= len(name.encode()) <= 240
    for ending in (".koguchi.take10.wav", ".koguchi.backing.wav"):  # the voice is still told
        later = beside(tmp_path / name, ending.replace(".koguchi", ""))
        assert later.name.endswith(ending)
        later.touch()


def test_fitting_name_leaves_short_names_and_distinguishes_long_ones():
    assert fitting_name("vocal", ".wav") == "vocal.wav"
    assert len({fitting_name("x" * 300 + end, ".wav") for end in "abc"}) == 3


def test_beside_uses_the_whole_length(tmp_path):
    target = beside(tmp_path / f"{'y' * 251}.wav", ".take2.flac")
    assert len(target.name) == 255
    assert target.name.endswith(".take2.flac")


def test_numbered_yields_other_names_of_the_same_file_that_fit(tmp_path):
    names = numbered(tmp_path / f"{'ü' * 125}.wav")
    found = [next(names) for _ in range(12)]
    assert found[0].name == f"{'ü' * 125}.wav"
    assert found[11].name.endswith("-12.wav")
    assert len(set(found)) == 12
    for path in found:
        path.touch()


def test_fitting_name_takes_names_that_are_not_unicode(tmp_path):
    name = "\udce9" * 300  # bytes of another encoding
    (tmp_path / fitting_name(name, ".wav")).touch()


def test_names_that_fit_reports_a_long_name_and_passes_other_errors(tmp_path):
    with pytest.raises(SettingsError, match=r'The name "y{40}…" is too long for the disk'), names_that_fit():
        (tmp_path / ("y" * 300)).exists()
    with pytest.raises(FileNotFoundError), names_that_fit():
        (tmp_path / "none").read_bytes()


def test_replacing_writes_a_file_of_the_longest_name(tmp_path):
    for name in ("x" * 255, "\u3042" * 85, "\U0001f3a4" * 63):
        write_atomically(tmp_path / name, b"x")
        assert (tmp_path / name).read_bytes() == b"x"


def test_named_path_keeps_its_name_and_opens_the_stored_file(tmp_path):
    write_atomically(tmp_path / "input.wav", b"stored")
    path = named(tmp_path / "input.wav", "Ave Maria.wav")
    assert shown_name(as_path(path)) == shown_name(path, "without") == "Ave Maria.wav"
    assert (path.name, path, path.read_bytes()) == ("input.wav", tmp_path / "input.wav", b"stored")


def test_named_path_gives_its_name_to_no_other_path(tmp_path):
    path = named(tmp_path / "input.wav", "Ave Maria.wav")
    for other in (path.parent / "take.wav", path.with_suffix(".mp3"), Path(path), as_path(str(path))):
        assert shown_name(other) == other.name
    assert shown_name(path.parent / "take.wav", "the take") == "the take"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_make_private_folder_closes_what_it_makes_and_leaves_what_is_there(tmp_path, umask):
    (tmp_path / "team").mkdir()
    (tmp_path / "team").chmod(0o2775)
    before = os.umask(umask)
    try:
        for _ in range(2):
            make_private_folder(tmp_path / "team" / "voices" / "mia")
    finally:
        os.umask(before)
    assert (tmp_path / "team").stat().st_mode & 0o7777 == 0o2775
    assert (tmp_path / "team" / "voices").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "team" / "voices" / "mia").stat().st_mode & 0o777 == 0o700


def test_make_private_folder_raises_where_a_file_is_in_the_way(tmp_path):
    (tmp_path / "voices").write_text("a file")
    with pytest.raises(FileExistsError):
        make_private_folder(tmp_path / "voices")
    with pytest.raises(NotADirectoryError):
        make_private_folder(tmp_path / "voices" / "mia")


def test_close_to_others_leaves_links_and_other_files_as_they_are(tmp_path):
    home, outside = tmp_path / "home", tmp_path / "outside"
    for folder in (home, outside):
        folder.mkdir()
        (folder / "key").write_text("key")
        (folder / "key").chmod(0o644)
    (home / "link").symlink_to(outside / "key")
    (home / "keys").symlink_to(outside)
    for path in (home / "key", home / "link", home / "keys" / "key", home / "missing"):
        close_to_others(path, home)
    assert (home / "key").stat().st_mode & 0o777 == 0o600
    assert (outside / "key").stat().st_mode & 0o777 == 0o644
