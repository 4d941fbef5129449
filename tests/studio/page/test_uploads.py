from pathlib import Path

import pytest

from studio.errors import NotFound
from studio.page.uploads import UploadNames


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "page" / "0a1b" / "a song #1.wav"
    path.parent.mkdir(parents=True)
    path.touch()
    return path


def test_upload_names_resolve_only_for_their_own_visitor(tmp_path, file):
    names = UploadNames(tmp_path / "page")
    name = names.name_of(str(file), "anna")
    assert name.endswith("/0a1b/a song #1.wav")
    assert str(tmp_path) not in name
    assert names.path_of(name, "anna") == file
    for visitor in ("bert", ""):
        with pytest.raises(NotFound, match="was not uploaded here"):
            names.path_of(name, visitor)
    with pytest.raises(NotFound):
        UploadNames(tmp_path / "page").path_of(name, "anna")  # after a restart


@pytest.mark.parametrize("change", ["/../x", "/..", "x", "\0", "\ud800"])
def test_upload_names_refuse_a_changed_name(tmp_path, file, change):
    names = UploadNames(tmp_path / "page")
    for name in (names.name_of(str(file), "") + change, change + names.name_of(str(file), ""), change, str(file), ""):
        with pytest.raises(NotFound):
            names.path_of(name, "")
