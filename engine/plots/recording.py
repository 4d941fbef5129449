"""Plot recordings: waveform, spectrogram, pitch, notes and loudness of any part, and two recordings side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import librosa.display
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.ndimage import uniform_filter1d

from engine.analysis.notes import Note, find_notes, measure_histogram
from engine.analysis.recording import Analysis, analyse, mono_pieces
from engine.analysis.spectrogram import NOTE, ScaleName, levels_of, windows_around
from engine.analysis.vocal_range import VocalRange
from engine.audio.files import Recording, audio_of, open_audio
from engine.audio.resampling import resample
from engine.plots.spectrogram import draw_loudness, draw_notes, draw_pitch, draw_range, draw_spectrogram, scale_named
from engine.plots.style import (
    INK,
    PALE_INK,
    PITCH_COLOUR,
    RANGE_COLOUR,
    SIZE_INCHES,
    dress,
    duration_label,
    grid,
    mark_notes,
    new_figure,
    title,
)
from engine.reprs import Brief
from engine.texts import tr
from engine.units import FRAME_RATE, SAMPLE_RATE, frame_count, semitones_to_hertz

_WAVEFORM_COLUMNS = 1500
_NOTES_BESIDE = 2  # shown on each side of those that are sung
_MEAN_COLUMNS = 400  # of a mean spectrum, spread over the recording
_MEAN_ROWS = 9  # of the mel scale, over which it is smoothed
_MEAN_SHOWN_DB = 70.0
_UNKNOWN_RANGE = VocalRange("C3", "C5")  # shown where nothing is voiced
COLOURS = (PITCH_COLOUR, RANGE_COLOUR)  # of the first and the second recording


@dataclass(frozen=True, eq=False, repr=False)
class Look(Brief):
    """A recording with everything needed to plot it, computed once; for recordings of up to a few minutes.

    - name: for titles
    - mono: float32 (samples,), the recording at SAMPLE_RATE
    - analysis: its curves
    - notes: its notes
    """

    name: str
    mono: np.ndarray
    analysis: Analysis
    notes: Sequence[Note]

    @property
    def duration_s(self) -> float:
        """Duration in seconds."""
        return len(self.mono) / SAMPLE_RATE


def describe(analysis: Analysis) -> str:
    """Describe a recording in one line: style and range, or that there is no voice."""
    if analysis.vocal_range is None:
        return tr("No voice found")
    notes = tr("{min} to {max}", min=analysis.vocal_range.min, max=analysis.vocal_range.max)
    return f"{analysis.style.capitalize()}, {notes}"


def plot_analysis(analysis: Analysis) -> Figure:
    """Plot the curves of an analysis: pitch and notes over time, loudness below, range and style in the title.

    Parameters
    ----------
    analysis : Analysis
        Of a recording of any length; the recording itself is not needed.

    Returns
    -------
    matplotlib.figure.Figure
        The figure that a notebook shows for an analysis.

    Examples
    --------
    >>> from engine import analyse
    >>> plot_analysis(analyse("vocal.flac")).savefig("curves.png")
    """
    figure = new_figure(12.0, 4.5)
    pitch, loudness = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    pitch.set_yscale("log", base=2)
    pitch.yaxis.set_major_formatter(librosa.display.NoteFormatter())
    found = analysis.vocal_range or _UNKNOWN_RANGE
    pitch.set_ylim(*semitones_to_hertz(np.array([found.lowest - 4.0, found.highest + 4.0])))
    pitch.set_xlim(0.0, max(analysis.duration_s, 1.0 / FRAME_RATE))
    draw_range(pitch, analysis.vocal_range)
    draw_notes(pitch, find_notes(analysis.pitch, analysis.loudness_db))
    draw_pitch(pitch, analysis.pitch)
    draw_loudness(loudness, analysis.loudness_db)
    for axes in (pitch, loudness):
        dress(axes)
    loudness.xaxis.set_major_formatter(librosa.display.TimeFormatter())
    loudness.set_xlabel("time", color=INK)
    title(pitch, f"{describe(analysis)}   ({duration_label(analysis.duration_s)})")
    return figure


def plot_file(path: Path | str, analysis: Analysis) -> Figure:
    """Plot pitch over the spectrogram on a note scale, loudness below it, range and style in the title.

    Parameters
    ----------
    path : Path or str
        A file of any length, which is read block by block.
    analysis : Analysis
        Of that file.

    Returns
    -------
    matplotlib.figure.Figure
        To show, or to save with `savefig`.

    Raises
    ------
    AudioError
        If the file cannot be read.

    Examples
    --------
    >>> from engine import analyse_file
    >>> plot_file("vocal.flac", analyse_file("vocal.flac")).savefig("vocal.png")
    """
    figure = new_figure(*SIZE_INCHES)
    spectrogram, loudness = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    with open_audio(path) as source:
        draw_spectrogram(spectrogram, mono_pieces(source), len(analysis.pitch), NOTE)
    draw_range(spectrogram, analysis.vocal_range)
    draw_pitch(spectrogram, analysis.pitch)
    draw_loudness(loudness, analysis.loudness_db)
    for axes in (spectrogram, loudness):
        dress(axes)
    spectrogram.set_xlim(0.0, max(analysis.duration_s, 1.0 / FRAME_RATE))
    spectrogram.tick_params(labelbottom=False)
    loudness.set_xlabel("time", color=INK)
    title(spectrogram, f"{describe(analysis)}   ({duration_label(analysis.duration_s)})")
    return figure


def look_at(recording: Recording, name: str = "") -> Look:
    """Analyse a recording for `plot_recording`, once for all of its plots.

    Parameters
    ----------
    recording : Audio, Path, str or pair (samples, rate)
        Seconds to a few minutes.
    name : str
        For titles.

    Returns
    -------
    Look
        The recording as mono at SAMPLE_RATE, its analysis and its notes.

    Raises
    ------
    AudioError
        If it is not a recording, or the file cannot be read.

    Examples
    --------
    >>> look_at("vocal.flac", "my vocal").name
    'my vocal'
    """
    audio = audio_of(recording)
    found = analyse(audio)
    mono = resample(audio.mono(), audio.rate, SAMPLE_RATE)
    return Look(name, mono, found, find_notes(found.pitch, found.loudness_db))


def plot_recording(
    look: Look, start_s: float = 0.0, end_s: float | None = None, scale: ScaleName = "note", notes: bool = True
) -> Figure:
    """Plot waveform, spectrogram with pitch, range and notes, and loudness, between two points in time.

    The pitch line fades with the voicing and is absent where nothing is voiced.

    Parameters
    ----------
    look : Look
        Made by `look_at`.
    start_s, end_s : float, optional
        What to show, in seconds; by default all of it.
    scale : str
        Of the frequencies: note, mel or linear.
    notes : bool
        Whether notes are drawn.

    Returns
    -------
    matplotlib.figure.Figure
        To show, or to save with `savefig`.

    Examples
    --------
    >>> plot_recording(look_at("vocal.flac"), 0.5, 2.0, "mel").savefig("part.png")
    """
    start_s, end_s = _within(look, start_s, end_s)
    figure = new_figure(12.0, 7.6)
    waveform, spectrogram, loudness = figure.subplots(3, 1, sharex=True, height_ratios=(1, 4, 1))
    _draw_waveform(waveform, look, start_s, end_s)
    draw_spectrogram(spectrogram, [look.mono], frame_count(len(look.mono)), scale_named(scale), start_s, end_s)
    spectrogram.set_xlim(start_s, end_s)
    draw_range(spectrogram, look.analysis.vocal_range)
    if notes:
        draw_notes(spectrogram, look.notes)
    draw_pitch(spectrogram, look.analysis.pitch)
    draw_loudness(loudness, look.analysis.loudness_db)
    for axes in (waveform, spectrogram, loudness):
        dress(axes)
    loudness.set_xlabel("time", color=INK)
    name = f"{look.name}: " if look.name else ""
    title(waveform, f"{name}{describe(look.analysis)}, {look.duration_s:.1f} s")
    return figure


def plot_two_recordings(first: Look, second: Look, scale: ScaleName = "note") -> Figure:
    """Plot two recordings side by side, and below them their notes, loudness and mean spectra in common axes."""
    figure = new_figure(13.0, 8.2)
    halves = figure.add_gridspec(2, 1, height_ratios=(1.5, 1.0))
    above, below = figure.add_subfigure(halves[0]), figure.add_subfigure(halves[1])
    shown = (first, second)
    for axes, look, colour in zip(above.subplots(1, 2, sharey=True), shown, COLOURS, strict=True):
        draw_spectrogram(axes, [look.mono], frame_count(len(look.mono)), scale_named(scale))
        draw_pitch(axes, look.analysis.pitch, colour)
        axes.set_xlabel("time", color=INK)
        dress(axes)
        title(axes, f"{look.name}: {describe(look.analysis)}", colour)
    histogram, loudness, spectrum = below.subplots(1, 3)
    _draw_histograms(histogram, shown)
    for look, colour in zip(shown, COLOURS, strict=True):
        draw_loudness(loudness, look.analysis.loudness_db, colour, filled=False)
    loudness.set_xlabel("time", color=INK)
    title(loudness, tr("loudness (dB)"))
    loudness.set_ylabel("")
    _draw_mean_spectra(spectrum, shown)
    for axes in (histogram, loudness, spectrum):
        dress(axes)
    return figure


def _within(look: Look, start_s: float, end_s: float | None) -> tuple[float, float]:
    """Limit a section to the recording, so that it is not empty."""
    end_s = look.duration_s if end_s is None else min(end_s, look.duration_s)
    shortest_s = 1.0 / FRAME_RATE
    start_s = min(max(start_s, 0.0), max(look.duration_s - shortest_s, 0.0))
    return start_s, max(end_s, start_s + shortest_s)


def _draw_waveform(axes: Axes, look: Look, start_s: float, end_s: float) -> None:
    """Draw the lowest and highest sample in each column, or the samples themselves of a short section."""
    first, stop = round(start_s * SAMPLE_RATE), max(round(end_s * SAMPLE_RATE), round(start_s * SAMPLE_RATE) + 1)
    samples = look.mono[first:stop]
    if not len(samples):
        samples = np.zeros(1, np.float32)
    step = -(-len(samples) // _WAVEFORM_COLUMNS)
    starts = np.arange(0, len(samples), step)
    times_s = (first + starts) / SAMPLE_RATE
    lowest, highest = np.minimum.reduceat(samples, starts), np.maximum.reduceat(samples, starts)
    axes.fill_between(times_s, lowest, highest, color=PALE_INK, linewidth=0.6)
    axes.set_ylim(-1.02 * np.abs(samples).max(initial=0.01), 1.02 * np.abs(samples).max(initial=0.01))
    axes.set_ylabel("waveform", color=INK)


def _draw_histograms(axes: Axes, looks: Sequence[Look]) -> None:
    histograms = [measure_histogram(look.analysis.pitch, look.analysis.loudness_db) for look in looks]
    sung = np.flatnonzero(sum(histograms) > 0.05)
    low, high = (sung[0], sung[-1]) if len(sung) else (57, 57)
    notes = np.arange(low - _NOTES_BESIDE, high + _NOTES_BESIDE + 1)
    for number, (seconds, colour) in enumerate(zip(histograms, COLOURS, strict=True)):
        axes.bar(notes + (number - 0.5) * 0.4, seconds[notes], width=0.4, color=colour, alpha=0.85)
    mark_notes(axes, int(notes[0]), int(notes[-1]), most=12)
    title(axes, tr("seconds on each note"))


def _draw_mean_spectra(axes: Axes, looks: Sequence[Look]) -> None:
    """Draw each recording's mean level over frequency, with its maximum at 0 dB."""
    scale = scale_named("mel")
    for look, colour in zip(looks, COLOURS, strict=True):
        frames = len(look.analysis.pitch)
        moments = range(0, frames, -(-frames // _MEAN_COLUMNS))
        levels_db = levels_of(np.stack(list(windows_around([look.mono], moments))), scale)
        mean_db = 10.0 * np.log10((10.0 ** (levels_db / 10.0)).mean(0))
        mean_db = uniform_filter1d(mean_db, _MEAN_ROWS)
        axes.plot(scale.centres_hertz / 1000.0, mean_db - mean_db.max(), color=colour, linewidth=1.3)
    axes.set_ylim(-_MEAN_SHOWN_DB, 3.0)
    axes.set_xlabel(tr("frequency (kHz)"), color=INK)
    grid(axes)
    title(axes, tr("mean spectrum (dB)"))
