"""The voice of the Convert tab: cards to choose one of."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from engine.voices.card import UNTRAINED
from studio.actions.voice_cards import voice_cards
from studio.page.parts.element import element, shown
from studio.page.parts.memory import remembered
from studio.page.parts.page import Page, Updates, Visit
from studio.page.tabs.convert_recording import Recording

GONE = "The chosen voice has been deleted. The first voice is now selected: convert again or choose another."
_HINT = "<p><b>{}</b> is untrained. You can use it as it is; training improves the likeness.</p>"
# told by the browser itself, so that nobody is quicker with the next button than the choice is with us
_CHOSEN = "() => document.querySelector('#convert-voices timbre-voices').data.chosen"


@dataclass(frozen=True)
class Voice:
    """The part of the tab with the voice. chosen: its id, which the browser remembers; hint: what is shown beside one
    that is untrained."""

    chosen: gr.BrowserState
    cards: gr.HTML
    hint: gr.Row
    said: gr.HTML

    @property
    def outputs(self) -> list[Any]:
        """What changes when another voice is chosen, or there are others."""
        return [self.chosen, self.cards, self.hint, self.said]

    def choose(self, visit: Visit, model: str | None) -> dict[Any, Any]:
        """Updates that show the voices there are with this one chosen, or the first where it is not there any more."""
        voices = _voices(visit)
        trained = [voice["id"] for voice in voices if not voice["untrained"]]
        is_there = model in [voice["id"] for voice in voices]
        chosen = model if is_there else (trained or [None])[0]
        data = {"voices": voices, "chosen": chosen}
        return {self.cards: shown(data), self.chosen: chosen, **self._hinted(voices, chosen)}

    def without(self, visit: Visit, model: str) -> dict[Any, Any]:
        """Where a voice is not there any more, having been deleted in another window: updates that show those that are;
        else none."""
        return {} if model in [voice["id"] for voice in _voices(visit)] else self.choose(visit, None)

    def refresh(
        self, visit: Visit, model: str | None, looked_at: dict[str, Any] | None, is_alone: bool
    ) -> dict[Any, Any]:
        """Updates that show the voices there are now, and the range of the recording with them, where it is alone."""
        voices = _voices(visit)
        data = {"voices": voices, "range": _range(looked_at if is_alone else None)}
        if model in [voice["id"] for voice in voices]:
            # the choice stays the browser's, which may have a newer one
            return {self.cards: shown(data), **self._hinted(voices, model)}
        return self.choose(visit, None)

    def hinted(self, visit: Visit, model: str | None) -> dict[Any, Any]:
        """Updates that say of the chosen voice that it is untrained, if it is."""
        return self._hinted(_voices(visit), model)

    def _hinted(self, voices: Sequence[dict[str, Any]], model: str | None) -> dict[Any, Any]:
        name = next((voice["name"] for voice in voices if voice["id"] == model and voice["untrained"]), None)
        said = _HINT.format(html.escape(name)) if name is not None else ""
        return {self.hint: gr.Row(visible=name is not None), self.said: gr.HTML(said)}


def build_voice(page: Page, tab: gr.Tab, recording: Recording, alone: gr.State) -> Voice:
    """Layout and events. alone: whether the recording is what is converted, and not several."""
    chosen = remembered("convert-voice")
    gr.HTML("<h2>Voice</h2>")
    cards = element("voices", events=("chosen",), elem_id="convert-voices")
    with gr.Row(visible=False, elem_classes="facts", elem_id="convert-untrained") as hint:
        said = gr.HTML(elem_id="convert-untrained-said")
        train = gr.Button("Train", size="sm", scale=0, min_width=100)
    part = Voice(chosen, cards, hint, said)

    def go_and_train(visit: Visit, model: str | None) -> Updates:
        return page.go("train", voice=model) if model else None

    cards.chosen(None, None, chosen, js=_CHOSEN, api_visibility="private", show_progress="hidden")
    seen = [chosen, recording.looked_at, alone]
    page.on_seen(tab, part.refresh, seen, part.outputs)
    for event in (recording.looked_at.change, alone.change):
        page.on(event, part.refresh, seen, part.outputs)
    page.on(chosen.change, part.hinted, [chosen], [hint, said])
    page.on(train.click, go_and_train, [chosen], [page.tabs, page.wishes["train"]])
    return part


def _voices(visit: Visit) -> list[dict[str, Any]]:
    """Those that can convert, as the cards show them."""
    cards = voice_cards(visit.studio, visit.account, visit.base_url, visit.now_s)
    return [card | {"state": UNTRAINED} if card["untrained"] else card for card in cards]


def _range(looked_at: dict[str, Any] | None) -> dict[str, Any] | None:
    """The recording's own range, for the cards."""
    voice = ((looked_at or {}).get("summary") or {}).get("vocal_range")
    return voice and {"low": voice["lowest"], "high": voice["highest"], "label": "Recording"}
