"""Interactive plots with a choice of time window and frequency scale."""

from collections.abc import Callable, Sequence
from pathlib import Path

import ipywidgets
from matplotlib.figure import Figure

from engine.analysis.comparison import Performed, compare_recordings
from engine.analysis.pitch import TRUSTED
from engine.analysis.spectrogram import SCALES
from engine.plots.conversion import plot_conversion
from engine.plots.recording import Look, look_at, plot_recording, plot_two_recordings
from engine.texts import ntr, numeral, tr
from engine.units import FRAME_RATE
from engine.widgets.choosers import RecordingChooser
from engine.widgets.showing import figure_image, sentence, show_figure

_SHOWN_S = 10.0  # of a recording at first
WIDE = "min(100%, 44em)"


def explorer(recordings: RecordingChooser) -> ipywidgets.Widget:
    """Plot the chosen recording, with a choice of time window and frequency scale."""
    look = _looking(recordings)
    window, scale = time_window(recordings.audio.duration_s), _scale()
    notes = ipywidgets.Checkbox(value=True, description="notes", indent=False)

    def draw() -> Figure:
        start_s, end_s = window.value
        return plot_recording(look(), start_s, end_s, scale.value, notes.value)

    recordings.follow(lambda: _fit(window, recordings.audio.duration_s))
    return redrawn(draw, [window, scale, notes], recordings)


def comparer(first: RecordingChooser, second: RecordingChooser) -> ipywidgets.Widget:
    """Plot two recordings side by side and in common axes, and describe their difference."""
    looks = _looking(first), _looking(second)
    scale, message = _scale(), ipywidgets.HTML()

    def draw() -> Figure:
        one, other = (look() for look in looks)
        message.value = sentence(describe_difference(one, other))
        return plot_two_recordings(one, other, scale.value)

    return ipywidgets.VBox([redrawn(draw, [scale], first, second), message])


def describe_difference(first: Look, second: Look) -> str:
    """Describe in a sentence or two how the second recording differs from the first."""
    found = compare_recordings(_performed(first), _performed(second))
    parts = []
    if found.is_aligned:
        parts.append(_later(found.offset_s))
    else:
        parts.append(tr("They are not the same performance: their timing differs."))
    if found.semitones is not None and found.louder_db is not None:
        parts += [_higher(round(found.semitones, 1)), _louder(found.louder_db)]
    if found.is_aligned and found.same_notes is not None:
        parts.append(
            tr(
                "Apart from that, {same_notes} of the frames are on the same note.",
                same_notes=f"{found.same_notes:.0%}",
            )
        )
    return " ".join(parts)


def _later(offset_s: float) -> str:
    if not offset_s:
        return tr("They are sung at the same times.")
    if offset_s > 0:
        return tr("It is the same performance, the second {offset_s} s later.", offset_s=numeral(offset_s, ".1f"))
    return tr("It is the same performance, the second {offset_s} s earlier.", offset_s=numeral(-offset_s, ".1f"))


def _higher(semitones: float) -> str:
    if not semitones:
        return tr("The second is at the same pitch.")
    if semitones > 0:
        return ntr(
            "The second is {semitones} semitone higher.",
            "The second is {semitones} semitones higher.",
            semitones=numeral(semitones, ".1f"),
        )
    return ntr(
        "The second is {semitones} semitone lower.",
        "The second is {semitones} semitones lower.",
        semitones=numeral(-semitones, ".1f"),
    )


def _louder(louder_db: float) -> str:
    if louder_db >= 0:
        return tr("It is {louder_db} dB louder.", louder_db=numeral(louder_db, ".1f"))
    return tr("It is {louder_db} dB quieter.", louder_db=numeral(-louder_db, ".1f"))


def conversion_viewer(before: Look, takes: Sequence[Look], transpose: float) -> ipywidgets.Widget:
    """Plot each take before and after with both pitch curves, with a choice of time window and scale."""
    take = ipywidgets.Dropdown(options=[(one.name, number) for number, one in enumerate(takes)], description="take")
    window, scale = time_window(before.duration_s), _scale()

    def draw() -> Figure:
        start_s, end_s = window.value
        return plot_conversion(before, takes[take.value], transpose, start_s, end_s, scale.value)

    return redrawn(draw, [take, window, scale])


def redrawn(
    draw: Callable[[], Figure], controls: Sequence[ipywidgets.Widget], *choosers: RecordingChooser
) -> ipywidgets.Widget:
    """Show controls with the figure of `draw` below them, redrawn whenever the choice changes."""

    def state() -> tuple[object, ...]:
        return (*(control.value for control in controls), *(chooser.path for chooser in choosers))

    image, drawn = figure_image(draw()), [state()]

    def redraw(change: object = None) -> None:
        if state() != drawn[0]:
            drawn[0] = state()
            show_figure(image, draw())

    for control in controls:
        control.observe(redraw, "value")
    for chooser in choosers:
        chooser.follow(redraw)
    return ipywidgets.VBox([*controls, image])


def _looking(recordings: RecordingChooser) -> Callable[[], Look]:
    """Return a function for the look of the chosen recording, computed on first use."""
    looked: list[tuple[Path, Look]] = []

    def look() -> Look:
        if not looked or looked[0][0] != recordings.path:
            looked[:] = [(recordings.path, look_at(recordings.audio, recordings.name))]
        return looked[0][1]

    return look


def time_window(duration_s: float) -> ipywidgets.Widget:
    """Return a control for the seconds that are shown."""
    slider = _in_seconds(ipywidgets.FloatRangeSlider, max=max(duration_s, 0.1), step=0.05, description="seconds")
    slider.value = (0.0, min(_SHOWN_S, slider.max))
    return slider


def moment_slider(duration_s: float, time_s: float) -> ipywidgets.Widget:
    """Return a control for one point in time."""
    return _in_seconds(ipywidgets.FloatSlider, max=duration_s, value=time_s, step=0.01, description="moment")


def _in_seconds(kind: type[ipywidgets.Widget], **given: object) -> ipywidgets.Widget:
    wide = ipywidgets.Layout(width=WIDE)
    return kind(min=0.0, readout_format=".2f", continuous_update=False, layout=wide, **given)


def _fit(window: ipywidgets.Widget, duration_s: float) -> None:
    """Adapt a window to the length of another recording."""
    if window.max != duration_s:
        with window.hold_trait_notifications():
            window.max = duration_s
            window.value = (0.0, min(_SHOWN_S, duration_s))


def _scale() -> ipywidgets.Widget:
    return ipywidgets.ToggleButtons(options=[scale.name for scale in SCALES], description="scale")


def _performed(look: Look) -> Performed:
    pitch = look.analysis.pitch
    hertz = pitch.hertz * (pitch.voicing > TRUSTED)
    return Performed(1.0 / FRAME_RATE, hertz, pitch.voicing, look.analysis.loudness_db)
