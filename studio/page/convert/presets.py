"""Saved presets in the Convert tab: choose one, save what is set now under a name, delete one."""

from typing import Any

import gradio as gr

from engine.texts import tr
from studio.actions.account import Preset, delete_preset, find_preset, preset_names, save_preset
from studio.errors import Invalid
from studio.page.convert.settings import Settings
from studio.page.parts.notice import inform, notice
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.values import Given

_OF_THE_RECORDING = ("transpose",)  # which no preset changes


class Presets:
    """The part of the tab with the presets, to be made inside the fold of the settings."""

    def __init__(self, page: Page, tab: gr.Tab) -> None:
        self._page, self._tab = page, tab
        with gr.Row(elem_id="convert-presets"):
            self.choice = gr.Dropdown(
                [], value=None, label=tr("Preset"), info=tr("Stores all settings except transpose."),
                allow_custom_value=True, scale=3, min_width=180, elem_id="convert-preset", elem_classes="names",
            )  # fmt: skip
            self.save = gr.Button(tr("Save"), size="sm", min_width=80, elem_id="convert-preset-save")
            self.delete = gr.Button(tr("Delete"), size="sm", min_width=80, elem_id="convert-preset-delete")
        self.problem = notice("convert-preset-problem")

    def wire(self, settings: Settings) -> None:
        """Wire the events, once the settings are there."""
        page, self._settings = self._page, settings
        page.on_seen(self._tab, lambda visit: {self.choice: self._listed(visit)}, [], [self.choice])
        page.on(page.blocks.load, lambda visit: {self.choice: self._listed(visit)}, [], [self.choice])
        page.on(self.choice.input, self._apply, [self.choice], settings.controls, notice=self.problem)
        inputs = {self.choice, *settings.controls}
        page.on(self.save.click, self._keep, inputs, [self.choice], notice=self.problem)
        page.on(self.delete.click, self._forget, [self.choice], [self.choice], notice=self.problem)

    def _listed(self, visit: Visit, **more: Any) -> gr.Dropdown:
        return gr.Dropdown(choices=preset_names(visit.studio, visit.account), **more)

    def _apply(self, visit: Visit, name: str | None) -> Updates:
        if not name or name not in preset_names(visit.studio, visit.account):
            return None  # a new name, to save
        found = find_preset(visit.studio, visit.account, name)
        filled = self._settings.fill(found.style, found.settings, found.effects)
        of_recording = (self._settings.fit.auto, self._settings.fit.transpose)
        return {control: value for control, value in filled.items() if control not in of_recording}

    def _keep(self, visit: Visit, given: Given) -> Updates:
        name = given.text(self.choice).strip()
        if not name:
            raise Invalid([("name", tr("Type a name for the preset first."))])
        asked = {key: value for key, value in self._settings.asked(given).items() if key not in _OF_THE_RECORDING}
        preset = Preset(self._settings.preset_of(given), asked, self._settings.effects_of(given))
        kept = save_preset(visit.studio, visit.account, name, preset)
        said = tr("Saved as '{kept}'. On the command line: convert --preset '{kept2}'.", kept=kept, kept2=kept)
        return {self.choice: self._listed(visit, value=kept), self.problem: inform(said)}

    def _forget(self, visit: Visit, name: str | None) -> Updates:
        if not name:
            raise Invalid([("name", tr("Choose the preset to delete first."))])
        delete_preset(visit.studio, visit.account, name)
        return {
            self.choice: self._listed(visit, value=None),
            self.problem: inform(tr("'{name}' is deleted.", name=name)),
        }
