"""`analyse`: report a recording's style, range and voice type, its pitch and its notes."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.files import on_track, write_atomically, writing_errors
from engine.texts import tr
from studio.commands.arguments import Overwrite, Recording, Track
from studio.commands.failures import in_one_sentence
from studio.commands.plot_files import refuse_unknown_plot, write_figure
from studio.commands.progress import progress_bar
from studio.commands.recordings import find_recording
from studio.commands.result_names import free_path
from studio.commands.wording import padded, say, translated
from studio.settings.options import option

if TYPE_CHECKING:  # the engine takes seconds to load
    from engine.analysis.notes import Note
    from engine.analysis.recording import Analysis


@in_one_sentence
def analyse(
    source: Recording,
    plot: Annotated[Path | None, option("OUT", tr("Draw the pitch over the spectrogram: .png, .svg or .pdf."))] = None,
    csv: Annotated[Path | None, option("OUT", tr("Write pitch, voicing and loudness every 10 ms as a table."))] = None,
    midi: Annotated[Path | None, option("OUT", tr("Write the notes as MIDI."))] = None,
    overwrite: Overwrite = False,
    track: Track = None,
    as_json: Annotated[bool, option(None, tr("Print JSON, with pitch and notes."), "--json")] = False,
) -> None:
    """Analyse a recording: vocal style, range, pitch and notes."""
    find_recording(source)
    source = on_track(source, track)
    refuse_unknown_plot(plot)
    plot, csv, midi = (path and free_path(path, overwrite, [source]) for path in (plot, csv, midi))
    from engine.analysis.notes import find_notes, notes_as_midi
    from engine.analysis.recording import analyse_file

    with progress_bar() as report:
        analysis = analyse_file(source, report)
    notes = find_notes(analysis.pitch, analysis.loudness_db)
    if plot:
        from engine.plots.recording import plot_file

        write_figure(plot_file(source, analysis), plot)
    if csv:
        _write(csv, _table(analysis))
    if midi:
        _write(midi, notes_as_midi(notes))
    if as_json:
        typer.echo(json.dumps(_described(analysis, notes), indent=2))
        return
    _print(analysis, notes)


def _described(analysis: "Analysis", notes: "list[Note]") -> dict[str, object]:
    """Return the analysis for programs; pitch is null where nothing is voiced."""
    from engine.units import FRAME_RATE, note_name

    found, pitch = analysis.vocal_range, analysis.pitch
    hertz = [round(float(one), 2) if voiced else None for one, voiced in zip(pitch.hertz, pitch.voiced, strict=True)]
    return {
        "duration_s": round(analysis.duration_s, 3),
        "vocal_style": analysis.style,
        "vocal_range": {"min": found.min, "max": found.max} if found else None,
        "warning": analysis.warning,
        "pitch": {"frames_per_second": FRAME_RATE, "hertz": hertz},
        "notes": [{**asdict(note), "name": note_name(note.midi)} for note in notes],
    }


def _print(analysis: "Analysis", notes: "list[Note]") -> None:
    found = analysis.vocal_range
    typer.echo(padded(tr("length"), 12) + translated(f"{analysis.duration_s:.2f} s"))
    typer.echo(padded(tr("style"), 12) + translated(analysis.style))
    range_ = (
        translated(tr("{min} to {max}", min=found.min, max=found.max)) if found else translated(tr("no notes found"))
    )
    typer.echo(padded(tr("range"), 12) + range_)
    typer.echo(padded(tr("notes"), 12) + str(len(notes)))
    if analysis.warning:
        say(analysis.warning)


def _table(analysis: "Analysis") -> str:
    import numpy as np

    from engine.analysis.pitch import TRUSTED
    from engine.analysis.timeline import pitch_table

    pitch = analysis.pitch
    return pitch_table(np.where(pitch.voicing > TRUSTED, pitch.hertz, 0.0), pitch.voicing, analysis.loudness_db)


def _write(target: Path, content: str | bytes) -> None:
    with writing_errors(target):
        write_atomically(target, content)
