from dataclasses import replace

import pytest
from sqlalchemy import update

from studio.actions.analyses import start_analysis
from studio.actions.conversions.conversion import (
    ConversionRequest,
    convert_again,
    convert_recording,
    look_at_recording,
    start_conversion,
)
from studio.actions.machine_and_storage import (
    LIMITS,
    checkup_view,
    clear_remakeable,
    limits_view,
    machine_view,
    start_checkup,
    storage_view,
    work_view,
)
from studio.actions.voices.datasets import create_model
from studio.actions.voices.packages import package_link
from studio.doctor import Finding
from studio.settings.service import ServiceSettings
from studio.store.database import Now
from studio.store.records.codec import plain
from studio.store.tables import tasks
from studio.store.tasks import claim, complete, ids_of


@pytest.fixture
def database_url(sqlite_template, tmp_path):
    """One kind is enough: what is here asks the database nothing of its own."""
    copy = tmp_path / "studio.sqlite"
    copy.write_bytes(sqlite_template.read_bytes())
    return f"sqlite:///{copy}"


def test_work_view_counts_running_and_queued_tasks(studio, recording):
    for _ in range(3):
        start_conversion(studio, studio.local, recording(), "song.wav", ConversionRequest("koguchi", {}))
    claim(studio.database, "worker", ["conversion"], 60)
    assert work_view(studio, studio.local) == {"running": 1, "queued": 2}


def test_limits_view_lists_the_limits_of_the_service(studio):
    limits = {one.name: one for one in limits_view(studio)}
    assert tuple(limits) == LIMITS[1:]  # uploads of this machine have none but the disk
    demo = replace(studio, service=ServiceSettings(demo="on"))
    assert tuple(one.name for one in limits_view(demo)) == LIMITS
    assert limits["models_per_account"].value == 5
    assert limits["longest_audio_minutes"].option == "--longest-audio-minutes"
    assert limits["free_disk_mb"].option is None


def test_machine_view_reports_cores_memory_and_workers(studio):
    machine = machine_view(studio, studio.local)
    assert machine.cores >= 1
    assert machine.memory_bytes > 2**28
    assert (machine.conversion_workers, machine.training_workers) == (studio.service.conversions_at_once, 1)


def test_start_checkup_runs_one_checkup_at_a_time_and_keeps_its_findings(studio, other):
    assert checkup_view(studio, studio.local) is None
    task_id = start_checkup(studio, studio.local)
    assert start_checkup(studio, studio.local) == task_id
    assert checkup_view(studio, studio.local).state == "queued"
    task = claim(studio.database, "worker", ["checkup"], 60)
    findings = [{"subject": "device cpu", "detail": "works", "remedy": "", "works": True}]
    with studio.database.write() as connection:
        complete(connection, task, {"findings": findings})
    assert checkup_view(studio, studio.local).findings == (Finding(**findings[0]),)
    assert checkup_view(studio, other) is None
    assert start_checkup(studio, studio.local) != task_id


def test_storage_view_counts_files_and_bytes_by_area_and_account(studio, other, recording):
    before = storage_view(studio, studio.local)
    assert plain(before.areas["conversions"]) == {"files": 0, "bytes": 0, "complete": True}
    audio = recording()
    size = audio.stat().st_size
    start_conversion(studio, studio.local, audio, "song.wav", ConversionRequest("koguchi", {}))
    view = storage_view(studio, studio.local)
    assert plain(view.areas["conversions"]) == {"files": 1, "bytes": size, "complete": True}
    assert view.place == str(studio.settings.data)
    assert view.free_bytes > 0
    theirs = storage_view(studio, other)
    assert theirs.areas["conversions"].files == 0
    assert theirs.place is None  # where it lies is no business of a guest's


def test_storage_view_shows_no_place_or_areas_without_a_folder(studio, monkeypatch):
    from studio.store.storage import ObjectStorage

    elsewhere = replace(studio, storage=ObjectStorage(studio.storage._store, studio.settings.data))
    view = storage_view(elsewhere, studio.local)
    assert (view.is_folder, view.place, view.areas, view.free_bytes) == (False, None, {}, None)


def bytes_of(studio) -> dict[str, int]:
    return {name: area.bytes for name, area in storage_view(studio, studio.local).areas.items()}


def test_storage_view_counts_a_reused_recording_once(studio, recording):
    """In one session 1.6 GB came together, most of it copies."""
    audio = recording(4.0)
    size = audio.stat().st_size
    looked_at = start_analysis(studio, studio.local, audio, "song.wav")
    first = convert_recording(studio, studio.local, looked_at, ConversionRequest("koguchi", {}))
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


def test_clear_remakeable_keeps_what_the_data_folder_held_before(studio):
    for name in ("packages/wool.zip", "packages/holidays/photos.zip", "packages/koguchi/other.zip"):
        studio.storage.put_bytes(b"ours", name)
    before = sorted(studio.storage.list_keys("packages"))
    package_link(studio, studio.local, "koguchi", "", 0.0)
    clear_remakeable(studio, studio.local)
    assert sorted(studio.storage.list_keys("packages")) == before
