"""`mix`: a vocal with its backing."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from engine.texts import numeral, tr
from studio.commands.arguments import Form, Overwrite
from studio.commands.failures import in_one_sentence
from studio.commands.piped import to_standard_output
from studio.commands.progress import progress_bar
from studio.commands.result_names import ResultNames, free_path
from studio.commands.wording import say
from studio.settings.options import option, read_settings

if TYPE_CHECKING:  # the engine takes seconds to load
    from engine.audio.result_format import ResultFormat
    from engine.provenance.installation import Installation


@in_one_sentence
def mix(
    vocal: Annotated[Path, typer.Argument(metavar="VOCAL|-", help=tr("The vocal, converted or not."))],
    backing: Annotated[Path, typer.Argument(metavar="BACKING|-", help=tr("The instrumental."))],
    output: Annotated[
        str,
        option(
            "OUT|-", tr("A file (.wav, .flac, .mp3, .m4a, .ogg, .aiff), or - for standard output."), "-o", "--output"
        ),
    ],
    form: Form = None,
    original: Annotated[
        Path | None, option("FILE", tr("What the vocal was converted from: its loudness and place are kept."))
    ] = None,
    offset: Annotated[float | None, option("SECONDS", tr("How much later than the backing the vocal begins."))] = None,
    vocal_db: Annotated[float, option("-60..12", tr("The vocal's fader."))] = 0.0,
    backing_db: Annotated[float, option("-60..12", tr("The backing's fader."))] = 0.0,
    overwrite: Overwrite = False,
    **given: str | None,
) -> None:
    """Mix a vocal with its backing, in place and at its level; prints the path of the mix."""
    from engine.audio.files import notes_of
    from engine.audio.result_format import ResultFormat
    from engine.provenance.verification import statement_of
    from engine.songs.alignment import align
    from engine.songs.mixing import Fader, Lane, mix_files
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


@contextmanager
def rendered_in(
    targets: Sequence[Path], source: Path, form: "ResultFormat", installation: "Installation | None"
) -> Iterator[list[Path]]:
    """Yield paths to render to, which become the targets in this form; source: whose rate they get back."""
    from engine.audio.files import open_audio
    from engine.audio.result_files import write_result
    from engine.audio.result_format import DEPTHS
    from engine.provenance.verification import statement_of
    from engine.units import SAMPLE_RATE

    with open_audio(source) as opened:
        rate = form.rate_for(opened.rate, targets[0].suffix)
    if rate == SAMPLE_RATE and form.depth == DEPTHS[0]:  # as it is rendered
        yield list(targets)
        return
    with TemporaryDirectory() as folder:
        rendered = [Path(folder) / f"{number}.wav" for number in range(len(targets))]
        yield rendered
        for path, target in zip(rendered, targets, strict=True):
            write_result(path, target, form, source, statement_of(path, installation), installation)
