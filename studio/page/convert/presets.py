"""Saved presets in the Convert tab: choose one, save what is set now under a name, delete one.

A preset whose settings were changed since is shown with a mark: to choose it again, or to save it, is to do something.
Gradio's list sends `input` also when it is only left (6.31), which then finds no preset of that name.
"""

from collections.abc import Sequence

import gradio as gr
from typing_extensions import TypedDict

from engine.texts import tr
from studio.actions.account import Preset, delete_preset, find_preset, preset_names, save_preset
from studio.errors import Invalid
from studio.page.convert.settings import Settings
from studio.page.parts.browser_memory import remembered
from studio.page.parts.notice import inform, notice
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.values import Given, Values

_OF_THE_RECORDING = ("transpose",)  # which no preset changes
_CHANGED = " *"
_ABOUT = tr("Stores all settings except transpose. With a *, settings were changed since it was chosen.")
_MARK = f"""(kept, shown, ...values) => {{
  if (!kept?.name || ![kept.name, kept.name + "{_CHANGED}"].includes(shown)) return shown;
  return JSON.stringify(values) === JSON.stringify(kept.values) ? kept.name : kept.name + "{_CHANGED}";
}}"""


class Kept(TypedDict):
    """The preset that was chosen last, and the values that it set, in the order of the controls."""

    name: str
    values: Sequence[object]


class Presets:
    """The part of the tab with the presets, to be made inside the fold of the settings."""

    def __init__(self, page: Page, tab: gr.Tab) -> None:
        self._page, self._tab = page, tab
        with gr.Row(elem_id="convert-presets"):
            self.choice = gr.Dropdown(
                [], value=None, label=tr("Preset"), info=_ABOUT,
                allow_custom_value=True, scale=3, min_width=180, elem_id="convert-preset", elem_classes="names",
            )  # fmt: skip
            self.save = gr.Button(tr("Save"), size="sm", min_width=80, elem_id="convert-preset-save")
            self.delete = gr.Button(tr("Delete"), size="sm", min_width=80, elem_id="convert-preset-delete")
        self.problem = notice("convert-preset-problem")

    def wire(self, settings: Settings) -> None:
        """Wire the events, once the settings are there."""
        page, self._settings = self._page, settings
        self.kept = remembered("convert-preset")  # outside of the fold, whose contents begin when it is opened
        of_recording = (settings.fit.auto, settings.fit.transpose)
        self._controls = [control for control in settings.controls if control not in of_recording]
        filled, shown = [*self._controls, self.kept], [self.choice, self.kept]
        page.on_seen(self._tab, self._list, [], [self.choice])
        page.on(page.blocks.load, self._come_back, [self.kept], [self.choice])
        page.on(self.choice.input, self._apply, [self.choice], filled, notice=self.problem)
        page.on(self.save.click, self._keep, {self.choice, *settings.controls}, shown, notice=self.problem)
        page.on(self.delete.click, self._forget, [self.choice], shown, notice=self.problem)
        seen = [self.choice, *self._controls]
        gr.on(
            [one.change for one in seen], None, [self.kept, *seen], self.choice,
            js=_MARK, api_visibility="private", show_progress="hidden",
        )  # fmt: skip

    def _list(self, visit: Visit) -> Updates:
        return {self.choice: gr.Dropdown(choices=visit.do(preset_names))}

    def _come_back(self, visit: Visit, kept: Kept | None) -> Updates:
        names, name = visit.do(preset_names), kept and kept.get("name")
        return {self.choice: gr.Dropdown(choices=names, value=name if name in names else None)}

    def _apply(self, visit: Visit, name: str | None) -> Updates:
        if not name or name not in visit.do(preset_names):
            return None  # a new name, to save, or one with a mark
        found = visit.do(find_preset, name)
        filled = self._settings.fill(found.style, found.settings, found.effects)
        values: Values = {control: filled[control] for control in self._controls}
        return values | {self.kept: Kept(name=name, values=list(values.values()))}

    def _keep(self, visit: Visit, given: Given) -> Updates:
        name = _plain(given.text(self.choice))
        if not name:
            raise Invalid([("name", tr("Type a name for the preset first."))])
        asked = {key: value for key, value in self._settings.asked(given).items() if key not in _OF_THE_RECORDING}
        preset = Preset(self._settings.preset_of(given), asked, self._settings.effects_of(given))
        name = visit.do(save_preset, name, preset)
        said = tr("Saved as '{kept}'. On the command line: convert --preset '{kept}'.", kept=name)
        return {
            self.choice: gr.Dropdown(choices=visit.do(preset_names), value=name),
            self.kept: Kept(name=name, values=[given[control] for control in self._controls]),
            self.problem: inform(said),
        }

    def _forget(self, visit: Visit, shown: str | None) -> Updates:
        name = _plain(shown or "")
        if not name:
            raise Invalid([("name", tr("Choose the preset to delete first."))])
        visit.do(delete_preset, name)
        return {
            self.choice: gr.Dropdown(choices=visit.do(preset_names), value=None),
            self.kept: None,
            self.problem: inform(tr("'{name}' is deleted.", name=name)),
        }


def _plain(shown: str) -> str:
    return shown.strip().removesuffix(_CHANGED.strip()).strip()
