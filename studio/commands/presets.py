"""`presets`: list, save and delete settings of Convert."""

import json
from typing import Annotated

import typer

from engine.texts import tr
from studio.commands.confirmation import Yes, ask_before_deleting
from studio.commands.failures import in_one_sentence
from studio.commands.parsing import command_group
from studio.commands.wording import in_order

PresetName = Annotated[str, typer.Argument(metavar="NAME", help=tr("A preset; `presets` lists them."))]

presets = command_group(tr("List, show and delete saved settings of Convert (presets)."))


@presets.callback(invoke_without_command=True)
@in_one_sentence
def list_all(context: typer.Context) -> None:
    """List the presets for `convert --preset`: those of the program, then the saved ones."""
    if context.invoked_subcommand:
        return
    from engine.conversion.settings import AUTO, ConversionSettings
    from studio.actions.account import preset_names
    from studio.commands.in_process import local_studio

    with local_studio() as studio:
        names = sorted(preset_names(studio, studio.local), key=in_order)
    for name in (AUTO, *ConversionSettings.presets, *names):
        typer.echo(name)


@presets.command()
@in_one_sentence
def show(name: PresetName) -> None:
    """Print the settings of a preset as JSON; auto is the preset for the recording's style."""
    from dataclasses import asdict

    from engine.conversion.settings import AUTO, ConversionSettings
    from engine.effects.settings import OFF
    from studio.actions.account import find_preset
    from studio.commands.in_process import local_studio

    own = ConversionSettings.presets
    if name in (AUTO, *own):
        styles = {style: asdict(own[style]) for style in (own if name == AUTO else [name])}
        found = {"style": name, "settings": styles if name == AUTO else styles[name], "effects": OFF}
    else:
        with local_studio() as studio:
            found = asdict(find_preset(studio, studio.local, name))
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False))


@presets.command()
@in_one_sentence
def delete(name: PresetName, yes: Yes = False) -> None:
    """Delete a saved preset."""
    from studio.actions.account import delete_preset, find_preset
    from studio.commands.in_process import local_studio

    with local_studio() as studio:
        find_preset(studio, studio.local, name)
        if not yes:
            ask_before_deleting(tr("Delete the preset '{name}'?", name=name))
        delete_preset(studio, studio.local, name)
