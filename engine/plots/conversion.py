"""Plot a conversion: before and after with both pitch curves, and how a recording fits a voice's range."""

import numpy as np
from matplotlib.figure import Figure

from engine.analysis.notes import measure_histogram
from engine.analysis.spectrogram import ScaleName
from engine.plots.recording import Look
from engine.plots.spectrogram import draw_pitch, draw_spectrogram, scale_named
from engine.plots.style import INK, PALE_INK, PITCH_COLOUR, RANGE_COLOUR, dress, mark_notes, new_figure, title
from engine.texts import ntr, numeral, tr
from engine.units import frame_count, note_number
from engine.voices.card import VoiceCard

_BESIDE = 3  # notes shown on each side


def plot_conversion(
    before: Look,
    after: Look,
    transpose: float,
    start_s: float = 0.0,
    end_s: float | None = None,
    scale: ScaleName = "note",
) -> Figure:
    """Plot the spectrograms before and after, one above the other, with pitch curves.

    The recording's pitch is blue; over the take's spectrogram it is dashed and transposed like the conversion, so that
    the two curves coincide where the melody was kept.
    """
    end_s = before.duration_s if end_s is None else end_s
    figure = new_figure(12.0, 8.2)
    above, below = figure.subplots(2, 1, sharex=True, sharey=True)
    shown = scale_named(scale)
    for axes, look in ((above, before), (below, after)):
        draw_spectrogram(axes, [look.mono], frame_count(len(look.mono)), shown, start_s, end_s)
        dress(axes)
    draw_pitch(above, before.analysis.pitch, RANGE_COLOUR)
    draw_pitch(below, after.analysis.pitch, PITCH_COLOUR)
    draw_pitch(below, before.analysis.pitch.transposed(transpose), RANGE_COLOUR, dashed=True)
    title(above, tr("before: {name}", name=before.name), RANGE_COLOUR)
    moved = (
        ntr(
            ", with the original pitch moved by {transpose} semitone",
            ", with the original pitch moved by {transpose} semitones",
            transpose=numeral(transpose, "+g"),
        )
        if transpose
        else tr(", with both pitch curves")
    )
    title(below, tr("after: {name}{moved}", name=after.name, moved=moved), PITCH_COLOUR)
    below.set_xlabel("time", color=INK)
    return figure


def seconds_outside(look: Look, card: VoiceCard, transpose: float) -> tuple[float, float]:
    """Measure the seconds of a recording, transposed by `transpose` semitones, below and above the voice's range."""
    seconds = measure_histogram(look.analysis.pitch, look.analysis.loudness_db)
    notes = np.arange(len(seconds)) + transpose
    low, high = _ends(look, card)
    return float(seconds[notes < low].sum()), float(seconds[notes > high].sum())


def _ends(look: Look, card: VoiceCard) -> tuple[int, int]:
    """Return the MIDI numbers between which a voice sings or speaks, as the recording does."""
    ends = card.range_where(look.analysis.style == "melodic")
    return note_number(ends["min"]), note_number(ends["max"])


def plot_fit(look: Look, card: VoiceCard, transpose: float) -> Figure:
    """Plot how long each note of a recording is sung, original and transposed, against the range of a voice."""
    seconds = measure_histogram(look.analysis.pitch, look.analysis.loudness_db)
    low, high = _ends(look, card)
    figure = new_figure(12.0, 2.9)
    axes = figure.subplots()
    axes.axvspan(low - 0.5, high + 0.5, color=RANGE_COLOUR, alpha=0.1, label=tr("range of {name}", name=card.name))
    sung = np.flatnonzero(seconds)
    moved = sung + transpose
    outside = (moved < low) | (moved > high)
    if transpose:
        axes.bar(sung, seconds[sung], width=0.9, color=PALE_INK, alpha=0.35, label=tr("as recorded"))
    axes.bar(moved, seconds[sung], width=0.55, color=RANGE_COLOUR, label="transposed")
    if outside.any():
        axes.bar(moved[outside], seconds[sung[outside]], width=0.55, color=PITCH_COLOUR, label="outside")
    shown = np.concatenate([[low, high], sung, moved])
    ends = int(shown.min()) - _BESIDE, int(shown.max()) + _BESIDE
    axes.set_xlim(*ends)
    mark_notes(axes, *ends, most=24)
    axes.set_ylabel("seconds", color=INK)
    axes.legend(frameon=False, fontsize=9, labelcolor=INK, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    dress(axes)
    below_s, above_s = seconds_outside(look, card, transpose)
    outside_text = (
        tr("{below_s} s outside the range", below_s=numeral(below_s + above_s, ".1f"))
        if below_s + above_s
        else tr("all within the range")
    )
    moved_text = (
        ntr(
            "{name} moved by {transpose} semitone",
            "{name} moved by {transpose} semitones",
            transpose=numeral(transpose, "+g"),
            name=look.name,
        )
        if transpose
        else tr("{name} as it is", name=look.name)
    )
    title(axes, f"{moved_text}: {outside_text}")
    return figure
