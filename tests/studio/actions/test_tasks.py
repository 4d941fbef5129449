"""What page, service and command line show of every kind of task in every state, of this version and of released ones:
stored before the records were typed, and the same since.

Delete VIEWS to store it anew, after a change that is meant to be seen."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from studio.actions.analyses import analysis_view
from studio.actions.calls import last_call
from studio.actions.conversions import conversion_view
from studio.actions.results import result_view
from studio.actions.tasks import task_view
from studio.store.tasks import STATES
from tests.rows import VERSIONS, in_state, plain, put_row, rows_of

VIEWS = Path(__file__).with_name("views")
NOW_S = 1_790_000_100.0
BASE = "https://studio.example"


def rows_in_all_states(version: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, row) of each row of a version as it is and, of the newest one, in every state."""
    for number, row in enumerate(rows_of(version), 1):
        states = STATES if version == VERSIONS[-1] else (row["state"],)
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
    assert views["task"]["id"] == task_id
    return plain(views)


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
