"""The Live tab: sing into the microphone, and hear the other voice."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import gradio as gr

from engine.errors import EngineError
from engine.live.settings import LiveSettings
from studio.actions.conversions.live import LiveSessions, LiveVoice
from studio.actions.voices.cards import avatar_of
from studio.page.parts.element import element, shown
from studio.page.parts.page import Page, Updates, Visit
from studio.store.records.codec import plain


class LiveTab:
    """Layout, events and their wiring; to be made inside `tab`."""

    def __init__(self, page: Page, tab: gr.Tab, sessions: LiveSessions) -> None:
        self.page, self._sessions = page, sessions
        self.live = element("live", events=("start",), elem_id="live")
        page.on(tab.select, self.show, [], [self.live])
        page.on_data(self.live.start, self.start, [], [self.live])

    def show(self, visit: Visit) -> Updates:
        return {self.live: shown(_form(self._sessions.voices(visit.account)))}

    def start(self, visit: Visit, asked: Mapping[str, Any]) -> Updates:
        """Answer with a ticket, or with the sentence that says why not."""
        form = _form(self._sessions.voices(visit.account))
        try:
            given = asked["settings"]
            ticket = self._sessions.ticket(visit.account, str(asked["model"]), given, bool(asked["record"]))
        except EngineError as error:
            return {self.live: shown(form | {"problem": str(error), "at": asked.get("at")})}
        return {self.live: shown(form | {"ticket": ticket})}


def _form(voices: Sequence[LiveVoice]) -> dict[str, object]:
    """Return the voices that can convert, and the settings with their ranges."""
    settings = {
        field.name: {"value": field.default}
        | {name: field.metadata.get(name) for name in ("minimum", "maximum", "step", "meaning", "words")}
        for field in fields(LiveSettings)
    }
    return {"voices": [{**plain(voice), "avatar": avatar_of(voice.name)} for voice in voices], "settings": settings}
