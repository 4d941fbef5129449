"""The Live tab: sing into the microphone, and hear the other voice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import gradio as gr

from engine.errors import EngineError
from engine.live.settings import LiveSettings
from studio.actions.conversions.edits import ShownSetting, shown_setting
from studio.actions.conversions.live import LiveSessions, LiveVoice
from studio.actions.voices.cards import Avatar, avatar_of
from studio.page.parts.element import element, shown
from studio.page.parts.page import Page, Updates, Visit
from studio.store.records.codec import Absent, Record


@dataclass(frozen=True, kw_only=True)
class _Singer(LiveVoice):
    avatar: Avatar


@dataclass(frozen=True, kw_only=True)
class _Form(Record):
    """Data of <timbre-live>: the voices that can convert, the settings, and what Start has led to. at: when it was
    pressed."""

    voices: Sequence[_Singer]
    settings: Mapping[str, ShownSetting]
    ticket: Absent[str] = None
    problem: Absent[str] = None
    at: Absent[float] = None


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
            return {self.live: shown(replace(form, problem=str(error), at=asked.get("at")))}
        return {self.live: shown(replace(form, ticket=ticket))}


def _form(voices: Sequence[LiveVoice]) -> _Form:
    settings = {one.name: shown_setting(one) for one in fields(LiveSettings)}
    return _Form(voices=[_Singer(**vars(one), avatar=avatar_of(one.name)) for one in voices], settings=settings)
