"""`voices`: those there are, and what can be done with them."""

import json
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from engine.errors import SettingsError
from engine.voices.card import TRAIN_AGAIN, VoiceCard
from studio.commands.failures import in_one_sentence
from studio.commands.progress import progress_bar

VoiceId = Annotated[str, typer.Argument(metavar="ID", help="A voice; `voices` lists them.")]

voices = typer.Typer(
    help="List the voices; or export, import, blend and delete them.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


@voices.callback(invoke_without_command=True)
@in_one_sentence
def list_all(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="As the service's GET /models.")] = False,
) -> None:
    """List the voices, and those that are still to be trained."""
    if context.invoked_subcommand:
        return
    from studio.commands.library import Library
    from studio.settings.environment import load_settings

    library = Library(load_settings())
    cards = library.voices()
    if as_json:
        usable = [card.as_published() for card in cards if not card.is_earlier]
        typer.echo(json.dumps({"models": usable}, indent=2, ensure_ascii=False))
        return
    rows = [_row(card) for card in cards]
    rows += [[one.id, one.name, *[""] * 5, one.state] for one in library.pending()]
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))  # so that all of it fits in a narrow window
    table.add_column("id", no_wrap=True, min_width=max(len(row[0]) for row in rows))  # it is what the commands want
    for title in ("name", "voice type", "range", "gender", "language", "genre", "state"):
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    Console().print(table)


def _row(voice: VoiceCard) -> list[str]:
    card = voice.as_published()
    notes = f"{card['vocal_range']['min']} to {card['vocal_range']['max']}"
    kept = (card[name] or "" for name in ("gender", "base_language", "genre"))
    state = TRAIN_AGAIN if voice.is_earlier else "ready"
    return [card["id"], card["name"], card["voice_type"] or "", notes, *kept, state]


@voices.command("export")
@in_one_sentence
def export_one(
    voice: VoiceId,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="A file, replaced if it exists, or a folder. Left out: ID.voice.zip in this folder.",
        ),
    ] = None,
) -> None:
    """Write a voice as one file that can be imported elsewhere; prints its path."""
    from engine.voices.package import export_voice
    from studio.commands.library import Library
    from studio.settings.environment import load_settings

    typer.echo(export_voice(Library(load_settings()).voice_folder(voice), output or Path()))


@voices.command("import")
@in_one_sentence
def import_one(
    package: Annotated[Path, typer.Argument(metavar="FILE", help="A voice that was exported: ID.voice.zip.")],
) -> None:
    """Take in a voice that was exported; prints the id it has here."""
    from engine.voices.package import import_voice
    from studio.commands.library import Library
    from studio.settings.environment import load_settings

    library = Library(load_settings())
    card = import_voice(package, library.settings.voices, library.taken())
    stated = f"licence: {card.licence or 'not stated'}; made from: {card.source or 'not stated'}"
    typer.echo(f"{card.name}; {stated}.", err=True)
    typer.echo(card.id)


@voices.command()
@in_one_sentence
def blend(
    first: Annotated[str, typer.Argument(metavar="FIRST", help="A voice; `voices` lists them.")],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="Another one.")],
    share: Annotated[float, typer.Option(metavar="0..1", help="How much of the second voice it has.")] = 0.5,
    name: Annotated[str | None, typer.Option(help="What to call it; left out, after both.")] = None,
) -> None:
    """Make a voice between two voices; prints its id."""
    from engine.conversion.preview import render_preview
    from engine.voices.blend import blend_voices
    from engine.voices.card import new_identifier
    from studio.commands.library import Library
    from studio.settings.environment import load_settings

    library = Library(load_settings())
    one, other = library.voice(first), library.voice(second)
    name = name if name is not None else f"{one.card.name} and {other.card.name}"
    identifier = new_identifier(name, library.taken())
    blended = blend_voices(one, other, share, name, identifier)
    with progress_bar() as report, tempfile.TemporaryDirectory() as folder:
        preview = Path(folder) / "preview.wav"
        render_preview(blended, preview, report)
        library.keep(blended, identifier, preview)
    typer.echo(f"{blended.card.description} Licence: {blended.card.licence or 'not stated'}.", err=True)
    typer.echo(identifier)


@voices.command()
@in_one_sentence
def delete(
    voice: VoiceId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a voice of your own, with its recordings and its training here."""
    from studio.commands.library import Library
    from studio.settings.environment import load_settings
    from studio.store.workspaces import refuse_busy

    library = Library(load_settings())
    if library.is_own(voice) and not yes:  # what is not there, or not the user's, is refused without a question
        recordings = ", the recordings it was made of, and its training" if library.has_dataset(voice) else ""
        try:
            sure = typer.confirm(f"Delete {voice}{recordings}?", err=True)
        except typer.Abort as cause:
            raise SettingsError("Nothing was deleted: nobody answered. With --yes nobody is asked.") from cause
        if not sure:
            raise SettingsError("Nothing was deleted.")
    if library.has_dataset(voice):
        refuse_busy(library.settings.datasets / voice)
    library.delete(voice)
    typer.echo(f"{voice} is deleted.", err=True)
