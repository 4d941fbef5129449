"""The voice of the Convert tab: cards to choose one of."""

from dataclasses import dataclass
from typing import Any

import gradio as gr

from studio.actions.voice_cards import voice_cards
from studio.parts.element import element, shown
from studio.parts.memory import remembered
from studio.parts.page import Page, Visit
from studio.tabs.convert_recording import Recording

GONE = "The voice that was chosen is no longer here. The first one is chosen now: convert again, or choose another."

# told by the browser itself, so that nobody is quicker with the next button than the choice is with us
_CHOSEN = "() => document.querySelector('#convert-voices timbre-voices').data.chosen"


@dataclass(frozen=True)
class Voice:
    """The part of the tab with the voice. chosen: its id, which the browser remembers."""

    chosen: gr.BrowserState
    cards: gr.HTML
    outputs: list[Any]

    def choose(self, visit: Visit, model: str | None) -> dict[Any, Any]:
        """Updates that show the voices there are with this one chosen, or the first where it is not there any more."""
        voices = voice_cards(visit.studio, visit.account, visit.base_url, visit.now_s)
        known = [voice["id"] for voice in voices]
        chosen = model if model in known else (known or [None])[0]
        return {self.cards: shown({"voices": voices, "chosen": chosen}), self.chosen: chosen}

    def without(self, visit: Visit, model: str) -> dict[Any, Any]:
        """Where a voice is not there any more, having been deleted in another window: updates that show those that are;
        else none."""
        cards = voice_cards(visit.studio, visit.account, visit.base_url, visit.now_s)
        return {} if model in [voice["id"] for voice in cards] else self.choose(visit, None)

    def refresh(
        self, visit: Visit, model: str | None, looked_at: dict[str, Any] | None, is_alone: bool
    ) -> dict[Any, Any]:
        """Updates that show the voices there are now, and the range of the recording with them, where it is alone."""
        voices = voice_cards(visit.studio, visit.account, visit.base_url, visit.now_s)
        data = {"voices": voices, "range": _range(looked_at if is_alone else None)}
        if model in [voice["id"] for voice in voices]:
            return {self.cards: shown(data)}  # the choice stays the browser's, which may have a newer one
        return self.choose(visit, None)


def build_voice(page: Page, tab: gr.Tab, recording: Recording, alone: gr.State) -> Voice:
    """Layout and events. alone: whether the recording is what is converted, and not several."""
    chosen = remembered("convert-voice")
    gr.HTML("<h2>Voice</h2>")
    cards = element("voices", events=("chosen",), elem_id="convert-voices")
    part = Voice(chosen, cards, [chosen, cards])
    cards.chosen(None, None, chosen, js=_CHOSEN, api_visibility="private", show_progress="hidden")
    seen = [chosen, recording.looked_at, alone]
    page.on_seen(tab, part.refresh, seen, part.outputs)
    for event in (recording.looked_at.change, alone.change):
        page.on(event, part.refresh, seen, part.outputs)
    return part


def _range(looked_at: dict[str, Any] | None) -> dict[str, Any] | None:
    """The recording's own range, for the cards."""
    voice = ((looked_at or {}).get("summary") or {}).get("vocal_range")
    return voice and {"low": voice["lowest"], "high": voice["highest"], "label": "Recording"}
