"""`voices`: list, export, import, blend and delete voices."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.errors import EngineError, SettingsError
from engine.texts import tr
from engine.voices.card import TRAIN_AGAIN, UNTRAINED
from studio.commands.arguments import Overwrite
from studio.commands.confirmation import Yes, ask_before_deleting
from studio.commands.failures import in_one_sentence
from studio.commands.known_voices import complete_voice, refuse_unknown_voice
from studio.commands.parsing import command_group
from studio.commands.path_arguments import refuse_missing
from studio.commands.result_names import free_path
from studio.commands.tables import print_table
from studio.commands.wording import in_order, say, translated
from studio.errors import NotFound
from studio.settings.options import option

if TYPE_CHECKING:  # the database takes a moment to load
    from studio.actions.rvc_models import FoundModel
    from studio.commands.voice_sources import Statements
    from studio.store.catalogue import Model
    from studio.store.studio import Studio

READY = tr("ready")
_PACKAGE, _NETWORKS = ".voice.zip", ".onnx"
_COLUMNS = (tr("id"), tr("name"), tr("voice type"), tr("range"), tr("gender"), tr("language"), tr("genre"), tr("state"))
VoiceId = Annotated[
    str, typer.Argument(metavar="ID", autocompletion=complete_voice, help=tr("A voice; `voices` lists them."))
]

voices = command_group(tr("List, export, import, blend and delete voices."))


@voices.callback(invoke_without_command=True)
@in_one_sentence
def list_all(
    context: typer.Context,
    as_json: Annotated[bool, option(None, tr("Print JSON, as the service's GET /models does."), "--json")] = False,
) -> None:
    """List all voices, trained or not."""
    if context.invoked_subcommand:
        return
    from studio.actions.voices.voice import models_view
    from studio.commands.in_process import local_studio
    from studio.store.catalogue import all_models
    from studio.store.records.codec import plain

    with local_studio() as studio:
        if as_json:
            typer.echo(json.dumps(plain(models_view(studio, studio.local)), indent=2, ensure_ascii=False))
            return
        found = sorted(all_models(studio.database, studio.local), key=lambda model: in_order(model.name))
        rows = [_row(studio, model) for model in found]
    print_table(_COLUMNS, rows)


def _row(studio: "Studio", model: "Model") -> list[str]:
    card = model.published
    notes = card.vocal_range
    kept = (one or "" for one in (card.gender, card.base_language, card.genre))
    range_ = translated(tr("{min} to {max}", **notes)) if notes else ""
    facts = [card.voice_type or "", *kept]
    voice_type, *rest = map(translated, facts)
    return [model.id, model.name, voice_type, range_, *rest, ", ".join(map(translated, _states(studio, model)))]


def _states(studio: "Studio", model: "Model") -> list[str]:
    from engine.training.history import history_from_json
    from studio.actions.rvc_models import missing_for
    from studio.actions.trainings.history import training_history
    from studio.store.catalogue import COMPLETED, FAILED

    if model.state == COMPLETED:
        return [tr("needs ContentVec: timbre-studio rvc fetch") if missing_for(model) else READY]
    if model.must_be_trained_again:
        return [TRAIN_AGAIN]
    states = [UNTRAINED] if model.is_untrained else []
    states += [tr("training failed")] if model.state == FAILED else []
    if record := training_history(studio, model):
        history = history_from_json(record)
        states.append(tr("in training: {epoch} of {ceiling} epochs", epoch=history.epoch, ceiling=history.ceiling))
    return states


@voices.command("export")
@in_one_sentence
def export_voice(
    voice: VoiceId,
    output: Annotated[
        Path | None, option("OUT", tr("A file or a folder. Default: ID.voice.zip in this folder."), "-o", "--output")
    ] = None,
    overwrite: Overwrite = False,
    onnx: Annotated[
        bool, option(None, tr("For other programs: a folder of networks with a host. Default: ID.onnx."), "--onnx")
    ] = False,
) -> None:
    """Export a voice as a file to import elsewhere; prints its path."""
    refuse_unknown_voice(voice)
    from studio.actions.voices.packages import export_model, export_networks
    from studio.commands.in_process import local_studio

    with local_studio() as studio:
        target, suffix = output or Path(), _NETWORKS if onnx else _PACKAGE
        if target.is_dir() and target.suffix != _NETWORKS:  # those of an earlier export are a folder, too
            target /= f"{voice}{suffix}"
        target = free_path(target, overwrite)
        typer.echo((export_networks if onnx else export_model)(studio, studio.local, voice, target))


@voices.command("import")
@in_one_sentence
def import_voices(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="ID.voice.zip, or a model of RVC: .pth, .onnx; a folder or zip of such models; or a https:// link.",
        ),
    ],
    name: Annotated[str | None, option("NAME", tr("Its name here. Default: its own, numbered if taken."))] = None,
    replaced: Annotated[
        str | None, option("ID", tr("Replace the model and profile of this voice; recordings stay."), "--replace")
    ] = None,
    index: Annotated[str | None, option("FILE", tr("The .index of an RVC model, or a link to it."))] = None,
    speaker: Annotated[int, option(None, tr("The speaker of an RVC model that has several, from 0."))] = 0,
    licence: Annotated[str | None, option(None, tr("The licence of an RVC model, since its file states none."))] = None,
    consent: Annotated[str | None, option(None, tr("Who gave consent to an RVC model, and how."))] = None,
    yes: Annotated[bool, option(None, tr("Do not ask."), "--yes")] = False,
) -> None:
    """Import a voice, or all of a folder; prints their ids here."""
    for one in (source, index):
        if one is not None and "://" not in one:
            refuse_missing(one)
    if replaced is not None:
        refuse_unknown_voice(replaced)
    from studio.actions.voices.packages import replace_model
    from studio.commands.in_process import local_studio
    from studio.commands.voice_sources import Statements, voices_from

    said = Statements(licence, consent)
    with local_studio() as studio, voices_from(studio, source, index, yes, said) as (models, stated):
        if len(models) > 1 and (name or replaced):
            raise SettingsError(tr("--name and --replace are for one voice: import these without them."))
        if replaced is not None:
            replace_model(studio, studio.local, replaced, models[0].path)
            _report(studio, replaced)
            return
        failures = [failure for one in models if (failure := _imported(studio, one, name, speaker, stated)) is not None]
        if len(failures) == len(models) == 1:
            raise failures[0]
        for failure in failures:
            say(failure)
        if failures:
            raise typer.Exit(1)


def _imported(
    studio: "Studio", model: "FoundModel", name: str | None, speaker: int, stated: "Statements"
) -> EngineError | None:
    """Import a voice and report it; return why that failed, if it did."""
    from studio.actions.rvc_models import RvcFiles, is_rvc_model
    from studio.actions.voices.packages import free_name, import_model, imported_before, packaged_name

    try:
        is_package = name is None and not is_rvc_model(model.path)
        if is_package and (before := imported_before(studio, studio.local, model.path)):
            say(tr("This voice is already here and identical; --name imports it a second time."))
            typer.echo(before)
            return None
        called = name or free_name(studio, studio.local, packaged_name(model.path))
        files, profile = RvcFiles(model.index, speaker), stated.as_profile()
        identifier = import_model(studio, studio.local, model.path, voice_name=called, files=files, stated=profile)
    except EngineError as failure:
        return failure
    _report(studio, identifier)
    return None


def _report(studio: "Studio", identifier: str) -> None:
    from studio.actions.recordings import consent_line
    from studio.actions.voices.voice import model_view

    voice = model_view(studio, studio.local, identifier)
    licence, source = voice.licence or tr("not stated"), voice.source or tr("not stated")
    consent = consent_line(voice.consent, voice.consent_origin)
    say(f"{voice.name}; licence: {licence}; made from: {source}; consent: {consent}.")
    typer.echo(identifier)


@voices.command()
@in_one_sentence
def blend(
    first: Annotated[
        str, typer.Argument(metavar="FIRST", autocompletion=complete_voice, help=tr("A voice; `voices` lists them."))
    ],
    second: Annotated[str, typer.Argument(metavar="SECOND", autocompletion=complete_voice, help=tr("Another voice."))],
    share: Annotated[float, option("0..1", tr("The share of the second voice."))] = 0.5,
    name: Annotated[str | None, option(None, tr("The new voice's name. Default: named after both."))] = None,
) -> None:
    """Blend two voices into a new one; prints its id."""
    for one in (first, second):
        refuse_unknown_voice(one)
    from studio.actions.voices.making import start_blend
    from studio.commands.in_process import carry_out, local_studio
    from studio.store.catalogue import find_model
    from studio.store.records.voices import NewVoice

    if name is not None and not name.strip():
        raise SettingsError(tr("--name must be a name: leave it out to name the voice after both."))
    with local_studio() as studio:
        done = carry_out(studio, lambda here: start_blend(here, here.local, first, second, share, name or ""))
        assert done is not None
        made = find_model(studio.database, studio.local, done.result_as(NewVoice).model_id)
    say(
        tr(
            "{description} Licence: {licence}.",
            description=made.card.description,
            licence=made.card.licence or tr("not stated"),
        )
    )
    typer.echo(made.id)


@voices.command()
@in_one_sentence
def delete(voice: VoiceId, yes: Yes = False) -> None:
    """Delete one of your voices with its recordings and its training."""
    from studio.actions.voices.voice import delete_model, refuse_undeletable
    from studio.commands.in_process import local_studio
    from studio.store.catalogue import find_model

    with local_studio() as studio:
        try:
            refuse_undeletable(studio, studio.local, voice)
        except NotFound:  # one whose files are gone can be deleted all the same
            refuse_unknown_voice(voice)
            raise
        if not yes:
            made_of = find_model(studio.database, studio.local, voice).dataset_key
            with_all = tr("Delete {voice}, the recordings it was made of, and its training?", voice=voice)
            ask_before_deleting(with_all if made_of else tr("Delete {voice}?", voice=voice))
        delete_model(studio, studio.local, voice)
    say(tr("Deleted {voice}.", voice=voice))
