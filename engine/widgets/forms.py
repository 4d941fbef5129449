"""The conversion form: recording, voice, and every setting with its range and audible effect."""

from collections.abc import Iterable
from dataclasses import Field, fields
from pathlib import Path

import ipywidgets
from IPython.display import display

from engine.analysis.notes import measure_histogram
from engine.analysis.pitch_statistics import pitch_statistics
from engine.audio.files import Audio
from engine.conversion.key_fit import fitting_key
from engine.conversion.settings import AUTO, ConversionSettings
from engine.plots.conversion import plot_fit
from engine.plots.recording import Look, look_at
from engine.texts import ntr, numeral, tr
from engine.voices.card import DEMO_VOICES, VoiceCard, list_voices
from engine.voices.voice import Voice, load_voice
from engine.widgets.choosers import RecordingChooser, voice_chooser
from engine.widgets.showing import figure_image, sentence, show_figure

_STEPS = 100  # of a slider without whole numbers
_WIDE = "30em"  # a control with its label and number
_OWN_PLACE = ("transpose", "takes", "seed")  # settings that no preset changes


class ConversionForm:
    """A form for a conversion; `recording`, `look`, `voice` and `settings` hold the current choice.

    The plot shows how the recording fits the range of the voice with the chosen transposition, or the one selected by
    `auto`. The settings start from the preset of the recording's style.
    """

    def __init__(
        self,
        recordings: Iterable[Path | str] = (),
        chosen: str | None = None,
        voice: str | None = None,
        takes: int = 1,
        folder: Path = DEMO_VOICES,
    ) -> None:
        """List `recordings` (files or folders, by default the samples) and the voices in `folder`.

        chosen, voice, takes: the initial choice.
        """
        self._folder = folder
        self.chooser = RecordingChooser(recordings, chosen)
        self._voice = voice_chooser(folder, voice)
        self._auto = ipywidgets.Checkbox(value=True, description=tr("transpose automatically (auto)"), indent=False)
        self._controls = {one.name: _control(one) for one in fields(ConversionSettings)}
        self._controls["takes"].value = takes
        self._preset = ipywidgets.ToggleButtons(options=list(ConversionSettings.presets), description="preset")
        self._told = ipywidgets.HTML()
        self.look: Look = look_at(self.chooser.audio, self.chooser.name)
        self._preset.value = self.look.analysis.style
        self._apply_preset()
        self._show_transpose()
        self._picture = figure_image(plot_fit(self.look, self._card, self.transpose))
        self._preset.observe(lambda change: self._apply_preset(), "value")
        for control in (self._voice, self._auto, self._controls["transpose"]):
            control.observe(lambda change: self._show(), "value")
        self.chooser.follow(self._look)
        self.widget = ipywidgets.VBox(
            [
                self.chooser.widget,
                self._voice,
                ipywidgets.HBox([self._auto, self._controls["transpose"]]),
                self._told,
                self._picture,
                self._preset,
                ipywidgets.Accordion([ipywidgets.VBox(self._explained())], titles=[tr("takes and settings")]),
            ]
        )

    @property
    def recording(self) -> Audio:
        """The chosen recording."""
        return self.chooser.audio

    @property
    def name(self) -> str:
        """The name of the chosen recording."""
        return self.chooser.name

    @property
    def voice(self) -> Voice:
        """The chosen voice, loaded."""
        return load_voice(self._voice.value, self._folder)

    @property
    def settings(self) -> ConversionSettings:
        """The chosen settings."""
        values = {name: control.value for name, control in self._controls.items()}
        return ConversionSettings(**values | ({"transpose": AUTO} if self._auto.value else {}))

    @property
    def transpose(self) -> float:
        """The transposition in semitones that the conversion will use."""
        return self.fitting if self._auto.value else self._controls["transpose"].value

    @property
    def fitting(self) -> int:
        """The transposition in semitones that `auto` selects for this recording and voice."""
        semitones = self.look.analysis.pitch.voiced_semitones
        if not len(semitones):
            return 0
        analysis = self.look.analysis
        seconds = measure_histogram(analysis.pitch, analysis.loudness_db)
        return fitting_key(pitch_statistics(semitones), seconds, self._card, analysis.style == "melodic")

    @property
    def _card(self) -> VoiceCard:
        return next(card for card in list_voices(self._folder) if card.id == self._voice.value)

    def _ipython_display_(self) -> None:
        display(self.widget)

    def _explained(self) -> list[ipywidgets.Widget]:
        """Return each control beside a description of its effect."""
        return [
            ipywidgets.HBox([self._controls[one.name], ipywidgets.HTML(sentence(one.metadata["meaning"]))])
            for one in fields(ConversionSettings)
            if one.name != "transpose"
        ]

    def _look(self) -> None:
        self.look = look_at(self.chooser.audio, self.chooser.name)
        self._preset.value = self.look.analysis.style
        self._show()

    def _apply_preset(self) -> None:
        preset = ConversionSettings.presets[self._preset.value]
        for name, control in self._controls.items():
            if name not in _OWN_PLACE:
                control.value = getattr(preset, name)

    def _show_transpose(self) -> None:
        self._controls["transpose"].disabled = self._auto.value
        told = sentence(
            ntr("auto: {fitting} semitone", "auto: {fitting} semitones", fitting=numeral(self.fitting, "+d"))
        )
        warning = self.look.analysis.warning
        self._told.value = f"{told}<br>{sentence(warning)}" if warning else told

    def _show(self) -> None:
        self._show_transpose()
        show_figure(self._picture, plot_fit(self.look, self._card, self.transpose))


def _control(one: Field[object]) -> ipywidgets.Widget:
    """Make a slider for a setting with a range, a number field if that is too long for a slider, or a list of words."""
    label = {
        "description": one.name.replace("_", " "),
        "style": {"description_width": "11em"},
        "layout": ipywidgets.Layout(width=_WIDE, flex="0 0 auto"),
    }
    value = one.default
    if "minimum" not in one.metadata:
        return ipywidgets.Dropdown(options=list(one.metadata["words"]), value=value, **label)
    lowest, highest = one.metadata["minimum"], one.metadata["maximum"]
    value = 0 if isinstance(value, str) else value  # of a setting that finds its number itself
    whole = isinstance(lowest, int)
    if whole and highest - lowest > _STEPS:
        return ipywidgets.BoundedIntText(value=value, min=lowest, max=highest, **label)
    if whole:
        return ipywidgets.IntSlider(value=value, min=lowest, max=highest, continuous_update=False, **label)
    step = one.metadata.get("step") or (highest - lowest) / _STEPS
    return ipywidgets.FloatSlider(value=value, min=lowest, max=highest, step=step, continuous_update=False, **label)
