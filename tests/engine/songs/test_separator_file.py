from dataclasses import replace
from hashlib import sha256

import pytest

from engine.errors import SeparationError, WrongFileError
from engine.songs.separator_file import (
    HTDEMUCS_FT_VOCALS,
    PINNED,
    accept_separator,
    checked_separator,
    stored_separator,
)

CONTENT = b"weights" * 1000
FILE = replace(HTDEMUCS_FT_VOCALS, size=len(CONTENT), sha256=sha256(CONTENT).hexdigest())


def test_accept_separator_accepts_a_file_by_checksum_under_any_name(tmp_path):
    (tmp_path / "from a friend.bin").write_bytes(CONTENT)
    stored = accept_separator(tmp_path / "from a friend.bin", tmp_path / "data", FILE)
    assert stored == checked_separator(tmp_path / "data", FILE)
    assert stored.read_bytes() == CONTENT


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT[:-1] + b"S", b""])
def test_accept_separator_refuses_another_checksum_and_stores_nothing(tmp_path, content):
    (tmp_path / FILE.file_name).write_bytes(content)
    with pytest.raises(WrongFileError, match="its checksum differs"):
        accept_separator(tmp_path / FILE.file_name, tmp_path / "data", FILE)
    assert not (tmp_path / "data").exists()


def test_checked_separator_refuses_a_changed_file(tmp_path):
    (tmp_path / FILE.file_name).write_bytes(CONTENT[:-1] + b"S")
    assert stored_separator(tmp_path, FILE)
    with pytest.raises(WrongFileError, match="not used"):
        checked_separator(tmp_path, FILE)


def test_checked_separator_names_the_fetch_command_if_no_file_is_stored(tmp_path):
    with pytest.raises(SeparationError, match=r"separation fetch where the studio runs \(166 MB\)"):
        checked_separator(tmp_path)


def test_pinned_files_state_revision_and_checksum():
    for one in PINNED:
        assert "/resolve/main/" not in one.url  # a branch may change
        assert one.url.startswith("https://")
        assert one.url.endswith(one.file_name)
        assert len(bytes.fromhex(one.sha256)) == 32
