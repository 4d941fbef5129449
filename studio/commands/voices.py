"""`voices`: list, export, import, blend and delete voices."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.errors import SettingsError
from engine.voices.card import TRAIN_AGAIN, UNTRAINED
from studio.commands.confirmation import Yes, ask_before_deleting
from studio.commands.convert import Overwrite
from studio.commands.failures import in_one_sentence
from studio.commands.result_names import free_path
from studio.commands.tables import print_table
from studio.commands.wording import filled, in_order, say, terms, translated

if TYPE_CHECKING:  # the database takes a moment to load
    from studio.store.catalogue import Model
    from studio.store.studio import Studio

[READY] = terms("ready")
_COLUMNS = terms("id", "name", "voice type", "range", "gender", "language", "genre", "state")
VoiceId = Annotated[str, typer.Argument(metavar="ID", help="A voice; `voices` lists them.")]

voices = typer.Typer(
    help="List, export, import, blend and delete voices.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


@voices.callback(invoke_without_command=True)
@in_one_sentence
def list_all(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, as the service's GET /models does.")] = False,
) -> None:
    """List all voices, trained or not."""
    if context.invoked_subcommand:
        return
    from studio.actions.voices import models_view
    from studio.commands.in_process import local_studio
    from studio.store.catalogue import all_models

    with local_studio() as studio:
        if as_json:
            typer.echo(json.dumps(models_view(studio, studio.local), indent=2, ensure_ascii=False))
            return
        found = sorted(all_models(studio.database, studio.local), key=lambda model: in_order(model.name))
        rows = [_row(studio, model) for model in found]
    print_table(_COLUMNS, rows)


def _row(studio: "Studio", model: "Model") -> list[str]:
    card = model.published
    notes = card["vocal_range"]
    kept = (card[name] or "" for name in ("gender", "base_language", "genre"))
    range_ = filled("{min} to {max}", **notes) if notes else ""
    facts = [card["voice_type"] or "", *kept]
    voice_type, *rest = map(translated, facts)
    return [model.id, model.name, voice_type, range_, *rest, ", ".join(map(translated, _states(studio, model)))]


def _states(studio: "Studio", model: "Model") -> list[str]:
    from engine.training.history import history_from_json
    from studio.actions.rvc_models import missing_for
    from studio.actions.voices import training_history
    from studio.store.catalogue import COMPLETED, FAILED

    if model.state == COMPLETED:
        return ["needs ContentVec: python -m studio rvc fetch" if missing_for(model) else READY]
    if model.must_be_trained_again:
        return [TRAIN_AGAIN]
    states = [UNTRAINED] if model.is_untrained else []
    states += ["training failed"] if model.state == FAILED else []
    if record := training_history(studio, model):
        history = history_from_json(record)
        states.append(f"in training: {history.epoch} of {history.ceiling} epochs")
    return states


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
            help="A file or a folder. Default: ID.voice.zip in this folder.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    onnx: Annotated[
        bool,
        typer.Option("--onnx", help="For other programs: a folder of networks with a host. Default: ID.onnx."),
    ] = False,
) -> None:
    """Export a voice as a file to import elsewhere; prints its path."""
    from studio.actions.packages import export_model, export_networks
    from studio.commands.in_process import local_studio

    with local_studio() as studio:
        if onnx:
            typer.echo(export_networks(studio, studio.local, voice, output or Path(f"{voice}.onnx")))
            return
        target = output or Path()
        target = free_path(target / f"{voice}.voice.zip" if target.is_dir() else target, overwrite)
        typer.echo(export_model(studio, studio.local, voice, target))


@voices.command("import")
@in_one_sentence
def import_one(
    package: Annotated[Path, typer.Argument(metavar="FILE", help="ID.voice.zip, or a model of RVC: .pth, .onnx.")],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Its name here. Default: its own, numbered if taken.")
    ] = None,
    replaced: Annotated[
        str | None,
        typer.Option("--replace", metavar="ID", help="Replace the model and profile of this voice; recordings stay."),
    ] = None,
    index: Annotated[Path | None, typer.Option(metavar="FILE", help="The .index of a model of RVC.")] = None,
    speaker: Annotated[int, typer.Option(help="Of a model of RVC with several, from 0.")] = 0,
) -> None:
    """Import a voice; prints its id here."""
    from studio.actions.consent import consent_line
    from studio.actions.packages import free_name, import_model, packaged_name, replace_model
    from studio.actions.rvc_models import RvcFiles
    from studio.actions.voices import model_view
    from studio.commands.in_process import local_studio

    said = f'"{package.name}"'
    with local_studio() as studio:
        if replaced is not None:
            replace_model(studio, studio.local, replaced, package)
            identifier = replaced
        else:
            name = name or free_name(studio, studio.local, packaged_name(package, said))
            identifier = import_model(
                studio, studio.local, package, name=said, voice_name=name, files=RvcFiles(index, speaker)
            )
        voice = model_view(studio, studio.local, identifier)
    licence, source = (voice[name] or "not stated" for name in ("licence", "source"))
    say(f"{voice['name']}; licence: {licence}; made from: {source}; consent: {consent_line(voice)}.")
    typer.echo(identifier)


@voices.command()
@in_one_sentence
def blend(
    first: Annotated[str, typer.Argument(metavar="FIRST", help="A voice; `voices` lists them.")],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="Another voice.")],
    share: Annotated[float, typer.Option(metavar="0..1", help="The share of the second voice.")] = 0.5,
    name: Annotated[str | None, typer.Option(help="The new voice's name. Default: named after both.")] = None,
) -> None:
    """Blend two voices into a new one; prints its id."""
    from studio.actions.blends import start_blend
    from studio.commands.in_process import carry_out, local_studio
    from studio.store.catalogue import find_model

    if name is not None and not name.strip():
        raise SettingsError("--name must be a name: leave it out to name the voice after both.")
    with local_studio() as studio:
        done = carry_out(studio, lambda here: start_blend(here, here.local, first, second, share, name or ""))
        made = find_model(studio.database, studio.local, done["model_id"])
    say(f"{made.card['description']} Licence: {made.card['licence'] or 'not stated'}.")
    typer.echo(made.id)


@voices.command()
@in_one_sentence
def delete(
    voice: VoiceId,
    yes: Yes = False,
) -> None:
    """Delete one of your voices with its recordings and its training."""
    from studio.actions.voices import delete_model, refuse_undeletable
    from studio.commands.in_process import local_studio
    from studio.store.catalogue import find_model

    with local_studio() as studio:
        refuse_undeletable(studio, studio.local, voice)
        if not yes:
            made_of = find_model(studio.database, studio.local, voice).dataset_key
            with_all = f"Delete {voice}, the recordings it was made of, and its training?"
            ask_before_deleting(with_all if made_of else f"Delete {voice}?")
        delete_model(studio, studio.local, voice)
    say(f"Deleted {voice}.")
