"""How far tasks are: what their watchers look at, over and over."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select

from studio.store.database import Database
from studio.store.tables import tasks
from studio.store.tasks import ENDED


@dataclass(frozen=True)
class TaskStatus:
    """State, progress (0..1) and message of a task."""

    state: str
    progress: float
    message: str

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED


def statuses_of_tasks(database: Database, task_ids: Collection[str]) -> dict[str, TaskStatus]:
    """Map the ids of those of these tasks that exist to their signs. Raises Unavailable."""
    found = select(tasks.c.id, tasks.c.state, tasks.c.progress, tasks.c.message).where(tasks.c.id.in_(task_ids))
    with database.read() as connection:
        return {task_id: TaskStatus(*signs) for task_id, *signs in connection.execute(found)}
