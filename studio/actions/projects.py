"""Projects: recordings with their conversions as one thing."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from engine.analysis.timeline import Timeline
from engine.errors import SettingsError
from engine.settings import from_values
from engine.spelling import composed
from engine.texts import ntr, tr
from studio.actions.account import voice_names
from studio.actions.tasks import TaskView, delete_tasks, task_views_of
from studio.errors import Invalid, WrongState
from studio.store.accounts import Account
from studio.store.projects import LONGEST_NAME, find_project, list_projects, save_project
from studio.store.records.codec import Record
from studio.store.studio import Cost, Studio, costs
from studio.store.task_filter import TaskFilter

PAGE = 20  # projects


@dataclass(frozen=True, kw_only=True)
class ProjectView(Record):
    """A project. timeline: as `Timeline` has it; created_at, changed_at: in seconds since 1970; conversions: the newest
    first."""

    id: str
    name: str
    file_name: str
    timeline: Mapping[str, float]
    voices: list[str]
    created_at: float
    changed_at: float
    conversions: list[TaskView]


@dataclass(frozen=True, kw_only=True)
class ProjectPage(Record):
    """Projects, the last changed first, and the next page's cursor."""

    projects: list[ProjectView]
    next_cursor: str | None


def projects_view(
    studio: Studio,
    account: Account,
    base_url: str,
    now_s: float,
    *,
    wanted: TaskFilter | None = None,
    cursor: str | None = None,
    limit: int = PAGE,
) -> ProjectPage:
    """Return the projects that have a wanted conversion, the last changed first, and the next page's cursor.

    Each is as `project_view` has it. Raises Invalid for an unknown cursor.
    """
    ids, following = list_projects(studio.database, account.id, wanted or TaskFilter(), limit, cursor)
    return ProjectPage(
        projects=[project_view(studio, account, one, base_url, now_s) for one in ids], next_cursor=following
    )


def project_view(studio: Studio, account: Account, project_id: str, base_url: str, now_s: float) -> ProjectView:
    """Return a project. Raises NotFound, Invalid."""
    project = find_project(studio.database, account.id, project_id)
    named = voice_names(studio.database, account, project.conversions)
    return ProjectView(
        id=project.id,
        name=project.shown_name,
        file_name=project.file_name,
        timeline=asdict(project.timeline),
        voices=list(dict.fromkeys(name for name in reversed(named.values()) if name)),
        created_at=project.conversions[-1].created_at,
        changed_at=project.conversions[0].created_at,
        conversions=task_views_of(studio, account, project.conversions, base_url, now_s),
    )


def change_project(
    studio: Studio,
    account: Account,
    project_id: str,
    name: str | None = None,
    timeline: Mapping[str, object] | None = None,
) -> None:
    """Name a project ("": as its recording), and change fields of its Timeline; what is left out stays.

    Raises NotFound, Invalid for a name that is too long, SettingsError for a value out of range.
    """
    project = find_project(studio.database, account.id, project_id)
    name = (project.name or "") if name is None else composed(" ".join(name.split()))
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise Invalid(
            [
                (
                    "name",
                    ntr(
                        "The name of a project has at most {longest_name} printable character.",
                        "The name of a project has at most {longest_name} printable characters.",
                        longest_name=LONGEST_NAME,
                    ),
                )
            ]
        )
    try:
        changed = from_values(Timeline, {**asdict(project.timeline), **(timeline or {})})
    except TypeError as cause:
        raise SettingsError(tr("A timeline has no such setting ({cause}).", cause=cause)) from cause
    with studio.database.write() as connection:
        save_project(connection, account.id, project.id, name, changed)


@costs(Cost.DELETE)
def delete_project(studio: Studio, account: Account, project_id: str) -> int:
    """Delete all conversions of a project with their recordings and takes; return how many.

    Raises NotFound, and WrongState while one is queued or running; then nothing is deleted.
    """
    project = find_project(studio.database, account.id, project_id)
    if not all(task.has_ended for task in project.conversions):
        raise WrongState(
            tr("A conversion of this project has not ended: cancel it first, or wait for it."), "task_active"
        )
    return len(delete_tasks(studio, account, [task.id for task in project.conversions]))
