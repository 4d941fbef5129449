"""`mix`: a vocal with its backing."""

from pathlib import Path
from typing import Annotated

import typer

from engine.texts import numeral, tr
from studio.commands.arguments import Form, Overwrite
from studio.commands.failures import in_one_sentence
from studio.commands.piped import to_standard_output
from studio.commands.progress import progress_bar
from studio.commands.result_names import ResultNames, free_path
from studio.commands.wording import say
from studio.settings.options import read_settings


@in_one_sentence
def mix(
    vocal: Annotated[Path, typer.Argument(metavar="VOCAL|-", help=tr("The vocal, converted or not."))],
    backing: Annotated[Path, typer.Argument(metavar="BACKING|-", help=tr("The instrumental."))],
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT|-",
            help=tr("A file (.wav, .flac, .mp3, .m4a, .ogg, .aiff), or - for standard output."),
        ),
    ],
    form: Form = None,
    original: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=tr("What the vocal was converted from: its loudness and place are kept.")),
    ] = None,
    offset: Annotated[
        float | None, typer.Option(metavar="SECONDS", help=tr("How much later than the backing the vocal begins."))
    ] = None,
    vocal_db: Annotated[float, typer.Option(metavar="-60..12", help=tr("The vocal's fader."))] = 0.0,
    backing_db: Annotated[float, typer.Option(metavar="-60..12", help=tr("The backing's fader."))] = 0.0,
    overwrite: Overwrite = False,
    **given: str | None,
) -> None:
    """Mix a vocal with its backing, in place and at its level; prints the path of the mix."""
    from engine.audio.files import notes_of
    from engine.audio.result_format import ResultFormat
    from engine.provenance.verification import statement_of
    from engine.songs.alignment import align
    from engine.songs.mixing import Fader, Lane, mix_files
    from studio.commands.rendering import rendered_in
    from studio.settings.environment import installation_of, load_service_settings, load_settings

    written = read_settings(ResultFormat(), given)
    with to_standard_output(output, form) as place:
        ResultNames(place, form=form).check_suffix()
        installation = installation_of(load_settings(), load_service_settings())
        sources = [path for path in (vocal, backing, original) if path is not None]
        target = free_path(Path(place), overwrite, sources)
        found = align(original or vocal, backing, offset)
        lanes = [
            Lane(vocal, Fader(vocal_db), found.samples, original, statement_of(vocal, installation)),
            Lane(backing, Fader(backing_db), statement=statement_of(backing, installation)),
        ]
        for note in notes_of(sources, is_timed=True):
            say(note)
        with progress_bar() as report, rendered_in([target], backing, written, installation) as [rendered]:
            done = mix_files(lanes, rendered, report=report, installation=installation)
        say(
            tr(
                "The vocal begins {offset_s} s from the backing ({reason}).",
                offset_s=numeral(found.offset_s, "+.3f"),
                reason=found.reason,
            )
        )
        if done.gain_db:
            say(tr("Both are {gain_db} dB lower, so that nothing clips.", gain_db=numeral(-done.gain_db, ".1f")))
        typer.echo(target)
