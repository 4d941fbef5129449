"""Recovery of tasks whose worker is dead or silent, and removal of abandoned folders."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Connection, case, func, select

from studio.executors.worker_ids import dead_among
from studio.store import tasks
from studio.store.catalogue import training_failed, training_stopped
from studio.store.database import Database, Now
from studio.store.kinds import TRAINING
from studio.store.tables import tasks as rows

WORK_FOLDER = re.compile(r"([0-9a-f]{24})-(\d+)")  # task and fence


def end_training(connection: Connection, task: tasks.Task) -> None:
    """Update the voice of a task that ended without success."""
    if task.kind != TRAINING or task.model_id is None:
        return
    if task.state == "failed":
        training_failed(connection, task.account_id, task.model_id, task.error or "")
    elif task.state == "cancelled":
        training_stopped(connection, task.account_id, task.model_id)


def recover(database: Database, attempts: int, dead_owners: Sequence[str] = ()) -> list[tasks.Task]:
    """Requeue the tasks of lost workers, as `tasks.recover`; a training that ends updates its voice."""
    return tasks.recover(database, attempts, dead_owners, also=end_training)


def dead_owners(database: Database) -> list[str]:
    """Return owners of running tasks that are known to be dead, for instance after a crash."""
    running = select(rows.c.owner).where(rows.c.state == "running", rows.c.owner.is_not(None)).distinct()
    with database.read() as connection:
        return dead_among(connection.scalars(running))


def waiting(database: Database, queues: Sequence[str], most: int = 1000) -> int:
    """Count the tasks of these queues that could start now, up to `most`."""
    ready = select(rows.c.id).where(rows.c.state == "queued", rows.c.queue.in_(queues), rows.c.not_before <= Now())
    with database.read() as connection:
        return connection.scalar(select(func.count()).select_from(ready.limit(most).subquery())) or 0


def signs_of(database: Database, owners: Sequence[str]) -> list[tuple[str, str, bool, bool]]:
    """Return (owner, task, whether it is being cancelled, whether its lease expired) for tasks of these owners."""
    over = case((rows.c.lease_until < Now(), 1), else_=0)
    held = select(rows.c.owner, rows.c.id, rows.c.cancel_requested, over).where(
        rows.c.state == "running", rows.c.owner.in_(owners)
    )
    with database.read() as connection:
        return [(owner, task, bool(unwanted), bool(late)) for owner, task, unwanted, late in connection.execute(held)]


def remove_abandoned(database: Database, work: Path) -> int:
    """Remove work folders of tasks not running under that fence; return how many."""
    found = [path for path in work.iterdir() if WORK_FOLDER.fullmatch(path.name)] if work.is_dir() else []
    if not found:
        return 0
    with database.read() as connection:
        running = {
            f"{task}-{fence}"
            for task, fence in connection.execute(select(rows.c.id, rows.c.fence).where(rows.c.state == "running"))
        }
    abandoned = [path for path in found if path.name not in running]
    for path in abandoned:
        shutil.rmtree(path, ignore_errors=True)
    return len(abandoned)
