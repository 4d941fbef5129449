"""What takes room on the disk, and what of it can be made again."""

from dataclasses import replace

import pytest
from sqlalchemy import update

from studio.actions.analyses import start_analysis
from studio.actions.conversions import ConversionRequest, start_conversion
from studio.actions.creations import create_model
from studio.actions.disk_use import clear_remakeable, storage_view
from studio.actions.packages import package_link
from studio.actions.repeats import convert_again, convert_recording, look_at_recording
from studio.store.database import Now
from studio.store.tables import tasks
from studio.store.tasks import ids_of


@pytest.fixture
def database_url(sqlite_template, tmp_path):
    """One kind is enough: what is here asks the database nothing of its own."""
    copy = tmp_path / "studio.sqlite"
    copy.write_bytes(sqlite_template.read_bytes())
    return f"sqlite:///{copy}"


def test_storage_view_counts_files_and_bytes_by_area_and_account(studio, other, recording):
    before = storage_view(studio, studio.local)
    assert before["areas"]["conversions"] == {"files": 0, "bytes": 0, "complete": True}
    audio = recording()
    size = audio.stat().st_size
    start_conversion(studio, studio.local, audio, "song.wav", ConversionRequest("koguchi", {}))
    view = storage_view(studio, studio.local)
    assert view["areas"]["conversions"] == {"files": 1, "bytes": size, "complete": True}
    assert view["place"] == str(studio.settings.data)
    assert view["free_bytes"] > 0
    theirs = storage_view(studio, other)
    assert theirs["areas"]["conversions"]["files"] == 0
    assert theirs["place"] is None  # where it lies is no business of a guest's


def test_storage_view_shows_no_place_or_areas_without_a_folder(studio, monkeypatch):
    from studio.store.storage import Storage

    elsewhere = replace(studio, storage=Storage(studio.storage._store, studio.settings.data))
    view = storage_view(elsewhere, studio.local)
    assert (view["is_folder"], view["place"], view["areas"], view["free_bytes"]) == (False, None, {}, None)


def bytes_of(studio) -> dict[str, int]:
    return {name: area["bytes"] for name, area in storage_view(studio, studio.local)["areas"].items()}


def test_storage_view_counts_a_reused_recording_once(studio, recording):
    """In one session 1.6 GB came together, most of it copies."""
    audio = recording(4.0)
    size = audio.stat().st_size
    looked_at = start_analysis(studio, studio.local, audio, "song.wav")
    first = convert_recording(studio, studio.local, looked_at, model="koguchi", settings={})
    convert_again(studio, studio.local, first, "kathleen")
    look_at_recording(studio, studio.local, first)
    root = studio.storage.folder("tasks")
    inodes = {path.stat().st_ino: path.stat().st_size for path in root.rglob("input*")}
    assert (len(list(root.rglob("input*"))), sum(inodes.values())) == (4, size)
    found = bytes_of(studio)
    assert (found["conversions"], found["analyses"]) == (size, 0)  # counted where it must stay


def test_clear_remakeable_deletes_only_old_analyses_packages_and_prepared_clips(studio, package, recording):
    old = start_analysis(studio, studio.local, recording(2.0), "old.wav")
    with studio.database.write() as connection:
        connection.execute(update(tasks).where(tasks.c.id == old).values(created_at=Now() - 3600))
    now = start_analysis(studio, studio.local, recording(1.0), "now.wav")  # may be on a page
    start_conversion(studio, studio.local, recording(3.0), "song.wav", ConversionRequest("koguchi", {}))
    package_link(studio, studio.local, "koguchi", "", 0.0)
    model = create_model(studio, studio.local, package())
    with studio.database.write() as connection:  # its recordings have been examined
        connection.execute(update(tasks).where(tasks.c.kind == "report").values(state="completed"))
    prepared = studio.storage.folder(f"datasets/{model}/clips")
    prepared.mkdir()
    (prepared / "one.npz").write_bytes(b"features")
    before = bytes_of(studio)
    assert min(before[name] for name in ("analyses", "packages", "prepared", "recordings", "conversions")) > 0
    clear_remakeable(studio, studio.local)
    after = bytes_of(studio)
    assert (after["packages"], after["prepared"]) == (0, 0)
    assert 0 < after["analyses"] < before["analyses"]
    assert ids_of(studio.database, studio.local.id, "analysis") == {now}
    assert all(after[name] == before[name] for name in ("voices", "recordings", "conversions"))
