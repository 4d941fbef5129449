"""`create` and `report`: create voices from recordings, and examine recordings."""

import inspect
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.models import OptionInfo

from engine.errors import ProfileError
from engine.files import on_track
from engine.progress import Report
from engine.texts import tr
from studio.commands.arguments import AsJson, Overwrite, Track
from studio.commands.failures import in_one_sentence
from studio.commands.known_voices import may_be_voice, refuse_unknown_voice
from studio.commands.path_arguments import refuse_missing
from studio.commands.plot_files import refuse_unknown_plot, write_figure
from studio.commands.progress import progress_bar
from studio.commands.report_text import report_lines
from studio.commands.result_names import free_path
from studio.commands.wording import say, translated
from studio.errors import NotFound
from studio.settings.options import option

if TYPE_CHECKING:  # the engine takes seconds to load
    from engine.datasets.report import DataReport
    from engine.voices.profile import Stated

PANEL = tr("About the voice (replaces what model.json says)")


def _stated(meaning: str, shape: str = "TEXT") -> OptionInfo:
    option: OptionInfo = typer.Option(metavar=shape, help=meaning, rich_help_panel=PANEL)
    return option


_STATED = {
    "name": _stated(tr("The voice's name; required unless a model.json has it.")),
    "gender": _stated(tr("The voice's gender."), "male|female"),
    "age": _stated(tr("The voice's age group."), "child|young adult|adult"),
    "description": _stated(tr("A sentence that describes the voice.")),
    "base_language": _stated(tr("The language it sings or speaks: en, de, ..."), "XX"),
    "traits": _stated(tr("Words that describe it, separated by commas."), "A,B,..."),
    "genre": _stated("pop, rock, hip-hop, r&b, country, jazz, classical, electronic, ..."),
    "voice_type": _stated("soprano ... bass; default: measured."),
    "licence": _stated(tr("What others may do with the voice.")),
    "credit": _stated(tr("Where the recordings come from and whom to credit.")),
    "consent_statement": _stated(tr("What the person recorded has agreed to.")),
    "consent_by": _stated(tr("Who agreed.")),
    "consent_date": _stated(tr("Date of the agreement."), "YYYY-MM-DD"),
}
# options of `create`, beside its own
PROFILE_OPTIONS = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, option])
    for name, option in _STATED.items()
]


@in_one_sentence
def create(
    source: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE...", help=tr("A zip or folder with model.json and audio/, or single recordings.")
        ),
    ],
    track: Track = None,
    remove_music: Annotated[
        bool,
        option(
            None,
            tr("Take the voice out of recordings that have music, with `separation`; the originals are kept."),
            "--remove-music",
        ),
    ] = False,
    **stated: str | None,
) -> None:
    """Create a voice from recordings and examine them; prints the voice's id, which `train` takes."""
    for path in source:
        refuse_missing(path)
    from studio.actions.voices.datasets import create_examined
    from studio.commands.in_process import local_studio
    from studio.store.catalogue import find_model

    with local_studio() as studio, _on_track(source, track) as chosen:
        files = chosen[0] if len(chosen) == 1 else chosen
        with progress_bar() as progress:
            identifier, data_report = create_examined(
                studio, studio.local, files, _profile(stated), progress, remove_music
            )
        name = find_model(studio.database, studio.local, identifier).name
    for line in report_lines(data_report, translated):
        typer.echo(line, err=True)
    say(
        tr(
            "{name} is ready to use, untrained: timbre-studio convert RECORDING --voice {identifier}",
            name=name,
            identifier=identifier,
        )
    )
    say(tr("Training makes it more like the recordings: timbre-studio train {identifier}", identifier=identifier))
    typer.echo(identifier)


def _profile(options: Mapping[str, str | None]) -> "Stated":
    """Return the fields of a profile that the options of `create` stand for."""
    given = {name: value for name, value in options.items() if value is not None}
    consent = {name: given.pop(f"consent_{name}") for name in ("statement", "by", "date") if f"consent_{name}" in given}
    traits, credit = given.pop("traits", None), given.pop("credit", None)
    profile: Stated = {**given}
    if traits is not None:
        profile["traits"] = [word.strip() for word in traits.split(",") if word.strip()]
    if credit is not None:
        profile["source"] = credit
    if consent:
        profile["consent"] = consent
    return profile


@in_one_sentence
def report(
    source: Annotated[
        str, typer.Argument(metavar="ZIP|FOLDER|ID", help=tr("Recordings, or the id of a voice created from some."))
    ],
    as_json: AsJson = False,
    plot: Annotated[Path | None, option("OUT", tr("Write a chart: .png, .svg or .pdf."))] = None,
    overwrite: Overwrite = False,
) -> None:
    """Report how suitable recordings are for a voice, what is wrong with each, and how to fix it."""
    if not Path(source).exists():
        (refuse_unknown_voice if may_be_voice(source) else refuse_missing)(source)
    refuse_unknown_plot(plot)
    plot = plot and free_path(plot, overwrite)
    with progress_bar() as progress:
        found = _examined(source, progress)
    if plot:
        from engine.plots.report import plot_data_report

        write_figure(plot_data_report(found), plot)
    if as_json:
        typer.echo(json.dumps(found.as_json(), indent=2, ensure_ascii=False))
        return
    for line in report_lines(found, translated):
        typer.echo(line)


@contextmanager
def _on_track(sources: list[Path], track: int | None) -> Iterator[list[Path]]:
    """Yield the sources; where a track is chosen, that of each recording as a file of its own."""
    if track is None:
        yield sources
        return
    from engine.audio.stems import cut_recording

    with tempfile.TemporaryDirectory() as folder:
        alone = [Path(folder) / f"{number}" / f"{path.stem}.flac" for number, path in enumerate(sources)]
        for path, target in zip(sources, alone, strict=True):
            target.parent.mkdir()
            cut_recording(on_track(path, track), target)
        yield alone


def _examined(source: str, progress: Report) -> "DataReport":
    from engine.datasets.dataset import create_dataset
    from engine.datasets.report import examined
    from studio.actions.voices.datasets import examine_here
    from studio.commands.in_process import local_studio

    path = Path(source)
    if not path.exists():
        with suppress(NotFound), local_studio() as studio:
            return examine_here(studio, studio.local, source, progress)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "dataset"
        try:
            dataset = create_dataset(path, home)
        except ProfileError as error:
            if [field for field, _ in error.problems] != ["name"]:
                raise
            # recordings can be examined before the voice has a name
            dataset = create_dataset(path, home, {"name": path.resolve().stem or "recordings"})
        return examined(dataset, progress)
