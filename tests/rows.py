"""Rows of the queue as released versions wrote them: made by running those versions, then migrated."""

import json
from pathlib import Path
from typing import Any

from sqlalchemy import delete, insert

from studio.store.accounts import Account
from studio.store.studio import Studio
from studio.store.tables import tasks

PLACE = Path(__file__).with_name("rows")
VERSIONS = tuple(sorted((path.stem for path in PLACE.glob("*.json")), key=lambda one: int(one.partition(".")[2])))
_WAITING = {"result": None, "error": None, "error_code": None, "started_at": None, "finished_at": None}
_STATES: dict[str, dict[str, Any]] = {
    "queued": {**_WAITING, "progress": 0.0, "attempt": 0, "owner": None},
    "running": {**_WAITING, "progress": 0.4, "started_at": 1_790_000_010.0, "message": "Converting"},
    "failed": {**_WAITING, "finished_at": 1_790_000_020.0, "error": "It failed.", "error_code": "audio_error"},
    "cancelled": {**_WAITING, "finished_at": 1_790_000_020.0, "cancel_requested": 1},
    "completed": {"progress": 1.0},
}


def rows_of(version: str) -> list[dict[str, Any]]:
    """The rows that a version wrote, as columns."""
    rows: list[dict[str, Any]] = json.loads((PLACE / f"{version}.json").read_text(encoding="utf-8"))
    return rows


def in_state(row: dict[str, Any], state: str) -> dict[str, Any]:
    """A row as it would be in another state; what is completed has its result."""
    return {**row, **_STATES[state], "state": state}


def put_row(studio: Studio, row: dict[str, Any], account: Account | None = None) -> str:
    """Make a row the only task of an account, the local one by default; returns its id."""
    account = account or studio.local
    with studio.database.write() as connection:
        connection.execute(delete(tasks).where((tasks.c.account_id == account.id) | (tasks.c.id == row["id"])))
        connection.execute(insert(tasks).values(**row, account_id=account.id))
    return str(row["id"])
