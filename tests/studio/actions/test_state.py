from dataclasses import replace

import pytest

from studio.actions.conversions import ConversionRequest, start_conversion
from studio.actions.state import (
    LIMITS,
    checkup_view,
    limits_view,
    machine_view,
    start_checkup,
    work_view,
)
from studio.settings.service import ServiceSettings
from studio.store.tasks import claim, complete


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
    limits = {one["name"]: one for one in limits_view(studio)}
    assert tuple(limits) == LIMITS[1:]  # uploads of this machine have none but the disk
    demo = replace(studio, service=ServiceSettings(demo="on"))
    assert tuple(one["name"] for one in limits_view(demo)) == LIMITS
    assert limits["models_per_account"]["value"] == 5
    assert limits["longest_audio_minutes"]["option"] == "--longest-audio-minutes"


def test_machine_view_reports_cores_memory_and_workers(studio):
    machine = machine_view(studio, studio.local)
    assert machine["cores"] >= 1
    assert machine["memory_bytes"] > 2**28
    assert (machine["conversion_workers"], machine["training_workers"]) == (1, 1)


def test_start_checkup_runs_one_checkup_at_a_time_and_keeps_its_findings(studio, other):
    assert checkup_view(studio, studio.local) is None
    task_id = start_checkup(studio, studio.local)
    assert start_checkup(studio, studio.local) == task_id
    assert checkup_view(studio, studio.local)["state"] == "queued"
    task = claim(studio.database, "worker", ["checkup"], 60)
    findings = [{"subject": "device cpu", "detail": "works", "remedy": "", "works": True}]
    with studio.database.write() as connection:
        complete(connection, task, {"findings": findings})
    assert checkup_view(studio, studio.local)["findings"] == findings
    assert checkup_view(studio, other) is None
    assert start_checkup(studio, studio.local) != task_id
