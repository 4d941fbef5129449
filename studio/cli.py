"""The command line: `python -m studio`.

What a script wants (paths, JSON) goes to stdout; all that is for eyes (progress, scores, errors) to stderr. Whatever
goes wrong is one sentence and exit status 1, a stop by Ctrl-C is 130, a command that cannot be understood is 2.
The engine takes seconds to load, so each command imports what it needs when it runs: `--help` does not wait.
"""

import functools
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup
from typer.main import get_command

from engine.errors import Cancelled, EngineError, SettingsError
from studio.options import read_settings, setting_options, with_options
from studio.progress import part, progress_bar

P = ParamSpec("P")
T = TypeVar("T")
DEFAULT_VOICE = "kathleen"
SAMPLE = "singing.flac"  # in the engine's folder of samples
LISTENING_SHARE = 0.2  # of the bar; finding the style takes about this part of the work
PLOT_SUFFIXES = (".png", ".svg", ".pdf")
STOPPED = 130  # what a shell expects of a program ended by Ctrl-C

Recording = Annotated[Path, typer.Argument(metavar="IN", help="A recording: wav, flac, mp3, ogg, opus, aiff, m4a.")]
VoiceId = Annotated[str, typer.Option("--voice", metavar="ID", help="Whose voice; `voices` lists them.")]


def in_one_sentence(command: Callable[P, T]) -> Callable[P, T]:
    """The edge where errors become text: one sentence on stderr and an exit status."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return command(*args, **kwargs)
        except EngineError as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(1) from error
        except ImportError as error:
            typer.echo(f"The installation is not complete ({error}): python -m studio doctor says more.", err=True)
            raise typer.Exit(1) from error
        except (Cancelled, KeyboardInterrupt) as stop:
            typer.echo("Stopped; nothing half-written was left behind.", err=True)
            raise typer.Exit(STOPPED) from stop

    return run


class Commands(TyperGroup):
    """The commands; `convert` gets the engine's settings as options at the moment it is asked for, not before."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] == "convert":
            self.commands["convert"] = with_settings(convert)
        return super().resolve_command(ctx, args)


@in_one_sentence
def with_settings(command: Callable[..., None]) -> Any:
    """`command(..., **given)` complete, with an option for every conversion setting."""
    from engine.conversion_settings import ConversionSettings

    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    single.command(command.__name__)(with_options(command, setting_options(ConversionSettings)))
    return get_command(single)


app = typer.Typer(
    cls=Commands,
    help="Timbre Studio: the same performance in another voice.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line on `arguments`, or on the process's own; ends the process with the exit status."""
    app(arguments, prog_name="python -m studio")


@in_one_sentence
def convert(
    source: Recording,
    voice: VoiceId = DEFAULT_VOICE,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="A file (.wav, .flac, .mp3, .ogg), replaced if it exists, or a folder. "
            "Left out: named after the recording and the voice, in this folder.",
        ),
    ] = None,
    preset: Annotated[
        Literal["auto", "melodic", "rhythmic", "spoken"],
        typer.Option(help="Settings for singing, rap or speech; auto listens to the recording."),
    ] = "auto",
    scores: Annotated[bool, typer.Option("--scores", help="Score each result against the recording.")] = False,
    **given: str | None,
) -> None:
    """Convert a recording to another voice; prints the path of each result."""
    from engine.conversion import convert_file
    from engine.conversion_settings import ConversionSettings
    from engine.voice import load_voice

    settings = read_settings(ConversionSettings(), given)
    loaded = load_voice(voice)
    targets = _targets(source, output, loaded.card.id, settings.takes)
    with progress_bar() as report:
        if preset == "auto":
            from engine.analysis import analyse_file

            preset = analyse_file(source, part(report, 0.0, LISTENING_SHARE)).style
        settings = read_settings(ConversionSettings.presets[preset], given)
        conversion = convert_file(source, targets, loaded, settings, part(report, LISTENING_SHARE, 1.0))
    typer.echo(f"{loaded.card.name}, {preset}, transposed by {conversion.transpose:+d} semitones.", err=True)
    for path in conversion.paths:
        typer.echo(path)
        if scores:
            _print_scores(source, path, conversion.transpose)


app.command()(with_options(convert, []))  # Commands.resolve_command completes it


@app.command()
@in_one_sentence
def voices(as_json: Annotated[bool, typer.Option("--json", help="As the service's GET /models.")] = False) -> None:
    """List the voices."""
    from engine.voice import list_voices

    cards = [card.as_published() for card in list_voices()]
    if as_json:
        typer.echo(json.dumps({"models": cards}, indent=2, ensure_ascii=False))
        return
    table = Table("id", "name", "voice type", "range", "gender", "language", "genre")
    for card in cards:
        notes = f"{card['vocal_range']['min']} to {card['vocal_range']['max']}"
        kept = (card[name] for name in ("gender", "base_language", "genre"))
        table.add_row(card["id"], card["name"], card["voice_type"], notes, *kept)
    Console().print(table)


@app.command()
@in_one_sentence
def analyse(
    source: Recording,
    plot: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Draw the pitch over the spectrogram: .png, .svg or .pdf.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Say what a recording holds: its style, its range, its voice type."""
    if plot and plot.suffix.lower() not in PLOT_SUFFIXES:
        raise SettingsError(f'A plot cannot be written as "{plot.name}": use {", ".join(PLOT_SUFFIXES)}.')
    from engine.analysis import analyse_file

    with progress_bar() as report:
        analysis = analyse_file(source, report)
    notes = analysis.vocal_range
    found = {
        "duration_s": round(analysis.duration_s, 3),
        "vocal_style": analysis.style,
        "vocal_range": {"min": notes.min, "max": notes.max} if notes else None,
        "voice_type": analysis.voice_type,
    }
    if plot:
        _draw(source, analysis, plot)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    typer.echo(f"length      {analysis.duration_s:.2f} s")
    typer.echo(f"style       {analysis.style}")
    typer.echo(f"range       {f'{notes.min} to {notes.max}' if notes else 'no notes found'}")
    typer.echo(f"voice type  {analysis.voice_type or 'unknown'}")


@app.command()
@in_one_sentence
def doctor() -> None:
    """Try every part of a conversion on this machine; exit status 1 if one does not work."""
    from studio.doctor import examine

    works = True
    for finding in examine():
        works &= finding.works
        typer.echo(finding)
    typer.echo("Conversions work here." if works else "Conversions cannot work here yet: see FAULT above.")
    if not works:
        raise typer.Exit(1)


@app.command()
@in_one_sentence
def demo(voice: VoiceId = DEFAULT_VOICE) -> None:
    """Convert the bundled recording with a demo voice and score the result."""
    sample = bundled_sample()
    typer.echo(f"Converting {sample.name}, a recording that comes with the project ...", err=True)
    convert(sample, voice, Path.cwd(), scores=True, transpose="auto")
    typer.echo("Listen to it, then try your own: python -m studio convert RECORDING --transpose auto", err=True)
    typer.echo("The page comes with a later release.", err=True)


def bundled_sample() -> Path:
    """The recording that `demo` converts. Raises EngineError if the installation lacks it."""
    import engine

    sample = Path(engine.__path__[0]) / "samples" / SAMPLE
    if not sample.is_file():
        raise EngineError(f'The bundled recording "{SAMPLE}" is missing: install the project again.')
    return sample


def _targets(source: Path, output: Path | None, voice: str, takes: int) -> list[Path]:
    """Where each take goes: vocal.kathleen.wav, vocal.kathleen.take2.wav, ... Raises SettingsError."""
    first = output or Path()
    if first.is_dir():
        first = first / f"{source.stem}.{voice}.wav"
    rest = [first.with_name(f"{first.stem}.take{number}{first.suffix}") for number in range(2, takes + 1)]
    targets = [first, *rest]
    if any(target.exists() and source.exists() and target.samefile(source) for target in targets):
        raise SettingsError("The result would replace the recording itself: choose another name with -o.")
    return targets


def _print_scores(source: Path, result: Path, transpose: int) -> None:
    from engine.evaluation import score_performance

    for name, value in asdict(score_performance(source, result, transpose)).items():
        shown = "does not apply" if value is None else f"{value:.3f}"
        typer.echo(f"  {name.replace('_', ' '):<16}{shown}", err=True)


def _draw(source: Path, analysis: Any, target: Path) -> None:
    """Write the plot, whole or not at all. Raises AudioError where that fails."""
    from engine.audio import writing_errors
    from engine.plots import plot_file

    figure = plot_file(source, analysis)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with writing_errors(target):
            figure.savefig(unfinished, format=target.suffix.lower().removeprefix("."))
            os.replace(unfinished, target)
    finally:
        with suppress(OSError):  # it has its final name, or was never there
            unfinished.unlink()
