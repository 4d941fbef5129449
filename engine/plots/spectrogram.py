"""Draw spectrograms, pitch curves and notes into matplotlib axes whose height is frequency in hertz.

The axes are librosa's (McFee et al., 2015, `librosa.display.specshow`): times in seconds or minutes, frequencies as
note names or hertz, so anything drawn over a spectrogram is placed by its own time and frequency.
"""

from collections.abc import Iterable, Sequence
from functools import partial

import librosa.display
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.patheffects import withStroke

from engine.analysis.notes import Note
from engine.analysis.pitch import Pitch
from engine.analysis.spectrogram import SCALES, Scale, ScaleName, measure_spectrograms
from engine.analysis.vocal_range import VocalRange
from engine.plots.style import INK, LOUDNESS_COLOUR, PITCH_COLOUR, RANGE_COLOUR, grid
from engine.texts import tr
from engine.units import FRAME_RATE, note_name, semitones_to_hertz

_MOST_COLUMNS = 1200
_MOST_PITCH_POINTS = 20_000
_DARKEST = 330  # of the grey scale, where 255 is the loudest: lines drawn over it stay visible
_AXIS_KIND = {"note": "cqt_note", "mel": "mel", "linear": "linear"}  # as specshow names them
_NAMED_SHARE = 0.015  # of the time shown; shorter notes have no space for a name
_SURE = 0.15  # of the voicing; nothing is drawn below
_DASH_FRAMES = 12  # of which half are drawn
_LEAP_SEMITONES = 3.0  # a line connects two frames only if they are closer
_QUIETEST_SHOWN_DB = -80.0


def scale_named(name: ScaleName) -> Scale:
    """Return the scale of a spectrogram by its name: note, mel or linear."""
    return next(scale for scale in SCALES if scale.name == name)


def draw_spectrogram(
    axes: Axes,
    pieces: Iterable[np.ndarray],
    frames: int,
    scale: Scale,
    start_s: float = 0.0,
    end_s: float = float("inf"),
) -> None:
    """Draw the spectrogram between two points in time, dark on light, with its frequency and time axes.

    pieces: the recording as mono samples at SAMPLE_RATE, `frames` frames in all; it need not be in memory at once. At
    most _MOST_COLUMNS columns are drawn, so a long recording is sampled.
    """
    first = min(max(round(start_s * FRAME_RATE), 0), frames - 1)
    stop = frames if end_s == float("inf") else min(max(round(end_s * FRAME_RATE), first + 1), frames)
    columns = range(first, stop, -(-(stop - first) // _MOST_COLUMNS))
    (shades,) = measure_spectrograms(pieces, columns, [scale])
    draw_levels(axes, shades, np.asarray(columns) / FRAME_RATE, scale.centres_hertz, scale, (0, _DARKEST))
    axes.set_xlim(first / FRAME_RATE, max(stop - 1, first + 1) / FRAME_RATE)


def draw_levels(
    axes: Axes,
    levels: np.ndarray,
    times_s: np.ndarray,
    hertz: np.ndarray,
    scale: Scale,
    limits: tuple[float, float],
    cmap: str = "Greys",
) -> None:
    """Draw levels (rows, columns) at times and frequencies on the axes of a scale, between two limits of level."""
    if len(times_s) == 1:  # one column has no width of its own
        times_s, levels = np.array([times_s[0], times_s[0] + 1 / FRAME_RATE]), np.repeat(levels, 2, axis=1)
    draw = partial(librosa.display.specshow, levels, x_axis="time", y_axis=_AXIS_KIND[scale.name], shading="nearest")
    draw(x_coords=times_s, y_coords=hertz, cmap=cmap, ax=axes, vmin=limits[0], vmax=limits[1])
    axes.set_ylim(scale.lowest_hertz, scale.highest_hertz)
    axes.set_ylabel("")
    axes.set_xlabel("")


def draw_pitch(axes: Axes, pitch: Pitch, colour: str = PITCH_COLOUR, dashed: bool = False) -> None:
    """Draw a pitch curve, one value every 10 ms from 0 s: solid where voiced, fading out with the voicing.

    A dashed curve is thinner, to be drawn over another.
    """
    step = -(-len(pitch) // _MOST_PITCH_POINTS)
    times_s = np.arange(0, len(pitch), step) / FRAME_RATE
    pitch = pitch[::step]
    points = np.stack((times_s, pitch.hertz), axis=1)
    segments = np.stack((points[:-1], points[1:]), axis=1)
    shown = np.minimum(pitch.voicing[:-1], pitch.voicing[1:])
    joined = (shown > _SURE) & (np.abs(np.diff(pitch.semitones)) < _LEAP_SEMITONES)
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


def draw_notes(axes: Axes, notes: Sequence[Note]) -> None:
    """Draw notes as bars at their pitch, with their names above them where there is space."""
    start_s, end_s = axes.get_xlim()
    write = partial(axes.annotate, textcoords="offset points", color=RANGE_COLOUR)
    for note in notes:
        if note.end_s <= start_s or note.start_s >= end_s:
            continue
        hertz = float(semitones_to_hertz(float(note.midi)))
        axes.plot([note.start_s, note.end_s], [hertz, hertz], color=RANGE_COLOUR, linewidth=9, alpha=0.3, zorder=2)
        if note.seconds > _NAMED_SHARE * (end_s - start_s):
            name, place = note_name(note.midi), (max(note.start_s, start_s), hertz)
            edge = [withStroke(linewidth=2.5, foreground="white")]
            write(name, place, xytext=(0, 7), fontsize=8.5, zorder=6, annotation_clip=True, path_effects=edge)


def draw_range(axes: Axes, found: VocalRange | None) -> None:
    """Draw a vocal range as two lines with the names of the notes, if there is one."""
    if found is None:
        return
    style = partial(axes.annotate, fontweight="bold", annotation_clip=False)
    write = partial(style, textcoords="offset points", color=RANGE_COLOUR)
    for number, side in ((found.lowest, "top"), (found.highest, "bottom")):
        hertz = float(semitones_to_hertz(float(number)))
        axes.axhline(hertz, color=RANGE_COLOUR, linewidth=0.9, linestyle=(0, (5, 3)), zorder=2)
        write(note_name(number), (1.0, hertz), xycoords=("axes fraction", "data"), xytext=(5, 0), va=side)


def draw_loudness(axes: Axes, loudness_db: np.ndarray, colour: str = LOUDNESS_COLOUR, filled: bool = True) -> None:
    """Draw levels in dB, one every 10 ms, down to -80 dB; for a long recording, the maximum of each section."""
    starts = np.arange(0, len(loudness_db), max(1, len(loudness_db) // _MOST_COLUMNS))
    level_db = np.maximum.reduceat(np.maximum(loudness_db, _QUIETEST_SHOWN_DB), starts)
    if filled:
        axes.fill_between(starts / FRAME_RATE, level_db, _QUIETEST_SHOWN_DB, color=colour, alpha=0.25, linewidth=0)
    axes.plot(starts / FRAME_RATE, level_db, color=colour, linewidth=1.0)
    axes.set_ylim(_QUIETEST_SHOWN_DB, 0.0)
    axes.set_ylabel(tr("loudness (dB)"), color=INK)
    grid(axes)
