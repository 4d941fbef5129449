"""`presets`: list, save and delete settings of Convert."""

import json
from typing import Annotated

import typer

from studio.commands.failures import in_one_sentence
from studio.commands.wording import in_order, say

PresetName = Annotated[str, typer.Argument(metavar="NAME", help="A preset; `presets` lists them.")]

presets = typer.Typer(
    help="List, show and delete saved settings of Convert.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


@presets.callback(invoke_without_command=True)
@in_one_sentence
def list_all(context: typer.Context) -> None:
    """List the saved presets, for `convert --preset`."""
    if context.invoked_subcommand:
        return
    from studio.actions.presets import preset_names
    from studio.commands.in_process import local_studio

    with local_studio() as studio:
        names = sorted(preset_names(studio, studio.local), key=in_order)
    if not names:
        say("No presets yet: save one on the Convert tab.")
    for name in names:
        typer.echo(name)


@presets.command()
@in_one_sentence
def show(name: PresetName) -> None:
    """Print what a preset sets, as JSON."""
    from dataclasses import asdict

    from studio.actions.presets import find_preset
    from studio.commands.in_process import local_studio

    with local_studio() as studio:
        typer.echo(json.dumps(asdict(find_preset(studio, studio.local, name)), indent=2, ensure_ascii=False))


@presets.command()
@in_one_sentence
def delete(name: PresetName) -> None:
    """Delete a saved preset."""
    from studio.actions.presets import delete_preset
    from studio.commands.in_process import local_studio

    with local_studio() as studio:
        delete_preset(studio, studio.local, name)
