"""The settings of the Convert tab: the style's preset, how many takes, and everything else under a fold."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import gradio as gr

from engine.conversion.settings import AUTO, ConversionSettings
from studio.page.parts.controls import STYLES, controls, settings_of
from studio.page.parts.memory import remembered
from studio.page.parts.page import Page, Updates, Visit
from studio.page.tabs.convert_fit import Fit
from studio.page.tabs.convert_recording import Recording

_OF_ONE = "Detected in the recording. Choose another if it suits better."
_OF_EACH = "If none is chosen, each recording's style is detected."
_PLAIN = ConversionSettings()
# the settings in which presets differ; the others stay as they are when a preset is chosen
_OF_PRESETS = [
    one.name
    for one in fields(ConversionSettings)
    if len({getattr(preset, one.name) for preset in ConversionSettings.presets.values()}) > 1
]
_BESIDE = ("transpose", "takes")  # which have their places outside of the fold
_ADVANCED = [one.name for one in fields(ConversionSettings) if one.name not in _BESIDE]


@dataclass(frozen=True)
class Settings:
    """The part of the tab with the settings. kept: what the browser remembers of them."""

    preset: gr.Radio
    fit: Fit
    takes: gr.Slider
    advanced: Mapping[str, Any]
    kept: gr.BrowserState

    @property
    def controls(self) -> list[Any]:
        """All that one sets here."""
        return [self.preset, self.fit.auto, self.fit.transpose, self.takes, *self.advanced.values()]

    @property
    def names(self) -> list[str]:
        """What the controls are called in the browser's memory."""
        return ["preset", "auto", "transpose", "takes", *self.advanced]

    def preset_of(self, given: Mapping[Any, Any]) -> str:
        """The preset that is chosen; else what a recording's style, which is not known here, will say."""
        return given[self.preset] or AUTO

    def asked(self, given: Mapping[Any, Any]) -> dict[str, Any]:
        """The settings that differ from those of the preset, and always the shift and the number of takes."""
        values = settings_of(self.advanced, given)
        asked = {name: value for name, value in values.items() if value != getattr(_preset(given[self.preset]), name)}
        by = AUTO if given[self.fit.auto] else int(given[self.fit.transpose])
        return {"transpose": by, "takes": int(given[self.takes])} | asked

    def fill(self, preset: str, asked: Mapping[str, Any]) -> dict[Any, Any]:
        """Updates that set everything as it was asked for once."""
        chosen = preset if preset in ConversionSettings.presets else None
        values = _preset(preset)
        by = asked.get("transpose", values.transpose)
        updates = {self.preset: chosen, self.takes: asked.get("takes", 1), self.fit.auto: by == AUTO}
        updates |= {self.advanced[name]: asked.get(name, getattr(values, name)) for name in self.advanced}
        return updates | ({} if by == AUTO else {self.fit.transpose: by})

    def restore(self, kept: Mapping[str, Any] | None) -> dict[Any, Any]:
        """Updates that set everything as this browser had it when it left."""
        known = dict(zip(self.names, self.controls, strict=True))
        return {known[name]: value for name, value in (kept or {}).items() if name in known and value is not None}


def build_settings(page: Page, recording: Recording, alone: gr.State, fit: Fit, in_turn: Mapping[str, Any]) -> Settings:
    """Layout and events. alone: whether the recording is what is converted, and not several; in_turn: the options of
    events that fill the form."""
    choices = [(title, name) for name, title in STYLES.items()]
    preset = gr.Radio(choices, value=None, label="Style", info=_OF_ONE)
    measured = gr.State(None)  # the style that is chosen because it was measured
    takes = controls(ConversionSettings, ["takes"])["takes"]
    with gr.Accordion("Advanced settings", open=False, elem_id="convert-advanced"):
        advanced = controls(ConversionSettings, _ADVANCED)
        reset = gr.Button("Reset to the style's defaults", size="sm")
    kept = remembered("convert-settings")
    part = Settings(preset, fit, takes, advanced, kept)

    def of_preset(name: str | None, changed: list[str]) -> dict[Any, Any]:
        return {advanced[one]: getattr(_preset(name), one) for one in changed}

    def choose(visit: Visit, name: str | None) -> Updates:
        return of_preset(name, _OF_PRESETS)

    def start_over(visit: Visit, name: str | None) -> Updates:
        return of_preset(name, _ADVANCED)

    def follow(given: Mapping[Any, Any], is_new: bool) -> Updates:
        """The style of a new recording is chosen by itself, until there is another or there are several; with one that
        was here before, what was chosen stays."""
        looked_at = given[recording.looked_at] if given[alone] else None
        style = looked_at["summary"]["style"] if looked_at else None
        labelled = [(f"{title} (detected)" if name == style else title, name) for title, name in choices]
        options: dict[str, Any] = {"choices": labelled, "info": _OF_ONE if given[alone] else _OF_EACH}
        before, takes_over = given[preset], is_new and looked_at is not None and not looked_at["settled"]
        if before != given[measured] and not takes_over:
            return {measured: style, preset: gr.Radio(**options)}
        untouched = [one for one in _OF_PRESETS if given[advanced[one]] == getattr(_preset(before), one)]
        return {measured: style, preset: gr.Radio(value=style, **options), **of_preset(style, untouched)}

    page.on(preset.input, choose, [preset], list(advanced.values()))
    page.on(reset.click, start_over, [preset], list(advanced.values()))
    seen = {recording.looked_at, alone, preset, measured, *advanced.values()}
    for event, is_new in ((recording.looked_at.change, True), (alone.change, False)):
        page.on(
            event, lambda visit, given, is_new=is_new: follow(given, is_new), seen,
            [measured, preset, *advanced.values()], **in_turn,
        )  # fmt: skip
    names = ", ".join(f'"{name}"' for name in part.names)
    gr.on(
        [control.change for control in part.controls], None, part.controls, kept,
        js=f"(...values) => Object.fromEntries([{names}].map((name, i) => [name, values[i]]))",
        api_visibility="private", show_progress="hidden",
    )  # fmt: skip
    return part


def _preset(name: str | None) -> ConversionSettings:
    return ConversionSettings.presets.get(name or "", _PLAIN)
