"""How results are written, in the Settings tab: format, mp3 rate and names; and the saved presets."""

from collections.abc import Mapping
from typing import Any

import gradio as gr

from studio.actions.preferences import Preferences, change_preferences, preferences_of
from studio.page.parts.controls import controls, settings_of
from studio.page.parts.notice import inform, notice
from studio.page.parts.page import Page, Updates, Visit

_SAVED = "Saved. Downloads are offered, encoded and named like this from now on."


class ResultSettings:
    """The controls, made from the fields of Preferences; filled in when the tab is shown."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._controls = controls(Preferences)
        self._save = gr.Button("Save", size="sm", elem_id="results-save")
        self._notice = notice("results-notice")

    def wire(self, tab: gr.Tab) -> None:
        """Wire the events."""
        made = list(self._controls.values())
        self._page.on(tab.select, self._fill, [], made)
        self._page.on(self._save.click, self._keep, set(made), made, notice=self._notice)

    def _fill(self, visit: Visit) -> dict[Any, Any]:
        kept = preferences_of(visit.studio.database, visit.account)
        return {control: getattr(kept, name) for name, control in self._controls.items()}

    def _keep(self, visit: Visit, given: Mapping[Any, Any]) -> Updates:
        change_preferences(visit.studio.database, visit.account, settings_of(self._controls, given))
        return self._fill(visit) | {self._notice: inform(_SAVED)}
