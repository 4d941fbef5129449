"""Projects: a recording with everything made of it. A project exists as long as one of its conversions does; what the
user has said about it is a row of its own."""

from dataclasses import asdict, dataclass

from sqlalchemy import ColumnElement, Connection, and_, delete, func, select
from sqlalchemy import tuple_ as row_of

from engine.analysis.timeline import Timeline
from engine.settings import from_values
from engine.spelling import folded
from engine.texts import tr
from studio.errors import Invalid, NotFound
from studio.store.database import Database, insert_into
from studio.store.kinds import CONVERSION
from studio.store.paging import cursor_after, sort_values
from studio.store.records.conversion import Conversion
from studio.store.tables import projects, tasks
from studio.store.task_filter import TaskFilter
from studio.store.tasks import MOST_LISTED, Task, list_tasks

LONGEST_NAME = 200
_LEAST_OF_ID = 6  # characters that name a project, if no other begins with them


@dataclass(frozen=True)
class Project:
    """A project as its rows were when read. conversions: the newest first, at most MOST_LISTED."""

    id: str
    name: str | None  # None: not named
    timeline: Timeline
    conversions: list[Task]

    @property
    def file_name(self) -> str:
        """Return the name of its recording's file: the first one's, for edits and stretches follow it."""
        return self.conversions[-1].asked_as(Conversion).file_name or "recording"

    @property
    def shown_name(self) -> str:
        """Return the name that the user gave it, else the recording's without its suffix."""
        return self.name or self.file_name.rpartition(".")[0] or self.file_name


def list_projects(
    database: Database, account_id: str, wanted: TaskFilter, limit: int = 20, cursor: str | None = None
) -> tuple[list[str], str | None]:
    """Return ids of projects with a conversion that is wanted, the last changed first, and the next page's cursor."""
    changed = func.max(tasks.c.created_at)
    own = and_(tasks.c.account_id == account_id, tasks.c.kind == CONVERSION, tasks.c.recording.is_not(None))
    found = select(tasks.c.recording, changed).where(own, wanted.condition()).group_by(tasks.c.recording)
    if cursor is not None:
        found = found.having(row_of(changed, tasks.c.recording) < row_of(*sort_values(cursor, float, str)))
    found = found.order_by(changed.desc(), tasks.c.recording.desc()).limit(limit + 1)
    with database.read() as connection:
        rows = connection.execute(found).all()
    following = cursor_after(rows[limit - 1][1], rows[limit - 1][0]) if len(rows) > limit else None
    return [row[0] for row in rows[:limit]], following


def find_project(database: Database, account_id: str, project_id: str) -> Project:
    """Return a project by its id, or by how its id begins. Raises NotFound, and Invalid if several begin so."""
    full = _full_id(database, account_id, project_id)
    wanted = TaskFilter(kind=CONVERSION, recording=full)
    conversions, _ = list_tasks(database, account_id, wanted=wanted, limit=MOST_LISTED)
    with database.read() as connection:
        row = connection.execute(
            select(projects.c.name, projects.c.timeline).where(_own(account_id), projects.c.id == full)
        ).one_or_none()
    timeline = from_values(Timeline, row.timeline if row else {})
    return Project(full, row.name if row else None, timeline, conversions)


def save_project(connection: Connection, account_id: str, project_id: str, name: str, timeline: Timeline) -> None:
    """Store what the user says about a project; name: "" for the recording's."""
    values = {"name": name, "texts": folded(name), "timeline": asdict(timeline)}
    added = insert_into(connection, projects).values(account_id=account_id, id=project_id, **values)
    connection.execute(added.on_conflict_do_update(index_elements=["account_id", "id"], set_=values))


def forget_empty(connection: Connection, account_id: str) -> None:
    """Delete what was said about projects whose last conversion is gone."""
    used = select(tasks.c.recording).where(tasks.c.account_id == account_id, tasks.c.recording == projects.c.id)
    connection.execute(delete(projects).where(_own(account_id), ~used.exists()))


def _own(account_id: str) -> ColumnElement[bool]:
    return projects.c.account_id == account_id


def _full_id(database: Database, account_id: str, project_id: str) -> str:
    own = and_(tasks.c.account_id == account_id, tasks.c.kind == CONVERSION)
    begins = tasks.c.recording.startswith(project_id.lower(), autoescape=True)
    found = select(tasks.c.recording).where(own, begins).distinct().limit(2)
    is_id = project_id.isascii() and project_id.isalnum() and len(project_id) >= _LEAST_OF_ID
    with database.read() as connection:
        ids = list(connection.scalars(found)) if is_id else []
    if not ids:
        raise NotFound(tr("There is no such project."), "project_not_found")
    if len(ids) > 1:
        raise Invalid(
            [
                (
                    "project",
                    tr("Several projects begin with '{project_id}': write more of the id.", project_id=project_id),
                )
            ]
        )
    return str(ids[0])
