"""Names and stars that users give to the takes of their conversions."""

from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from engine.texts import tr
from studio.errors import NotFound
from studio.store.records.codec import Json, read
from studio.store.tables import tasks
from studio.store.tasks import Task


@dataclass(frozen=True)
class TakeLabel:
    """The name of a take, "" for none, and whether it is starred."""

    name: str = ""
    starred: bool = False


def label_of(task: Task, take: int) -> TakeLabel:
    """Return the label of a take, 1 for the first."""
    return _read((task.take_labels or {}).get(str(take)))


def write_label(connection: Connection, task: Task, take: int, label: TakeLabel) -> None:
    """Replace the label of a take, 1 for the first. Raises NotFound if the task is gone."""
    own = (tasks.c.id == task.id, tasks.c.account_id == task.account_id)
    row = connection.execute(select(tasks.c.take_labels).where(*own).with_for_update()).one_or_none()
    if row is None:
        raise NotFound(tr("There is no such task."), "task_not_found")
    labels: dict[str, Json] = {one: found for one, found in (row.take_labels or {}).items() if one != str(take)}
    if label != TakeLabel():
        labels[str(take)] = {"name": label.name, "starred": label.starred}
    connection.execute(update(tasks).where(*own).values(take_labels=labels))


def _read(found: Json | None) -> TakeLabel:
    return read(TakeLabel, found) if found else TakeLabel()
