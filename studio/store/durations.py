"""How long the stages of tasks took, as histograms that all workers of an installation add to."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select

from studio.store.database import Database, insert_into
from studio.store.tables import durations

LONGEST_S = 1e9  # the bucket of all that is longer than the others
UP_TO_S = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0, LONGEST_S)
_LONGEST_NAME = 32


@dataclass(frozen=True)
class Durations:
    """A histogram. buckets: (seconds, how many took no longer); seconds: of all together."""

    buckets: tuple[tuple[float, int], ...]
    seconds: float


def add_durations(database: Database, kind: str, seconds: Mapping[str, float]) -> None:
    """Count how long the stages of a task of this kind took. Raises Unavailable, DiskFull."""
    rows = [
        {"kind": kind, "stage": stage[:_LONGEST_NAME], "up_to_s": _bucket_of(took_s), "number": 1, "seconds": took_s}
        for stage, took_s in sorted(seconds.items())
    ]
    if not rows:
        return
    with database.write() as connection:
        for row in rows:
            added = insert_into(connection, durations).values(row)
            more = {"number": durations.c.number + 1, "seconds": durations.c.seconds + row["seconds"]}
            key = [durations.c.kind, durations.c.stage, durations.c.up_to_s]
            connection.execute(added.on_conflict_do_update(index_elements=key, set_=more))


def durations_by_stage(database: Database) -> dict[tuple[str, str], Durations]:
    """Return the histogram of each (kind, stage)."""
    with database.read() as connection:
        rows = connection.execute(select(durations).order_by(durations.c.kind, durations.c.stage)).all()
    counted: dict[tuple[str, str], dict[float, int]] = {}
    seconds: dict[tuple[str, str], float] = {}
    for row in rows:
        key = (row.kind, row.stage)
        counted.setdefault(key, {})[row.up_to_s] = row.number
        seconds[key] = seconds.get(key, 0.0) + row.seconds
    return {key: Durations(_cumulated(found), seconds[key]) for key, found in counted.items()}


def _bucket_of(seconds: float) -> float:
    return next(up_to_s for up_to_s in UP_TO_S if seconds <= up_to_s)


def _cumulated(counted: Mapping[float, int]) -> tuple[tuple[float, int], ...]:
    return tuple(
        (up_to_s, sum(number for bucket, number in counted.items() if bucket <= up_to_s)) for up_to_s in UP_TO_S
    )
