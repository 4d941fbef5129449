"""The settings of the Convert tab: the style's preset, how many takes, and everything else under a fold."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import gradio as gr

from engine.conversion_settings import AUTO, ConversionSettings
from studio.parts.controls import controls, settings_of
from studio.parts.memory import remembered
from studio.parts.page import Page, Updates, Visit
from studio.tabs.convert_fit import Fit
from studio.tabs.convert_recording import Recording

_STYLES = {"melodic": "Singing", "rhythmic": "Rap", "spoken": "Speech"}
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
    """The part of the tab with the settings. kept: what the browser remembers of them; looked_at: what was measured of
    the one recording, or None."""

    preset: gr.Radio
    fit: Fit
    takes: gr.Slider
    advanced: Mapping[str, Any]
    kept: gr.BrowserState
    looked_at: gr.State

    @property
    def controls(self) -> list[Any]:
        """All that one sets here."""
        return [self.preset, self.fit.auto, self.fit.transpose, self.takes, *self.advanced.values()]

    @property
    def names(self) -> list[str]:
        """What the controls are called in the browser's memory."""
        return ["preset", "auto", "transpose", "takes", *self.advanced]

    def preset_of(self, given: Mapping[Any, Any]) -> str:
        """The preset that is chosen; before a recording's style is known, what it will say."""
        return given[self.preset] or AUTO

    def preset_of_each(self, given: Mapping[Any, Any]) -> str:
        """The preset for recordings of which none was measured here: what was measured of another is not theirs."""
        looked_at = given[self.looked_at]
        is_measured = looked_at is not None and given[self.preset] == looked_at["summary"]["style"]
        return AUTO if is_measured else self.preset_of(given)

    def asked(self, given: Mapping[Any, Any]) -> dict[str, Any]:
        """The settings that differ from those of the preset, and always the shift and the number of takes."""
        preset = ConversionSettings.presets.get(given[self.preset], _PLAIN)
        values = settings_of(self.advanced, given)
        asked = {name: value for name, value in values.items() if value != getattr(preset, name)}
        by = AUTO if given[self.fit.auto] else int(given[self.fit.transpose])
        return {"transpose": by, "takes": int(given[self.takes])} | asked

    def fill(self, preset: str, asked: Mapping[str, Any]) -> dict[Any, Any]:
        """Updates that set everything as it was asked for once."""
        chosen = preset if preset in ConversionSettings.presets else None
        values = ConversionSettings.presets.get(preset, _PLAIN)
        by = asked.get("transpose", values.transpose)
        updates = {self.preset: chosen, self.takes: asked.get("takes", 1), self.fit.auto: by == AUTO}
        updates |= {self.advanced[name]: asked.get(name, getattr(values, name)) for name in self.advanced}
        return updates | ({} if by == AUTO else {self.fit.transpose: by})

    def restore(self, kept: Mapping[str, Any] | None) -> dict[Any, Any]:
        """Updates that set everything as this browser had it when it left."""
        known = dict(zip(self.names, self.controls, strict=True))
        return {known[name]: value for name, value in (kept or {}).items() if name in known and value is not None}


def build_settings(page: Page, recording: Recording, fit: Fit) -> Settings:
    """Layout and events."""
    choices = [(title, name) for name, title in _STYLES.items()]
    preset = gr.Radio(choices, value=None, label="Style", info="As it was measured; another may suit you better.")
    takes = controls(ConversionSettings, ["takes"])["takes"]
    with gr.Accordion("Advanced settings", open=False, elem_id="convert-advanced"):
        advanced = controls(ConversionSettings, _ADVANCED)
        reset = gr.Button("Back to the style's own settings", size="sm")
    kept = remembered("convert-settings")
    part = Settings(preset, fit, takes, advanced, kept, recording.looked_at)

    def of_preset(name: str | None, changed: list[str]) -> dict[Any, Any]:
        values = ConversionSettings.presets.get(name or "", _PLAIN)
        return {advanced[one]: getattr(values, one) for one in changed}

    def choose(visit: Visit, name: str | None) -> Updates:
        return of_preset(name, _OF_PRESETS)

    def start_over(visit: Visit, name: str | None) -> Updates:
        return of_preset(name, _ADVANCED)

    def measured(visit: Visit, looked_at: dict[str, Any] | None) -> Updates:
        """The style of a new recording is chosen by itself; with one that was here before, what was chosen stays."""
        if looked_at is None:
            return None
        style = looked_at["summary"]["style"]
        labelled = [(f"{title} (measured)" if name == style else title, name) for title, name in choices]
        if looked_at["settled"]:
            return {preset: gr.Radio(choices=labelled)}
        return {preset: gr.Radio(choices=labelled, value=style)} | of_preset(style, _OF_PRESETS)

    page.on(preset.input, choose, [preset], list(advanced.values()))
    page.on(reset.click, start_over, [preset], list(advanced.values()))
    page.on(recording.looked_at.change, measured, [recording.looked_at], [preset, *advanced.values()])
    names = ", ".join(f'"{name}"' for name in part.names)
    gr.on(
        [control.change for control in part.controls], None, part.controls, kept,
        js=f"(...values) => Object.fromEntries([{names}].map((name, i) => [name, values[i]]))",
        api_visibility="private", show_progress="hidden",
    )  # fmt: skip
    return part
