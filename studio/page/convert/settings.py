"""The settings of the Convert tab: style, number of takes, and everything else under a fold."""

from collections.abc import Mapping, Sequence
from dataclasses import fields

import gradio as gr

from engine.conversion.settings import AUTO, ConversionSettings
from engine.effects.settings import Effects
from engine.texts import tr
from studio.page.convert.effects import EffectControls
from studio.page.convert.fit import Fit
from studio.page.convert.layout import Layout
from studio.page.convert.recording import IN_TURN, Recording
from studio.page.convert.state import Analysed, Chosen
from studio.page.parts.browser_memory import remembered
from studio.page.parts.controls import STYLES, Control, controls, settings_of
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.values import Given, Values

_OF_ONE = tr("Detected in the recording. Choose another if it suits better.")
_OF_EACH = tr("If none is chosen, each recording's style is detected.")
_PLAIN = ConversionSettings()
_OF = "recording"  # in the memory: which one the transposition is for
_KEPT = f"""(recording, ...values) => ({{
  {_OF}: document.querySelector("#convert-files")?.checkVisibility() ? "several" : recording?.id ?? null,
  ...Object.fromEntries([%s].map((name, i) => [name, values[i]])),
}})"""
# the settings in which presets differ; the others stay as they are when a preset is chosen
_OF_PRESETS = [
    one.name
    for one in fields(ConversionSettings)
    if len({getattr(preset, one.name) for preset in ConversionSettings.presets.values()}) > 1
]
_BESIDE = ("transpose", "takes", "harmony", "harmony_key")  # which have places of their own
_CHARACTER = ("likeness", "texture", "consonant_protection", "formant_shift_semitones")  # used most
_ADVANCED = [one.name for one in fields(ConversionSettings) if one.name not in _BESIDE]


class Settings:
    """The part of the tab with the settings. kept: what the browser remembers of them.

    alone: whether the recording is what is converted, and not several.
    """

    def __init__(self, page: Page, layout: Layout, recording: Recording, alone: gr.State, fit: Fit) -> None:
        self.recording, self.alone, self.fit = recording, alone, fit
        with layout.style:
            self.preset = gr.Radio(_choices(None), value=None, label=tr("Style"), info=_OF_ONE)
        self.detected = gr.State(None)  # the style that is chosen because it was detected
        with layout.takes:
            self.takes = controls(ConversionSettings, ["takes"])["takes"]
        with layout.effects:
            self.effects = EffectControls()
        with layout.character:
            gr.HTML("<h2>" + tr("Character") + "</h2>")
            self.advanced = controls(ConversionSettings, _CHARACTER)
        with layout.more:
            self.advanced |= controls(ConversionSettings, [one for one in _ADVANCED if one not in _CHARACTER])
            self.reset = gr.Button(tr("Reset to the style's defaults"), size="sm")
        self.kept = remembered("convert-settings")
        self._wire(page)

    def _wire(self, page: Page) -> None:
        advanced = list(self.advanced.values())
        page.on(self.preset.input, self.choose, [self.preset], advanced)
        page.on(self.reset.click, self.start_over, [self.preset], advanced)
        seen = {self.recording.analysed, self.alone, self.preset, self.detected, *advanced}
        followed = [self.detected, self.preset, *advanced]
        page.on(self.recording.analysed.change, self.follow_new, seen, followed, **IN_TURN)
        page.on(self.alone.change, self.follow, seen, followed, **IN_TURN)
        names = ", ".join(f'"{name}"' for name in self.names)
        recording = self.recording.kept
        gr.on(
            [control.change for control in self.controls], None, [recording, *self.controls], self.kept,
            js=_KEPT % names,
            api_visibility="private", show_progress="hidden",
        )  # fmt: skip

    @property
    def controls(self) -> list[gr.Radio | gr.Checkbox | Control]:
        """Everything that can be set here."""
        return [
            self.preset,
            self.fit.auto,
            self.fit.transpose,
            self.takes,
            *self.effects.controls,
            *self.advanced.values(),
        ]

    @property
    def names(self) -> list[str]:
        """The controls' names in the browser's memory."""
        return ["preset", "auto", "transpose", "takes", *self.effects.names, *self.advanced]

    def preset_of(self, given: Given) -> str:
        """Return the chosen preset; AUTO where each recording's style decides."""
        return given.text(self.preset) or AUTO

    def asked(self, given: Given) -> dict[str, int | float | str]:
        """Return the settings that differ from the preset's, and always the shift and the number of takes."""
        values, preset = settings_of(self.advanced, given), _preset(given.text(self.preset))
        asked = {name: value for name, value in values.items() if value != getattr(preset, name)}
        return {
            "transpose": AUTO if given.flag(self.fit.auto) else plain(given.number(self.fit.transpose)),
            "takes": int(given.number(self.takes)),
            **asked,
        }

    def effects_of(self, given: Given) -> Effects:
        """Return the chosen effects."""
        return self.effects.chosen(given)

    def fill(self, preset: str, asked: Mapping[str, int | float | str], effects: Effects) -> Values:
        """Return updates that set everything as it was for an earlier conversion."""
        chosen = preset if preset in ConversionSettings.presets else None
        values = _preset(preset)
        by = asked.get("transpose", values.transpose)
        updates: Values = {self.preset: chosen, self.takes: asked.get("takes", 1), self.fit.auto: by == AUTO}
        updates |= self.effects.fill(effects)
        updates |= {self.advanced[name]: asked.get(name, getattr(values, name)) for name in self.advanced}
        return updates | ({} if by == AUTO else {self.fit.transpose: by})

    def restore(self, kept: Mapping[str, object] | None, recording: Chosen | None) -> Values:
        """Return updates that set everything as this browser had it when it left.

        The transposition only for the `recording` it was set for: another window may have put in another one.
        """
        known = dict(zip(self.names, self.controls, strict=True))
        if kept and kept.get(_OF) not in (None, recording["id"] if recording else None):
            known = {name: control for name, control in known.items() if name not in ("auto", "transpose")}
        restored = Given(
            {known[name]: value for name, value in (kept or {}).items() if name in known and value is not None}
        )
        return restored | self.effects.restored(restored)

    def choose(self, visit: Visit, preset: str | None) -> Updates:
        return self._of_preset(preset, _OF_PRESETS)

    def start_over(self, visit: Visit, preset: str | None) -> Updates:
        return self._of_preset(preset, _ADVANCED)

    def follow_new(self, visit: Visit, given: Given) -> Updates:
        """Choose the style of a new recording; with one that was here before, the choice stays."""
        analysed = given.read(self.recording.analysed, Analysed)
        is_new = given.flag(self.alone) and analysed is not None and not analysed.settled
        return self.follow(visit, given, is_new)

    def follow(self, visit: Visit, given: Given, is_new: bool = False) -> Updates:
        """Choose the style that was detected, or none for several recordings, unless the visitor chose one."""
        analysed = given.read(self.recording.analysed, Analysed) if given.flag(self.alone) else None
        style = analysed.summary.style if analysed and analysed.summary else None
        choices, info = _choices(style), _OF_ONE if given.flag(self.alone) else _OF_EACH
        before = given.read(self.preset, str)
        if before != given[self.detected] and not is_new:
            return {self.detected: style, self.preset: gr.Radio(choices=choices, info=info)}
        untouched = [one for one in _OF_PRESETS if given[self.advanced[one]] == getattr(_preset(before), one)]
        chosen: Values = {self.detected: style, self.preset: gr.Radio(value=style, choices=choices, info=info)}
        return chosen | self._of_preset(style, untouched)

    def _of_preset(self, preset: str | None, names: Sequence[str]) -> Values:
        return {self.advanced[name]: getattr(_preset(preset), name) for name in names}


def plain(semitones: float) -> float:
    """Return whole semitones as a whole number, for the published interface has no others."""
    return int(semitones) if semitones == int(semitones) else semitones


def _choices(detected: str | None) -> list[tuple[str, str]]:
    return [
        (tr("{title} (detected)", title=title) if name == detected else title, name) for name, title in STYLES.items()
    ]


def _preset(name: str | None) -> ConversionSettings:
    return ConversionSettings.presets.get(name or "", _PLAIN)
