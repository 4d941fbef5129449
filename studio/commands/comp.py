"""`comp`: one take out of several, phrase by phrase."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.errors import SettingsError
from engine.files import beside
from engine.texts import ntr, numeral, tr
from studio.commands.arguments import AsJson, Form, Overwrite, Recording
from studio.commands.failures import in_one_sentence
from studio.commands.piped import STREAM, refuse_beside_sound, to_standard_output
from studio.commands.progress import progress_bar
from studio.commands.recordings import find_recording
from studio.commands.result_names import ResultNames, free_path
from studio.commands.wording import say, translated
from studio.settings.options import option

if TYPE_CHECKING:  # the engine takes seconds to load
    from engine.provenance.statement import Statement


@in_one_sentence
def comp(
    source: Recording,
    takes: Annotated[list[Path], typer.Argument(metavar="TAKE...", help=tr("Its takes, as `convert` wrote them."))],
    choose: Annotated[
        str | None,
        option(
            "1,2,1",
            tr(
                "The take for each phrase, 1 for the first; the last one is used for all phrases that follow. "
                "Without it, the phrases are listed."
            ),
        ),
    ] = None,
    output: Annotated[
        str | None, option("OUT|-", tr("A file, or - for standard output. Default: TAKE.comp.wav."), "-o", "--output")
    ] = None,
    form: Form = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Put together one take from several, with cross-fades where the recording IN is quiet.

    Without --choose it lists the phrases.
    """
    for path in (source, *takes):
        find_recording(path)
    from engine.analysis.phrases import find_phrases
    from engine.analysis.recording import analyse_file
    from engine.audio.files import notes_of
    from engine.conversion.comping import comp_files, joins, parts_of, refuse_other_recordings

    chosen = None if choose is None else [_number(one) - 1 for one in choose.split(",")]
    default = str(beside(takes[0], ".comp.wav"))
    wanted = default if chosen is None else output or default  # a list is no sound
    if output == STREAM and chosen is not None:
        refuse_beside_sound({"--json": as_json})
    with progress_bar() as report, to_standard_output(wanted, form) as place:
        if chosen is not None:
            ResultNames(place, form=form).check_suffix()
        target = free_path(Path(place), overwrite, [source, *takes])
        analysis = analyse_file(source, report)
        starts_s = joins(find_phrases(analysis.pitch, analysis.loudness_db), analysis.loudness_db)
        if chosen is None:
            _list_phrases(starts_s, as_json)
            return
        if len(chosen) > len(starts_s):
            say(
                ntr(
                    "The recording has {count} phrase: the numbers after the first are ignored.",
                    "The recording has {count} phrases: the numbers after those are ignored.",
                    count=len(starts_s),
                )
            )
        chosen = [*chosen, *chosen[-1:] * len(starts_s)][: len(starts_s)]
        refuse_other_recordings(source, takes)
        parts = parts_of(starts_s, chosen)
        for note in notes_of(takes, is_timed=True):
            say(note)
        unsigned = comp_files(takes, parts, target, report, _voice_of_all(takes))
        if unsigned:
            say(tr("Without content credentials. {unsigned}", unsigned=unsigned))
        found = {"path": str(target), "phrases": [{"start_s": start_s} for start_s in starts_s]}
        typer.echo(json.dumps(found, indent=2) if as_json else target)


def _list_phrases(starts_s: list[float], as_json: bool) -> None:
    """Print where the phrases begin."""
    if as_json:
        typer.echo(json.dumps({"phrases": [{"start_s": start_s} for start_s in starts_s]}, indent=2))
        return
    for number, start_s in enumerate(starts_s, 1):
        typer.echo(f"{number:>3}  " + translated(tr("from {start_s} s", start_s=numeral(start_s, ".2f"))))


def _voice_of_all(takes: list[Path]) -> "Statement | None":
    """Return what the takes state of how they were made. Raises SettingsError for takes in several voices."""
    from engine.provenance.verification import statement_of

    stated = [said for take in takes if (said := statement_of(take)) is not None]
    if len(voices := sorted({said.voice_name for said in stated})) > 1:
        raise SettingsError(
            tr("The takes are in several voices, {voices}: choose takes of one voice.", voices=" and ".join(voices))
        )
    return stated[0] if stated else None


def _number(text: str) -> int:
    if not text.strip().isdecimal():
        raise SettingsError(tr("--choose takes the numbers of takes, such as 1,2,1, not '{text}'.", text=text))
    return int(text)
