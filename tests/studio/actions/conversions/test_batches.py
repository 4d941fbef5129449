"""Several recordings at once."""

import zipfile

import pytest

from studio.actions.conversions.batches import MOST_FILES, batch_view, batch_zip, cancel_batch, start_batch
from studio.errors import Invalid, NotFound
from studio.store.tasks import claim, complete

NOW_S = 1_800_000_000.0


@pytest.fixture
def start(studio, recording, tmp_path):
    """Starts a batch of two recordings and a text."""

    def begin(account=None):
        (tmp_path / "text.wav").write_text("no sound")
        files = [(recording(1.0, "a.wav"), "vocal.wav"), (tmp_path / "text.wav", "text.wav")]
        files.append((recording(1.0, "b.wav"), "Vocal.wav"))
        return start_batch(studio, account or studio.local, files, model="kathleen", settings={"takes": 2})

    return begin


def states(studio, rows):
    return [row["state"] for row in batch_view(studio, studio.local, rows)]


def test_start_batch_converts_the_other_files_if_one_is_unreadable(studio, start):
    rows = start()
    assert states(studio, rows) == ["queued", "failed", "queued"]
    assert "text.wav" in rows[1]["error"]
    assert batch_view(studio, studio.local, rows)[1]["error"] == rows[1]["error"]
    assert [row["file_name"] for row in rows] == ["vocal.wav", "text.wav", "Vocal.wav"]


def test_batch_zip_contains_all_results_under_unique_names(studio, start, complete_task, tmp_path):
    rows = start()
    complete_task(claim(studio.database, "worker", ["conversion"], 60))
    complete_task(claim(studio.database, "worker", ["conversion"], 60))
    assert states(studio, rows) == ["completed", "failed", "completed"]
    offered = batch_zip(studio, studio.local, rows, "flac", "", NOW_S)
    assert offered["name"] == "Kathleen - 2 recordings.zip"
    key = offered["url"].removeprefix("/files/").partition("?")[0]
    with zipfile.ZipFile(studio.storage.fetch(key, tmp_path)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [
            "vocal - Kathleen 1.flac",
            "vocal - Kathleen 2.flac",
            "Vocal - Kathleen 1 (2).flac",
            "Vocal - Kathleen 2 (2).flac",
        ]
    assert batch_zip(studio, studio.local, rows, "flac", "", NOW_S) == offered


def test_batch_view_tells_what_is_wrong_with_a_recording(studio, start):
    rows = start()
    claimed = claim(studio.database, "worker", ["conversion"], 60)
    with studio.database.write() as connection:
        complete(connection, claimed, {"warning": "It is noise."})
    assert [row["warning"] for row in batch_view(studio, studio.local, rows)] == ["It is noise.", None, None]


def test_batch_zip_refuses_a_batch_without_results(studio, start):
    with pytest.raises(NotFound, match="None of these"):
        batch_zip(studio, studio.local, start(), "wav", "", NOW_S)


def test_cancel_batch_cancels_only_unfinished_conversions(studio, start, complete_task):
    rows = start()
    complete_task(claim(studio.database, "worker", ["conversion"], 60))
    cancel_batch(studio, studio.local, rows)
    assert states(studio, rows) == ["completed", "failed", "cancelled"]


def test_batch_view_shows_an_error_for_rows_of_another_account(studio, other, start):
    rows = start()
    assert [row["error"] is not None for row in batch_view(studio, other, rows)] == [True, True, True]


@pytest.mark.parametrize("count", [0, MOST_FILES + 1])
def test_start_batch_refuses_none_and_too_many_files(studio, tmp_path, count):
    with pytest.raises(Invalid, match="1 to 100"):
        start_batch(studio, studio.local, [(tmp_path / "x", "x.wav")] * count, model="kathleen", settings={})
