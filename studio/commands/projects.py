"""`projects`: list, name, export and delete recordings with everything made of them."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from studio.commands.failures import in_one_sentence
from studio.commands.progress import progress_bar
from studio.commands.wording import say, terms, translated

_SHOWN_OF_ID = 12  # characters; the first six are enough where no other project begins with them
_PAGE = 1000

ProjectId = Annotated[str, typer.Argument(metavar="ID", help="A project; `projects` lists them.")]
Tempo = Annotated[float | None, typer.Option("--tempo", metavar="BPM", help="Beats per minute; 0: unknown.")]
Beats = Annotated[int | None, typer.Option("--beats", metavar="N", help="Beats in each bar.")]
Start = Annotated[float | None, typer.Option("--at", metavar="SECONDS", help="Where in the song the recording begins.")]

projects = typer.Typer(
    help="List, name, export and delete recordings with everything made of them.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


@projects.callback(invoke_without_command=True)
@in_one_sentence
def list_all(
    context: typer.Context,
    search: Annotated[str, typer.Option(metavar="WORDS", help="In the names of project, file or voice.")] = "",
    since: Annotated[str, typer.Option(metavar="DAY", help="Only what was made since this day, as 2026-03-31.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the projects, the last changed first."""
    if context.invoked_subcommand:
        return
    import time

    from studio.actions import history
    from studio.actions.projects import projects_view
    from studio.commands.in_process import local_studio

    with local_studio() as studio:
        wanted = history.search(studio, studio.local, search, since=since)
        found = projects_view(studio, studio.local, "", time.time(), wanted=wanted, limit=_PAGE)["projects"]
    if as_json:
        typer.echo(json.dumps({"projects": found}, indent=2, ensure_ascii=False))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for title in terms("id", "name", "conversions", "voices", "changed"):
        table.add_column(translated(title), overflow="fold", no_wrap=title == "id")
    for one in found:
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(one["changed_at"]))
        cells = (one["id"][:_SHOWN_OF_ID], one["name"], str(len(one["conversions"])), ", ".join(one["voices"]), day)
        table.add_row(*map(escape, cells))
    Console().print(table)


@projects.command()
@in_one_sentence
def export(
    project: ProjectId,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="OUT", help="A file, replaced if it exists, or a folder. "
                     "Default: named after the project, in this folder."),
    ] = None,
    dry: Annotated[bool, typer.Option("--dry", help="Takes without their effects.")] = False,
    tempo: Tempo = None,
    beats: Beats = None,
    start: Start = None,
) -> None:  # fmt: skip
    """Export a project as a zip with stems and a cue sheet for other programs; prints its path."""
    from dataclasses import replace

    from studio.actions.project_exports import export_project
    from studio.actions.projects import timeline_of
    from studio.commands.in_process import local_studio
    from studio.store.projects import find_project

    with local_studio() as studio, progress_bar(time_left=False) as report:
        kept = timeline_of(find_project(studio.database, studio.local.id, project))
        timeline = replace(kept, **_given(tempo, beats, start))
        made = export_project(studio, studio.local, project, output or Path(), report, dry=dry, timeline=timeline)
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
        change_project(studio, studio.local, project, name, _given(tempo, beats, start))


@projects.command()
@in_one_sentence
def delete(project: ProjectId) -> None:
    """Delete a project: its recording, and all takes made of it."""
    from studio.actions.projects import delete_project
    from studio.commands.in_process import local_studio

    with local_studio() as studio:
        count = delete_project(studio, studio.local, project)
    say(f"Deleted {count} conversions.")


def _given(tempo: float | None, beats: int | None, start: float | None) -> dict[str, Any]:
    values = {"tempo_bpm": tempo, "beats_per_bar": beats, "start_s": start}
    return {name: value for name, value in values.items() if value is not None}
