"""Plot the source-filter parts: each source, its filter and the result, and spectra at one point in time."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from engine.analysis.envelope import band_centres
from engine.analysis.spectrogram import MEL, Scale
from engine.audio.files import Audio
from engine.plots.spectrogram import draw_levels, draw_spectrogram
from engine.plots.style import INK, LOUDNESS_COLOUR, PITCH_COLOUR, RANGE_COLOUR, dress, grid, new_figure, title
from engine.research.demonstrations.source_filter import SourceFilterParts
from engine.units import FRAME_RATE, HOP, SAMPLE_RATE, decibels, frame_count

_FILTER_SHADES_DB = 70.0
_MOMENT = 2048  # samples around a moment: 46 ms
_SHOWN_DB = 90.0  # of a moment's spectra


def plot_source_filter_parts(parts: SourceFilterParts, start_s: float = 0.0, end_s: float | None = None) -> Figure:
    """Plot sources, filters and results as six spectrograms, and their sum: every row is source x filter = result."""
    end_s = parts.whole.duration_s if end_s is None else end_s
    figure = new_figure(13.0, 8.5)
    grid = figure.subplots(3, 3, sharex=True, sharey=True)
    rows = (
        ("pulses", parts.pulses, parts.harmonic_gain_db, parts.harmonic, "harmonic part"),
        ("noise", parts.noise, parts.noise_gain_db, parts.breath, "breath and consonants"),
    )
    for (source_axes, filter_axes, result_axes), (name, source, gain_db, result, result_name) in zip(
        grid[:2], rows, strict=True
    ):
        _draw(source_axes, source, start_s, end_s, f"source: {name}")
        _draw_filter(filter_axes, gain_db, MEL, start_s, end_s)
        title(filter_axes, f"through the filter of the {name}")
        _draw(result_axes, result, start_s, end_s, f"= {result_name}")
    _draw(grid[2, 0], parts.whisper, start_s, end_s, "the filter alone, as a whisper")
    _draw(grid[2, 1], parts.drone, start_s, end_s, "the filter alone, on one note")
    _draw(grid[2, 2], parts.whole, start_s, end_s, "= whole: both results added")
    for axes in grid.flat:
        dress(axes)
        axes.label_outer()
    for axes in grid[2]:
        axes.set_xlabel("time (seconds)", color=INK)
    return figure


def plot_moment(parts: SourceFilterParts, time_s: float) -> Figure:
    """Plot the spectra around one point in time: the two results, and the filter of the pulses over them."""
    frame = min(max(round(time_s * FRAME_RATE), 0), len(parts.pitch) - 1)
    figure = new_figure(12.0, 4.6)
    axes = figure.subplots()
    harmonic, breath = (_spectrum_db(audio, frame) for audio in (parts.harmonic, parts.breath))
    hertz = np.arange(len(harmonic)) * SAMPLE_RATE / _MOMENT
    top_db = float(max(harmonic.max(), breath.max()))
    axes.fill_between(hertz, harmonic, top_db - _SHOWN_DB, color=PITCH_COLOUR, alpha=0.25, linewidth=0)
    axes.plot(hertz, harmonic, color=PITCH_COLOUR, linewidth=1.0, label="harmonic part")
    axes.plot(hertz, breath, color=LOUDNESS_COLOUR, linewidth=1.0, label="breath and consonants")
    # the filter has its own unit; it is shifted to the peaks that it shapes
    gain_db = parts.harmonic_gain_db[frame]
    shaped = np.interp(hertz, band_centres(), gain_db)
    loud = harmonic > top_db - 40.0
    shift_db = float(np.percentile((harmonic - shaped)[loud], 90)) if loud.any() else 0.0
    axes.plot(band_centres(), gain_db + shift_db, color=RANGE_COLOUR, linewidth=2.0, label="filter of the pulses")
    axes.set_xlim(0, 8000)
    axes.set_ylim(top_db - _SHOWN_DB, top_db + 8.0)
    axes.set_xlabel("frequency (Hz)", color=INK)
    axes.set_ylabel("level (dB)", color=INK)
    grid(axes)
    axes.legend(frameon=False, fontsize=9, labelcolor=INK)
    dress(axes)
    voiced = f"pulses at {parts.pitch.hertz[frame]:.0f} Hz" if parts.pitch.voiced[frame] else "unvoiced"
    title(axes, f"{frame / FRAME_RATE:.2f} s: {voiced}")
    return figure


def _draw(axes: Axes, audio: Audio, start_s: float, end_s: float, text: str) -> None:
    draw_spectrogram(axes, [audio.mono()], frame_count(audio.sample_count), MEL, start_s, end_s)
    title(axes, text)


def _draw_filter(axes: Axes, gain_db: np.ndarray, scale: Scale, start_s: float, end_s: float) -> None:
    """Draw gains (frames, BANDS) as shades on a frequency scale."""
    first, stop = max(round(start_s * FRAME_RATE), 0), min(round(end_s * FRAME_RATE) + 1, len(gain_db))
    top_db = float(np.percentile(gain_db[first:stop], 99.8))
    times_s = np.arange(first, stop) / FRAME_RATE
    limits = (top_db - _FILTER_SHADES_DB, top_db)
    draw_levels(axes, gain_db[first:stop].T, times_s, band_centres(), scale, limits, "Blues")


def _spectrum_db(audio: Audio, frame: int) -> np.ndarray:
    """Compute levels in dB, (_MOMENT / 2 + 1,), of the samples around a frame."""
    padded = np.pad(audio.mono(), _MOMENT // 2)
    window = padded[frame * HOP : frame * HOP + _MOMENT] * np.hanning(_MOMENT)
    return decibels(np.abs(np.fft.rfft(window)) * (4.0 / _MOMENT))
