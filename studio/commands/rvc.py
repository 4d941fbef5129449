"""`rvc`: ContentVec, which imported models of RVC need, fetched only when asked; and voices that they teach."""

from pathlib import Path
from typing import Annotated

import typer

from engine.texts import tr
from studio.commands.confirmation import ask_before_fetching
from studio.commands.failures import in_one_sentence
from studio.commands.known_voices import complete_voice, refuse_unknown_voice
from studio.commands.parsing import command_group
from studio.commands.progress import progress_bar
from studio.commands.wording import say, show
from studio.settings.options import option

rvc = command_group(
    tr("Get ContentVec, which imported RVC models need, and let those models teach."), no_args_is_help=True
)


@rvc.command()
@in_one_sentence
def status() -> None:
    """Show whether imported models can convert here, and where ContentVec comes from."""
    from engine.rvc.sources import SOURCES, contentvec_path

    path = contentvec_path()
    show(path if path.exists() else tr("ContentVec is missing: imported models cannot convert yet."))
    for one in SOURCES:
        show(
            tr(
                "{file_name}: {megabytes} MB, {licence}, {origin}, {url}, sha256 {sha256}",
                file_name=one.file_name,
                megabytes=one.megabytes,
                licence=one.licence,
                origin=one.origin,
                url=one.url,
                sha256=one.sha256,
            )
        )


@rvc.command()
@in_one_sentence
def fetch(
    small: Annotated[bool, option(None, tr("Fetch the half-precision file of RVC: 190 MB."), "--small")] = False,
    yes: Annotated[bool, option(None, tr("Do not ask."), "--yes")] = False,
) -> None:
    """Fetch ContentVec, check it against its pinned checksum, and store it in the data folder."""
    from engine.rvc.sources import SOURCES
    from studio.actions.fetched_models import fetch as fetch_addition
    from studio.actions.rvc_models import contentvec
    from studio.commands.in_process import local_studio

    source = SOURCES[1 if small else 0]
    ask_before_fetching(source, yes)
    with local_studio() as studio, progress_bar() as report:
        typer.echo(fetch_addition(studio, contentvec(source), report))


@rvc.command()
@in_one_sentence
def use(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help=tr("pytorch_model.bin, hubert_base.pt, or their folder."))
    ],
) -> None:
    """Take ContentVec from a file or folder that you have."""
    from studio.actions.rvc_models import use_contentvec
    from studio.commands.in_process import local_studio

    with local_studio() as studio:
        typer.echo(use_contentvec(studio, path))


@rvc.command()
@in_one_sentence
def teach(
    voice: Annotated[
        str,
        typer.Argument(
            metavar="NAME", autocompletion=complete_voice, help=tr("The id of an imported voice; `voices` lists them.")
        ),
    ],
    recordings: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RECORDINGS", help=tr("Dry vocals, or a zip of them, in addition to the bundled ones.")),
    ] = None,
    name: Annotated[str, option(None, tr("The new voice's name. Default: that of the imported one."))] = "",
    epochs: Annotated[int, option(None, tr("Epochs of the training that follows; 0 leaves it out."))] = 100,
    device: Annotated[str, option(None, tr("Where to compute: auto, cpu, cuda, cuda:1, mps."))] = "auto",
) -> None:
    """Let an imported voice teach a native one, which is faster and works live; prints the new voice's id."""
    refuse_unknown_voice(voice)
    from studio.actions.tasks import task_view
    from studio.actions.trainings.training import checked_plan, start_training
    from studio.actions.voices.making import TeachingRequest, start_teaching
    from studio.actions.voices.voice import model_view, score_lines
    from studio.commands.in_process import carry_out, local_studio

    if epochs:
        checked_plan(epochs, {})  # now rather than when all is sung
    request = TeachingRequest(name, 0, tuple(recordings or ()))
    with local_studio() as studio:
        started: list[str] = []
        carry_out(studio, lambda here: started.append(start_teaching(here, here.local, voice, request)), device)
        taught = task_view(studio, studio.local, started[0], "", 0.0)
        identifier = str(taught.model_id)
        if taught.warning:
            say(taught.warning)
        say(
            tr(
                "{identifier} has its recordings. Stopped? timbre-studio train {identifier} goes on.",
                identifier=identifier,
            )
        )
        if epochs:
            carry_out(studio, lambda here: start_training(here, here.local, identifier, epochs), device, False)
        for line in score_lines(model_view(studio, studio.local, identifier)):
            say(line)
    typer.echo(identifier)
