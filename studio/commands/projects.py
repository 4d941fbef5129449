"""`projects`: list, name, export and delete recordings with everything made of them."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.errors import SettingsError
from engine.spelling import pasted_path
from engine.texts import ntr, tr
from studio.commands.arguments import Overwrite
from studio.commands.confirmation import Yes, ask_before_deleting
from studio.commands.failures import in_one_sentence
from studio.commands.parsing import command_group
from studio.commands.progress import progress_bar
from studio.commands.result_names import free_path
from studio.commands.tables import print_table
from studio.commands.wording import say
from studio.errors import NotFound

if TYPE_CHECKING:  # the database takes a moment to load
    from studio.actions.projects import ProjectView
    from studio.store.projects import Project
    from studio.store.studio import Studio

_SHOWN_OF_ID = 12  # characters; the first six are enough where no other project begins with them
_PAGE = 1000
_COLUMNS = (tr("id"), tr("name"), tr("conversions"), tr("voices"), tr("changed"))

ProjectId = Annotated[
    str, typer.Argument(metavar="ID", help=tr("A project, by id, by name, or by its recording; `projects` lists them."))
]
Tempo = Annotated[float | None, typer.Option("--tempo", metavar="BPM", help=tr("Beats per minute; 0: unknown."))]
Beats = Annotated[int | None, typer.Option("--beats", metavar="N", help=tr("Beats in each bar."))]
Start = Annotated[
    float | None, typer.Option("--at", metavar="SECONDS", help=tr("Where in the song the recording begins."))
]

projects = command_group(tr("List, name, export and delete recordings with everything made of them."))


@projects.callback(invoke_without_command=True)
@in_one_sentence
def list_all(
    context: typer.Context,
    search: Annotated[str, typer.Option(metavar="WORDS", help=tr("In the names of project, file or voice."))] = "",
    since: Annotated[
        str, typer.Option(metavar="DAY", help=tr("Only what was made since this day, such as 2026-03-31."))
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help=tr("Print JSON."))] = False,
) -> None:
    """List the projects, the most recently changed first."""
    if context.invoked_subcommand:
        return
    from studio.actions import history
    from studio.actions.projects import projects_view
    from studio.commands.in_process import local_studio
    from studio.store.records.codec import plain

    with local_studio() as studio:
        wanted = history.search(studio, studio.local, search, since=since)
        found = projects_view(studio, studio.local, "", time.time(), wanted=wanted, limit=_PAGE).projects
    if as_json:
        typer.echo(json.dumps({"projects": plain(found)}, indent=2, ensure_ascii=False))
        return
    print_table(_COLUMNS, map(_row, found))


def _row(project: "ProjectView") -> list[str]:
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(project.changed_at))
    made, voices = str(len(project.conversions)), ", ".join(project.voices)
    return [project.id[:_SHOWN_OF_ID], project.name, made, voices, day]


@projects.command()
@in_one_sentence
def export(
    project: ProjectId,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="OUT", help=tr("A file or a folder; DAWs open a file "
                     "that ends with .dawproject. Default: named after the project, in this folder.")),
    ] = None,
    overwrite: Overwrite = False,
    dry: Annotated[bool, typer.Option("--dry", help=tr("Takes without their effects."))] = False,
    tempo: Tempo = None,
    beats: Beats = None,
    start: Start = None,
) -> None:  # fmt: skip
    """Export a project as a zip with stems and a cue sheet for other programs; prints its path."""
    from dataclasses import asdict

    from engine.analysis.timeline import Timeline
    from engine.settings import from_values
    from studio.actions.account import named_file
    from studio.actions.project_exports import export_project
    from studio.commands.in_process import local_studio

    with local_studio() as studio, progress_bar(time_left=False) as report:
        found = _project(studio, project)
        timeline = from_values(Timeline, asdict(found.timeline) | _changes(tempo, beats, start))
        target = output or Path()
        target = free_path(target / named_file(found.shown_name, "zip") if target.is_dir() else target, overwrite)
        made = export_project(studio, studio.local, found.id, target, report, dry=dry, timeline=timeline)
    typer.echo(made)


@projects.command("set")
@in_one_sentence
def change(
    project: ProjectId,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Its name; empty: as the recording.")] = None,
    tempo: Tempo = None,
    beats: Beats = None,
    start: Start = None,
) -> None:
    """Name a project, and say where in a song its recording begins, so that exported files are named by bars."""
    from studio.actions.projects import change_project
    from studio.commands.in_process import local_studio

    with local_studio() as studio:
        change_project(studio, studio.local, _project(studio, project).id, name, _changes(tempo, beats, start))


@projects.command()
@in_one_sentence
def delete(project: ProjectId, yes: Yes = False) -> None:
    """Delete a project: its recording, and all takes made of it."""
    from studio.actions.projects import delete_project
    from studio.commands.in_process import local_studio

    with local_studio() as studio:
        found = _project(studio, project)
        if not yes:
            name, count = found.shown_name, len(found.conversions)
            ask_before_deleting(
                tr("Delete {name}, its recording, and all takes of its {count} conversions?", name=name, count=count)
            )
        count = delete_project(studio, studio.local, found.id)
    say(ntr("Deleted {count} conversion.", "Deleted {count} conversions.", count=count))


def _project(studio: "Studio", name: str) -> "Project":
    """Return a project by its id, its name, or its recording here. Raises SettingsError."""
    from studio.store.projects import find_project

    try:
        return find_project(studio.database, studio.local.id, _id_of(studio, name))
    except NotFound as cause:
        raise SettingsError(
            tr("There is no project '{name}': `timbre-studio projects` lists them.", name=name)
        ) from cause


def _id_of(studio: "Studio", name: str) -> str:
    """Return the id of a project by its name, or by its recording here; else what was given."""
    from studio.actions.history import search
    from studio.actions.projects import projects_view
    from studio.actions.recordings import origin_of_file

    if (path := Path(pasted_path(name))).is_file():
        return origin_of_file(path).recording
    wanted = search(studio, studio.local, name)
    found = projects_view(studio, studio.local, "", time.time(), wanted=wanted, limit=_PAGE).projects
    named = [one.id for one in found if one.name == name]
    if len(named) > 1:
        raise SettingsError(tr("Several projects are called '{name}': write the beginning of the id.", name=name))
    return str(named[0]) if named else name


def _changes(tempo: float | None, beats: int | None, start: float | None) -> dict[str, float]:
    values = {"tempo_bpm": tempo, "beats_per_bar": beats, "start_s": start}
    return {name: value for name, value in values.items() if value is not None}
