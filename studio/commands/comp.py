"""`comp`: one take out of several, phrase by phrase."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.errors import SettingsError
from engine.files import beside
from studio.commands.convert import Recording
from studio.commands.failures import in_one_sentence
from studio.commands.progress import progress_bar
from studio.commands.wording import say, translated

if TYPE_CHECKING:  # the engine takes seconds to load
    from engine.provenance.statement import Statement


@in_one_sentence
def comp(
    source: Recording,
    takes: Annotated[list[Path], typer.Argument(metavar="TAKE...", help="Its takes, as `convert` wrote them.")],
    choose: Annotated[
        str | None,
        typer.Option(metavar="1,2,1", help="The take for each phrase, 1 for the first. Without it, lists the phrases."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="OUT", help="A file. Default: TAKE.comp.wav.")
    ] = None,
) -> None:
    """Put one take together out of several, joined where the recording IN is quiet."""
    from engine.analysis.phrases import find_phrases
    from engine.analysis.recording import analyse_file
    from engine.conversion.comping import comp_files, joins, parts_of, refuse_other_recordings
    from engine.files import refuse_overwriting

    target = output or beside(takes[0], ".comp.wav")
    refuse_overwriting(target, [source, *takes])
    with progress_bar() as report:
        analysis = analyse_file(source, report)
        starts_s = joins(find_phrases(analysis.pitch, analysis.loudness_db), analysis.loudness_db)
        if choose is None:
            for number, start_s in enumerate(starts_s, 1):
                typer.echo(f"{number:>3}  " + translated(f"from {start_s:.2f} s"))
            return
        refuse_other_recordings(source, takes)
        parts = parts_of(starts_s, [_number(one) - 1 for one in choose.split(",")])
        unsigned = comp_files(takes, parts, target, report, _one_voice(takes))
    if unsigned:
        say(f"Without content credentials. {unsigned}")
    typer.echo(target)


def _one_voice(takes: list[Path]) -> "Statement | None":
    """Return what the takes state of how they were made. Raises SettingsError for takes in several voices."""
    from engine.provenance.verification import statement_of

    stated = [said for take in takes if (said := statement_of(take)) is not None]
    if len(voices := sorted({said.voice_name for said in stated})) > 1:
        raise SettingsError(f"The takes are in several voices, {' and '.join(voices)}: choose those of one.")
    return stated[0] if stated else None


def _number(text: str) -> int:
    if not text.strip().isdecimal():
        raise SettingsError(f"--choose takes numbers of takes, as in 1,2,1, not '{text}'.")
    return int(text)
