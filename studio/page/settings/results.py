"""How results are written, in the Settings tab: format, rates, bits and names."""

import gradio as gr

from engine.texts import tr
from studio.actions.account import Preferences, change_preferences, preferences_of
from studio.page.parts.controls import controls, settings_of
from studio.page.parts.notice import inform, notice
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.values import Given, Values

_RATES = [(tr("Best variable rate"), 0), *((tr("{kbps} kbps", kbps=kbps), kbps) for kbps in (320, 256, 192, 128))]
_SAVED = tr("Saved. Downloads are offered, encoded and named like this from now on.")


class ResultSettings:
    """The controls, made from the fields of Preferences; filled in when the tab is shown."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._controls = controls(Preferences, ["format"])
        self._controls["mp3_kbps"] = gr.Dropdown(_RATES, label="Mp3", value=0, filterable=False, elem_id="results-mp3")
        self._controls |= controls(Preferences, ["rate", "bits", "naming"])
        self._save = gr.Button(tr("Save"), size="sm", elem_id="results-save")
        self._notice = notice("results-notice")

    def wire(self, tab: gr.Tab) -> None:
        """Wire the events."""
        made = list(self._controls.values())
        self._page.on(tab.select, self._fill, [], made)
        self._page.on(self._save.click, self._keep, set(made), made, notice=self._notice)

    def _fill(self, visit: Visit) -> Values:
        kept = preferences_of(visit.studio.database, visit.account)
        values: Values = {control: getattr(kept, name) for name, control in self._controls.items()}
        own = (
            []
            if kept.mp3_kbps in dict(_RATES).values()
            else [(tr("{mp3_kbps} kbps", mp3_kbps=kept.mp3_kbps), kept.mp3_kbps)]
        )
        return values | {self._controls["mp3_kbps"]: gr.Dropdown([*_RATES, *own], value=kept.mp3_kbps)}

    def _keep(self, visit: Visit, given: Given) -> Updates:
        change_preferences(visit.studio.database, visit.account, settings_of(self._controls, given))
        return self._fill(visit) | {self._notice: inform(_SAVED)}
