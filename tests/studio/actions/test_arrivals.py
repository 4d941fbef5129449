"""Files that come in through the page."""

from dataclasses import replace

import pytest

from studio.actions.arrivals import take_upload
from studio.actions.drafts import add_recordings
from studio.errors import DiskFull, Invalid
from studio.settings.service import MEGABYTE, ServiceSettings

NOW_S = 1_800_000_000.0


def large(folder, megabytes: float):
    path = folder / "my vocal.wav"
    with path.open("wb") as file:
        file.truncate(int(megabytes * MEGABYTE))
    return path


def test_take_upload_copies_the_file_and_keeps_the_original(studio, tmp_path):
    upload = large(tmp_path, 0.1)
    copy = take_upload(studio, upload, tmp_path / "copy")
    assert copy.stat().st_size == upload.stat().st_size


@pytest.fixture
def hosted(studio):
    """The studio as one that other machines can reach."""
    return replace(studio, service=ServiceSettings(host="0.0.0.0"))


def test_take_upload_limits_by_disk_space_locally_and_by_size_in_a_demo(studio, tmp_path):
    upload = large(tmp_path, 250)  # 12 minutes of stereo at 24 bit and 48 kHz have 207
    assert take_upload(studio, upload, tmp_path / "copy").stat().st_size == upload.stat().st_size
    full = replace(studio, service=ServiceSettings(free_disk_mb=10_000_000))
    with pytest.raises(DiskFull):
        take_upload(full, upload, tmp_path / "another")
    demo = replace(studio, service=ServiceSettings(demo="on", largest_upload_mb=25))
    with pytest.raises(Invalid, match="limit for one upload is 25 MB") as refused:
        take_upload(demo, upload, tmp_path / "another")
    assert "--largest-upload-mb" not in str(refused.value)  # which no visitor can set


def test_take_upload_refuses_a_large_file_and_names_its_size_and_the_limit(hosted, tmp_path):
    studio = hosted
    with pytest.raises(Invalid, match=r'"my vocal\.wav" has 101 MB; the limit for one upload is 100 MB.*upload-mb'):
        take_upload(studio, large(tmp_path, 100.2), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    assert take_upload(studio, large(tmp_path, 100), tmp_path / "copy").exists()


def test_take_upload_refuses_a_deleted_file(studio, tmp_path):
    with pytest.raises(Invalid, match=r'"gone\.wav" has been deleted: add it again'):
        take_upload(studio, tmp_path / "gone.wav", tmp_path / "copy")


def test_add_recordings_leaves_out_only_files_over_the_upload_limit(hosted, recording, tmp_path):
    came = add_recordings(hosted, hosted.local, None, [large(tmp_path, 120), recording(2.0)], NOW_S)
    assert came.added == 1
    [told] = came.refused
    assert "limit for one upload is 100 MB" in told
