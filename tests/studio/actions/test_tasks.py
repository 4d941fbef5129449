import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from sqlalchemy import select, update

from studio.actions.analysis_views import analysis_view
from studio.actions.calls import last_call
from studio.actions.conversions.conversion import ConversionRequest, conversion_view, start_conversion
from studio.actions.conversions.takes import result_view
from studio.actions.tasks import ends_in_s, task_view, with_true_wait
from studio.errors import TooMany
from studio.store.database import Now
from studio.store.records.codec import plain
from studio.store.tables import tasks
from studio.store.tasks import State, claim, renew
from tests.rows import VERSIONS, in_state, put_row, rows_of

VIEWS = Path(__file__).with_name("views")
NOW_S = 1_790_000_100.0
BASE = "https://studio.example"
FULL = TooMany("full", 10.0, "queue_full")


def rows_in_all_states(version: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, row) of each row of a version as it is and, of the newest one, in every state."""
    for number, row in enumerate(rows_of(version), 1):
        states = get_args(State) if version == VERSIONS[-1] else (row["state"],)
        for state in states:
            if state != "completed" or row["state"] == "completed":
                yield f"{number} {row['kind']} {state}", row if state == row["state"] else in_state(row, state)
        if row["kind"] == "conversion" and row["state"] == "completed":
            yield f"{number} {row['kind']} deleted", {**row, "outputs_deleted_at": NOW_S}


def views_of(studio, row: dict[str, Any]) -> dict[str, Any]:
    """All that is shown of a task."""
    task_id, given = put_row(studio, row), (studio, studio.local, row["id"], BASE, NOW_S)
    views = {"task": task_view(*given), "call": last_call(studio, studio.local)}
    if row["kind"] == "conversion":
        views |= {"result": result_view(*given)}
        if "deleted" not in row and row.get("outputs_deleted_at") is None:
            views |= {"published": conversion_view(*given)}
    if row["kind"] == "analysis":
        views |= {"analysis": analysis_view(*given)}
    assert views["task"].id == task_id
    return json.loads(json.dumps(plain(views)))


@pytest.mark.parametrize("version", VERSIONS)
def test_views_of_tasks_of_every_version_are_as_they_were(studio, version):
    studio = replace(studio, link_secret=b"\0" * 32)
    found = {name: views_of(studio, row) for name, row in rows_in_all_states(version)}
    stored = VIEWS / f"{version}.json"
    if not stored.exists():
        lines = (f"{json.dumps(name)}: {json.dumps(views)}" for name, views in found.items())
        stored.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        pytest.fail(f"{stored.name} has been written: read it, then run this again.")
    expected = json.loads(stored.read_text(encoding="utf-8"))
    assert list(found) == list(expected)
    for name, views in found.items():
        assert views == expected[name], name


def start(studio, recording, account=None) -> str:
    return start_conversion(
        studio, account or studio.local, recording(), "vocal.wav", ConversionRequest("kathleen", {})
    )


def change(studio, task_id, **values) -> None:
    with studio.database.write() as connection:
        connection.execute(update(tasks).where(tasks.c.id == task_id).values(**values))


def moment(studio) -> float:
    with studio.database.read() as connection:
        return connection.scalar(select(Now()))


def running(studio, task_id, spent_s, progress, now_s) -> None:
    task = claim(studio.database, "worker", ["conversion"], 3600)
    assert task.id == task_id
    renew(studio.database, task, 3600, progress)
    change(studio, task_id, started_at=now_s - spent_s)


def test_ends_in_s_follows_the_progress_of_a_running_task(studio, recording):
    task_id, now_s = start(studio, recording), moment(studio)
    running(studio, task_id, 30.0, 0.25, now_s)
    assert ends_in_s(studio, studio.local, task_id, now_s) == pytest.approx(90.0)


def test_ends_in_s_of_a_queued_task_counts_those_before_it_by_what_is_usual(studio, recording, converted):
    now_s = moment(studio)
    change(studio, converted, started_at=now_s - 40.0, finished_at=now_s)  # 40 s are usual
    ids = [start(studio, recording) for _ in range(3)]
    assert [ends_in_s(studio, studio.local, one, now_s) for one in ids] == pytest.approx([40.0, 80.0, 120.0])
    assert ends_in_s(studio, studio.local, converted, now_s) is None


def test_ends_in_s_is_unknown_without_any_experience(studio, recording):
    assert ends_in_s(studio, studio.local, start(studio, recording), moment(studio)) is None


def test_with_true_wait_is_that_of_the_accounts_next_end_or_as_it_was(studio, recording, other):
    now_s = moment(studio)
    assert with_true_wait(studio, studio.local, "conversion", FULL, now_s) is FULL
    task_id = start(studio, recording)
    assert with_true_wait(studio, studio.local, "conversion", FULL, now_s) is FULL
    running(studio, task_id, 30.0, 0.25, now_s)
    start(studio, recording)
    assert with_true_wait(studio, studio.local, "conversion", FULL, now_s).retry_after_s == pytest.approx(90.0)
    assert with_true_wait(studio, other, "conversion", FULL, now_s).retry_after_s == pytest.approx(90.0)
    change(studio, task_id, started_at=now_s - 1e9)
    refused = with_true_wait(studio, studio.local, "conversion", FULL, now_s)
    assert (refused.retry_after_s, refused.code, str(refused)) == (3600.0, "queue_full", "full")
