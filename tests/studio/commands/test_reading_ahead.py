"""The list of files that a conversion loads, and asking for them."""

import os
from pathlib import Path

import pytest

from studio.commands import reading_ahead
from studio.commands.reading_ahead import ask_for, keep_what_was_loaded, read_ahead

pytestmark = pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the system cannot be asked")


@pytest.fixture
def kept(tmp_path, monkeypatch) -> Path:
    """The place of a list that is not there yet."""
    monkeypatch.setattr(reading_ahead, "_LIST", tmp_path / "list.txt")
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    return tmp_path / "list.txt"


def test_files_that_are_there_are_asked_for_up_to_a_size(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("os.posix_fadvise", lambda file, *_: asked.append(os.fstat(file).st_size))
    monkeypatch.setattr(reading_ahead, "_LARGEST", 3)
    for size in range(5):
        (tmp_path / str(size)).write_bytes(bytes(size))
    os.mkfifo(tmp_path / "pipe")  # opening it would wait
    ask_for([str(tmp_path / name) for name in ("0", "1", "missing", "pipe", "4", "3")])
    assert asked == [0, 1, 0, 3]


def test_what_was_loaded_is_kept_once_with_modules_in_order_and_libraries(kept):
    keep_what_was_loaded()
    files = kept.read_text(encoding="utf-8").splitlines()
    assert files.index(os.__file__) < files.index(pytest.__cached__)
    assert any(".so" in name for name in files)
    assert len(files) == len(set(files))
    before = kept.stat()
    keep_what_was_loaded()
    assert kept.stat().st_mtime_ns == before.st_mtime_ns
    kept.write_bytes(b"\xff of another run\n")
    keep_what_was_loaded()
    assert kept.read_text(encoding="utf-8").splitlines() == files
    assert [path.name for path in kept.parent.iterdir()] == ["list.txt"]


@pytest.mark.parametrize("is_unwanted", [False, True], ids=["cannot", "is not to"])
def test_a_list_that_cannot_or_is_not_to_be_written_is_done_without(tmp_path, monkeypatch, is_unwanted):
    monkeypatch.setattr(reading_ahead, "_LIST", tmp_path / ("" if is_unwanted else "no folder") / "list.txt")
    monkeypatch.setattr("sys.dont_write_bytecode", is_unwanted)
    keep_what_was_loaded()
    assert list(tmp_path.iterdir()) == []


def test_reading_ahead_ends_by_itself_and_says_nothing_without_a_list(kept, monkeypatch, capfd):
    children, fork = [], os.fork
    monkeypatch.setattr("os.fork", lambda: children.append(fork()) or children[-1])
    for text in (None, f"{__file__}\n/nowhere\n"):
        if text is not None:
            kept.write_text(text, encoding="utf-8")
        read_ahead()
        assert os.waitpid(children[-1], 0) == (children[-1], 0)
    assert capfd.readouterr() == ("", "")
