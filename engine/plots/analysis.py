"""Pictures of an analysis, as matplotlib figures that belong to nobody: no pyplot, no window, nothing to close.

`figure.savefig(path)` writes a file; a notebook or a web page can show the figure as it is.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from engine.analysis.recording import Analysis, mono_pieces
from engine.analysis.spectrogram import NOTE, levels_of, windows_around
from engine.audio.files import Audio, open_audio, resample
from engine.units import FRAME_RATE, SAMPLE_RATE, note_name, semitones_to_hertz

SIZE_INCHES = (12.0, 6.5)
DPI = 110
INK, PALE_INK = "#1f2933", "#8a94a0"
PITCH_COLOUR, RANGE_COLOUR, LOUDNESS_COLOUR = "#d6246e", "#1769aa", "#2f855a"

_LOWEST_NOTE, _HIGHEST_NOTE = 36, 108  # C2 to C8 on the picture's height
_MOST_COLUMNS = 1200
_MOST_PITCH_POINTS = 20_000
_MINUTE_STEPS_S = (10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600)
_SHADES_DB = 65.0  # from white up to the darkest
_QUIETEST_SHOWN_DB = -80.0


def plot_pitch_over_spectrogram(audio: Audio, analysis: Analysis) -> Figure:
    """Pitch over the spectrogram on a note scale, loudness below it, range and style in the title."""
    mono = resample(audio.mono(), audio.rate, SAMPLE_RATE)
    return _plot([mono], analysis)


def plot_file(path: Path | str, analysis: Analysis) -> Figure:
    """The same for a file of any length, read piece by piece. Raises AudioError if it cannot be read.

    >>> from engine import analyse_file
    >>> plot_file("vocal.flac", analyse_file("vocal.flac")).savefig("vocal.png")
    """
    with open_audio(path) as source:
        return _plot(mono_pieces(source), analysis)


def describe(analysis: Analysis) -> str:
    """One line: style, range and voice type, or that there is no voice."""
    if analysis.vocal_range is None:
        return "No voice found"
    notes = f"{analysis.vocal_range.min} to {analysis.vocal_range.max}"
    return f"{analysis.style.capitalize()}, {notes}, {analysis.voice_type}"


def _plot(pieces: Iterable[np.ndarray], analysis: Analysis) -> Figure:
    figure = Figure(figsize=SIZE_INCHES, dpi=DPI, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    pitch_axes, loudness_axes = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    _draw_spectrogram(pitch_axes, pieces, analysis)
    _draw_range(pitch_axes, analysis)
    _draw_pitch(pitch_axes, analysis)
    _draw_loudness(loudness_axes, analysis)
    for axes in (pitch_axes, loudness_axes):
        dress(axes)
    end_s = max(analysis.duration_s, 1.0 / FRAME_RATE)
    pitch_axes.set_xlim(0.0, end_s)
    title = f"{describe(analysis)}   ({duration_label(analysis.duration_s)})"
    pitch_axes.set_title(title, color=INK, fontsize=13, loc="left")
    if end_s >= 60:
        step_s = next((step for step in _MINUTE_STEPS_S if end_s / step <= 12), end_s / 12)
        loudness_axes.xaxis.set_major_locator(MultipleLocator(step_s))
    loudness_axes.xaxis.set_major_formatter(lambda value, _: _clock(value, end_s))
    loudness_axes.set_xlabel("time (seconds)" if end_s < 60 else "time (minutes:seconds)", color=INK)
    return figure


def _draw_spectrogram(axes: Axes, pieces: Iterable[np.ndarray], analysis: Analysis) -> None:
    levels_db = note_spectrogram(pieces, len(analysis.pitch))
    top_db = max(float(np.percentile(levels_db, 99.8)), -60.0)
    axes.imshow(
        levels_db,
        cmap="Greys",
        vmin=top_db - _SHADES_DB,
        vmax=top_db + 20.0,  # the darkest grey stays light enough for the lines drawn over it
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
        extent=(0.0, max(analysis.duration_s, 1.0 / FRAME_RATE), _LOWEST_NOTE, _HIGHEST_NOTE),
    )
    octaves = range(_LOWEST_NOTE, _HIGHEST_NOTE + 1, 12)
    axes.set_yticks(octaves, [f"{note_name(note)}  {semitones_to_hertz(note):.0f} Hz" for note in octaves])
    axes.set_yticks([note for note in range(_LOWEST_NOTE, _HIGHEST_NOTE) if note % 12 in (4, 7)], minor=True)
    axes.set_ylim(_LOWEST_NOTE, _HIGHEST_NOTE)


def _draw_range(axes: Axes, analysis: Analysis) -> None:
    if analysis.vocal_range is None:
        return
    axes.axhspan(analysis.vocal_range.lowest, analysis.vocal_range.highest, color=RANGE_COLOUR, alpha=0.07, zorder=1)
    for note, name, side in (
        (analysis.vocal_range.lowest, analysis.vocal_range.min, "top"),
        (analysis.vocal_range.highest, analysis.vocal_range.max, "bottom"),
    ):
        axes.axhline(note, color=RANGE_COLOUR, linewidth=0.9, linestyle=(0, (5, 3)), zorder=2)
        axes.annotate(
            name,
            (1.0, note),
            xycoords=("axes fraction", "data"),
            xytext=(5, 0),
            textcoords="offset points",
            color=RANGE_COLOUR,
            va=side,
            fontweight="bold",
            annotation_clip=False,
        )


def _draw_pitch(axes: Axes, analysis: Analysis) -> None:
    """The pitch line: solid where voiced, fading out with the voicing, absent where it is only interpolated."""
    step = -(-len(analysis.pitch) // _MOST_PITCH_POINTS)
    pitch = analysis.pitch[::step]
    semitones = pitch.semitones
    points = np.stack((analysis.times_s[::step], semitones), axis=1)
    segments = np.stack((points[:-1], points[1:]), axis=1)
    shown = np.minimum(pitch.voicing[:-1], pitch.voicing[1:])
    joined = (shown > 0.15) & (np.abs(np.diff(semitones)) < 3.0)
    colours = np.tile((*to_rgb(PITCH_COLOUR), 1.0), (int(joined.sum()), 1))
    colours[:, 3] = shown[joined] ** 2
    sure = joined & pitch.voiced[:-1]
    pale_edge = LineCollection(list(segments[sure]), colors="white", linewidths=4.5, zorder=3)
    line = LineCollection(list(segments[joined]), colors=colours, linewidths=2.2, zorder=4)
    for collection in (pale_edge, line):
        collection.set_capstyle("round")
        axes.add_collection(collection, autolim=False)
    axes.set_ylabel("pitch", color=INK)


def _draw_loudness(axes: Axes, analysis: Analysis) -> None:
    times_s, level_db = _thinned(analysis.times_s, np.maximum(analysis.loudness_db, _QUIETEST_SHOWN_DB))
    axes.fill_between(times_s, level_db, _QUIETEST_SHOWN_DB, color=LOUDNESS_COLOUR, alpha=0.25, linewidth=0)
    axes.plot(times_s, level_db, color=LOUDNESS_COLOUR, linewidth=1.0)
    axes.set_ylim(_QUIETEST_SHOWN_DB, 0.0)
    axes.set_yticks((-80, -60, -40, -20, 0))
    axes.set_ylabel("loudness (dB)", color=INK)
    axes.grid(axis="y", color=PALE_INK, alpha=0.25, linewidth=0.6)


def dress(axes: Axes) -> None:
    """The look of all our pictures: two spines, quiet ticks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(PALE_INK)
    axes.tick_params(which="both", colors=INK, labelsize=9)


def _thinned(times_s: np.ndarray, level_db: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most a few thousand points, each the loudest of those it stands for."""
    step = max(1, len(level_db) // (2 * _MOST_COLUMNS))
    starts = np.arange(0, len(level_db), step)
    return times_s[starts], np.maximum.reduceat(level_db, starts)


def duration_label(seconds: float) -> str:
    """Length of a recording as a title shows it."""
    return f"{seconds:.1f} s" if seconds < 60 else f"{_clock(seconds, seconds)} minutes"


def _clock(seconds: float, end_s: float) -> str:
    return f"{seconds:g}" if end_s < 60 else f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


# ---- the spectrogram ----


def note_spectrogram(pieces: Iterable[np.ndarray], frames: int) -> np.ndarray:
    """Levels in dB on a note scale, float32 (rows, columns), three rows to the semitone from C2 up to C8.

    pieces: the recording as mono samples at SAMPLE_RATE, `frames` frames in all. There are at most _MOST_COLUMNS
    columns, so a long recording is looked at only here and there, and the sound need not be in memory at once.
    """
    step = -(-frames // _MOST_COLUMNS)
    columns = [levels_of(window[None], NOTE)[0] for window in windows_around(pieces, range(0, frames, step))]
    return np.stack(columns, axis=1)
