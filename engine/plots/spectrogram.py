"""Drawing spectrograms, pitch curves and notes into axes of matplotlib, on a note, mel or linear scale alike.

The height of the axes counts rows of the scale, so that all that is drawn over a spectrogram finds its place by its
frequency, whatever the scale.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from engine.analysis.notes import Note
from engine.analysis.pitch import Pitch
from engine.analysis.spectrogram import SCALES, Scale, ScaleName, measure_spectrograms
from engine.plots.analysis import DPI, INK, PITCH_COLOUR, RANGE_COLOUR
from engine.units import FRAME_RATE, frame_count, note_name, semitones_to_hertz

_MOST_COLUMNS = 1200
_DARKEST = 330  # of the grey scale, where 255 is the loudest: lines drawn over it stay visible
_MARKED_HERTZ = (100, 250, 500, 1000, 2000, 4000, 8000, 16000)
_MARKED_KILOHERTZ = (0, 5, 10, 15, 20)
_OCTAVES = (36, 48, 60, 72, 84, 96, 108)
_NAMED_SHARE = 0.015  # of what is shown; shorter notes have no room for a name
_SURE = 0.15  # of the voicing; below nothing is drawn
_DASH_FRAMES = 12  # of which half are drawn
_LEAP_SEMITONES = 3.0  # further apart, two frames are not joined


def new_figure(width: float, height: float) -> Figure:
    """An empty white figure of so many inches that belongs to nobody: no pyplot, no window, nothing to close."""
    figure = Figure(figsize=(width, height), dpi=DPI, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def scale_named(name: ScaleName) -> Scale:
    """The scale of a spectrogram by its name: note, mel or linear."""
    return next(scale for scale in SCALES if scale.name == name)


def draw_spectrogram(axes: Axes, samples: np.ndarray, scale: Scale, start_s: float = 0.0, end_s: float = 1e9) -> None:
    """The spectrogram of mono samples at SAMPLE_RATE between two moments, dark on light, and its frequency axis."""
    frames = frame_count(len(samples))
    first = min(max(round(start_s * FRAME_RATE), 0), frames - 1)
    stop = min(max(round(end_s * FRAME_RATE), first + 1), frames)
    columns = range(first, stop, -(-(stop - first) // _MOST_COLUMNS))
    (shades,) = measure_spectrograms([samples], columns, [scale])
    # a column stands around its moment
    edges_s = (np.array([first, first + len(columns) * columns.step]) - columns.step / 2) / FRAME_RATE
    axes.imshow(
        shades,
        cmap="Greys",
        vmin=0,
        vmax=_DARKEST,
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
        extent=(edges_s[0], edges_s[1], 0, scale.rows),
    )
    mark_frequencies(axes, scale)
    axes.set_xlim(first / FRAME_RATE, max(stop - 1, first + 1) / FRAME_RATE)


def mark_frequencies(axes: Axes, scale: Scale) -> None:
    """The ticks of a scale's frequencies on the height of the axes."""
    if scale.name == "note":
        hertz = [float(semitones_to_hertz(float(note))) for note in _OCTAVES]
        labels = [f"{note_name(note)}  {value:.0f} Hz" for note, value in zip(_OCTAVES, hertz, strict=True)]
    elif scale.name == "mel":
        hertz = [float(value) for value in _MARKED_HERTZ]
        labels = [f"{value} Hz" if value < 1000 else f"{value // 1000} kHz" for value in _MARKED_HERTZ]
    else:
        hertz = [1000.0 * value for value in _MARKED_KILOHERTZ]
        labels = [f"{value} kHz" for value in _MARKED_KILOHERTZ]
    axes.set_yticks(rows_at(np.array(hertz), scale), labels)
    axes.set_ylim(0, scale.rows)


def rows_at(hertz: np.ndarray, scale: Scale) -> np.ndarray:
    """Where frequencies lie on the height of a scale, in rows; its ends for what is beyond them."""
    rows: np.ndarray = np.interp(hertz, scale.edges_hertz, np.arange(scale.rows + 1))
    return rows


def draw_pitch(axes: Axes, pitch: Pitch, scale: Scale, colour: str = PITCH_COLOUR, dashed: bool = False) -> None:
    """A pitch curve, one value every 10 ms from 0 on: solid where it is sure, fading out with the voicing.

    Dashed it is thinner, and may lie over another one.
    """
    times_s = np.arange(len(pitch)) / FRAME_RATE
    points = np.stack((times_s, rows_at(pitch.hertz, scale)), axis=1)
    segments = np.stack((points[:-1], points[1:]), axis=1)
    shown = np.minimum(pitch.voicing[:-1], pitch.voicing[1:])
    inside = (pitch.hertz > scale.lowest_hertz) & (pitch.hertz < scale.highest_hertz)
    joined = (shown > _SURE) & (np.abs(np.diff(pitch.semitones)) < _LEAP_SEMITONES) & inside[:-1] & inside[1:]
    if dashed:
        joined &= np.arange(len(joined)) % _DASH_FRAMES < _DASH_FRAMES // 2
    colours = np.tile((*to_rgb(colour), 1.0), (int(joined.sum()), 1))
    colours[:, 3] = shown[joined] ** 2
    width = 1.4 if dashed else 2.2
    if not dashed:
        sure = joined & pitch.voiced[:-1]
        pale_edge = LineCollection(list(segments[sure]), colors="white", linewidths=width + 2.3, zorder=3)
        pale_edge.set_capstyle("round")
        axes.add_collection(pale_edge, autolim=False)
    line = LineCollection(list(segments[joined]), colors=colours, linewidths=width, zorder=5 if dashed else 4)
    if not dashed:
        line.set_capstyle("round")
    axes.add_collection(line, autolim=False)


def draw_notes(axes: Axes, notes: Sequence[Note], scale: Scale) -> None:
    """Notes as bars at their pitch, their names above them where there is room."""
    start_s, end_s = axes.get_xlim()
    for note in notes:
        if note.end_s <= start_s or note.start_s >= end_s:
            continue
        (row,) = rows_at(semitones_to_hertz(np.array([float(note.midi)])), scale)
        axes.plot([note.start_s, note.end_s], [row, row], color=RANGE_COLOUR, linewidth=9, alpha=0.3, zorder=2)
        if note.seconds > _NAMED_SHARE * (end_s - start_s):
            text = axes.annotate(
                note_name(note.midi),
                (max(note.start_s, start_s), row),
                xytext=(0, 7),
                textcoords="offset points",
                color=RANGE_COLOUR,
                fontsize=8.5,
                zorder=6,
                annotation_clip=True,
            )
            text.set_path_effects([withStroke(linewidth=2.5, foreground="white")])


def title(axes: Axes, text: str, colour: str = INK) -> None:
    """A title as all our pictures have it, at the left; what it says is never taken for a formula."""
    axes.set_title(text, color=colour, fontsize=11, loc="left", parse_math=False)
