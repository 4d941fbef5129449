"""`analyse`: report a recording's style, range and voice type."""

import json
from pathlib import Path
from typing import Annotated

import typer

from studio.commands.convert import Recording
from studio.commands.failures import in_one_sentence
from studio.commands.figures import refuse_unknown_plot, write_figure
from studio.commands.progress import progress_bar
from studio.commands.wording import filled, padded, say, translated


@in_one_sentence
def analyse(
    source: Recording,
    plot: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Draw the pitch over the spectrogram: .png, .svg or .pdf.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Analyse a recording: vocal style and range."""
    refuse_unknown_plot(plot)
    from engine.analysis.recording import analyse_file

    with progress_bar() as report:
        analysis = analyse_file(source, report)
    notes = analysis.vocal_range
    found = {
        "duration_s": round(analysis.duration_s, 3),
        "vocal_style": analysis.style,
        "vocal_range": {"min": notes.min, "max": notes.max} if notes else None,
        "warning": analysis.warning,
    }
    if plot:
        from engine.plots.recording import plot_file

        write_figure(plot_file(source, analysis), plot)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    typer.echo(padded("length", 12) + translated(f"{analysis.duration_s:.2f} s"))
    typer.echo(padded("style", 12) + translated(analysis.style))
    found_notes = filled("{min} to {max}", min=notes.min, max=notes.max) if notes else translated("no notes found")
    typer.echo(padded("range", 12) + found_notes)
    if analysis.warning:
        say(analysis.warning)
