"""`separation`: the network that takes a vocal out of a song; fetched only here, and only when asked."""

import json
from pathlib import Path
from typing import Annotated

import typer

from engine.texts import tr
from studio.commands.arguments import AsJson
from studio.commands.confirmation import ask_before_fetching
from studio.commands.failures import in_one_sentence
from studio.commands.parsing import command_group
from studio.commands.progress import progress_bar
from studio.commands.wording import padded, show, translated
from studio.settings.options import option

separation = command_group(tr("Fetch the network that separates songs, or show its state."), no_args_is_help=True)


@separation.command()
@in_one_sentence
def status(as_json: AsJson = False) -> None:
    """Show whether songs can be separated here, and what is missing."""
    from engine.songs.separator_file import separator_state
    from studio.settings.environment import load_settings

    found = separator_state(load_settings().separators)
    shown = (
        {"name": found.file.name, "megabytes": found.file.megabytes, "origin": found.file.origin}
        | {"licence": found.file.licence, "url": found.file.url, "sha256": found.file.sha256}
        | {"path": found.path and str(found.path)}
    )
    if as_json:
        typer.echo(json.dumps(shown | {"remedy": found.remedy}))
        return
    for name, value in shown.items():
        typer.echo(padded(name, 11) + (translated(tr("missing")) if value is None else str(value)))
    show(tr("Next: {remedy}", remedy=found.remedy) if found.remedy else tr("Songs can be separated."))


@separation.command()
@in_one_sentence
def fetch(
    file: Annotated[Path | None, option("FILE", tr("Use this file instead of fetching it."), "--file")] = None,
    yes: Annotated[bool, option(None, tr("Do not ask."), "--yes")] = False,
) -> None:
    """Fetch the network for vocals, check it against its pinned checksum, and store it in the data folder."""
    from engine.songs.separator_file import separator_state
    from studio.actions.fetched_models import accept_file, separator
    from studio.actions.fetched_models import fetch as fetch_addition
    from studio.commands.in_process import local_studio

    with local_studio() as studio:
        found = separator_state(studio.settings.separators)
        if file is None and found.path is None:
            ask_before_fetching(found.file, yes)
        with progress_bar() as report:
            wanted = separator(studio.settings)
            path = accept_file(studio, file, report) if file else fetch_addition(studio, wanted, report)
        typer.echo(path)
