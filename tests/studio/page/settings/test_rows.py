from dataclasses import replace

import pytest

from engine.texts import Text
from studio.actions.machine_and_storage import Area, CheckupView, LimitView, MachineView, StorageView
from studio.doctor import Finding
from studio.languages.translation import translator
from studio.page.settings.rows import finding_rows, limit_rows, machine_rows, size, storage_rows
from studio.store.records.codec import plain

FINDINGS = [
    Finding(**{"subject": "device cuda", "detail": "There is no cuda device here.", "remedy": "", "works": True}),
    Finding(**{"subject": "device cpu", "detail": "works: a processor, float32", "remedy": "", "works": True}),
    Finding(**{"subject": "librosa", "detail": "0.11", "remedy": "", "works": True}),
    Finding(**{"subject": "free disk in this folder", "detail": "1.0 GB", "remedy": "make room", "works": True}),
    Finding(**{"subject": "soxr", "detail": "cannot be loaded", "remedy": "install it", "works": False}),
]
CHECKUP = CheckupView(state="completed", message="", error=None, finished_at=0.0, findings=FINDINGS)


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (25e9, "25 GB"), (5e15, "5000 TB")]
)
def test_size_formats_bytes_in_readable_units(count, said):
    assert size(count) == said


def test_finding_rows_show_the_machine_and_every_fault():
    rows = finding_rows(CHECKUP)
    assert [(row.label, row.state) for row in rows] == [
        ("device cuda", None),
        ("device cpu", "good"),
        ("free disk in this folder", "warn"),
        ("soxr", "bad"),
    ]
    assert finding_rows(None) == []
    assert finding_rows(replace(CHECKUP, state="running", message="conversion"))[0].value == "conversion"
    failed = finding_rows(replace(CHECKUP, state="failed", error="The worker was lost."))
    assert (failed[0].value, failed[0].state) == ("The worker was lost.", "bad")


def test_storage_rows_show_storage_outside_a_folder_as_external():
    [row] = storage_rows(StorageView(place=None, is_folder=False, free_bytes=None, areas={}))
    assert "external" in row.value


def test_storage_rows_show_an_incomplete_count_as_more_than():
    area = Area(files=50_001, bytes=2e9, complete=False)
    rows = storage_rows(StorageView(place=None, is_folder=True, free_bytes=7e9, areas={"conversions": area}))
    assert [row.value for row in rows] == ["more than 2.0 GB in 50001 files", "7.0 GB"]


def test_limit_rows_show_zero_days_as_until_deleted():
    rows = limit_rows([LimitView(name="keep_outputs_days", value=0.0, option="--keep-outputs-days")])
    note = {"note": "serve --keep-outputs-days", "is_command": True}
    assert plain(rows) == [{"label": "Conversions kept for", "value": "until deleted", **note}]


def test_rows_can_be_said_in_other_languages():
    [row] = limit_rows([LimitView(name="link_hours", value=24.0, option="")])
    assert (row.value, row.value.template, row.value.plural) == ("24 hours", "{value} hour", "{value} hours")
    area = Area(files=1, bytes=2.5e9, complete=True)
    rows = storage_rows(StorageView(place=None, is_folder=True, free_bytes=7, areas={"analyses": area}))
    german = translator("de").say_all(plain(rows))
    assert "2,5 GB" in german[0]["value"]
    assert isinstance(rows[0].note, Text)


def test_machine_rows_show_none_here_without_local_workers():
    machine = MachineView(version="1", system="s", cores=2, memory_bytes=None, conversion_workers=0, training_workers=0)
    rows = {row.label: row.value for row in machine_rows(machine, {"running": 1, "queued": 2})}
    assert rows["Workers"].startswith("none here")
    assert rows["Your tasks"] == "1 running, 2 waiting"
