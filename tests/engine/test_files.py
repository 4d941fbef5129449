from contextlib import nullcontext

import pytest

from engine.files import replacing, write_atomically


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
