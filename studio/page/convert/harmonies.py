"""Doubles and harmonies of the take that is shown: each a lane beside it, with its voice and its place."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import gradio as gr
from typing_extensions import TypedDict

from engine.conversion.settings import AUTO, KEYS
from engine.texts import joined, tr
from studio.actions.conversions.conversion import harmonize
from studio.actions.conversions.songs import HARMONY
from studio.actions.conversions.takes import ResultView
from studio.actions.tasks import cancel_task
from studio.actions.voices.cards import Avatar, avatar_of
from studio.errors import NotFound, WrongState
from studio.page.convert.instrument import brought, part
from studio.page.convert.layout import Layout
from studio.page.convert.recording import Recording
from studio.page.convert.result import Result
from studio.page.convert.state import Now
from studio.page.convert.takes import view_of
from studio.page.convert.voice import Voice
from studio.page.parts.analyses import BUSY
from studio.page.parts.browser_memory import remembered
from studio.page.parts.notice import notice, show_error
from studio.page.parts.page import InTurn, Page, Updates, Visit
from studio.page.parts.scores import HARMONIES, harmony_text, key_text
from studio.page.parts.values import Values
from studio.store.records.codec import Record

_POLL_S = 0.7
_MOST_KEPT = 24
_PLACES = (-0.5, 0.5, -0.3, 0.3, -0.7, 0.7)  # in the stereo field, one after the other
_LEVEL_DB = -6.0  # beside the lead
_FIRST_CONVERT = tr("Convert first: a harmony sings with a take.")
_IN_TURN: InTurn = {"concurrency_id": "harmonies", "concurrency_limit": 1}


class Kept(TypedDict):
    """A harmony, as the browser remembers it: its task, what that was made from, and its place in the stereo field."""

    task: str
    harmony: str
    recording: str | None
    start_s: float | None
    stop_s: float | None
    pan: float


@dataclass(frozen=True, kw_only=True)
class _Lane(Record):
    """A harmony in the instrument. url: of its sound, None until it is done."""

    name: str
    label: str
    title: str
    avatar: Avatar
    url: str | None
    pan: float
    gain_db: float


class Harmonies:
    """The part of the tab with doubles and harmonies, which are kept with their recording."""

    def __init__(self, page: Page, layout: Layout, recording: Recording, voice: Voice, result: Result) -> None:
        self.kept = remembered("convert-harmonies", [])
        self.timer = gr.Timer(_POLL_S, active=False)
        with layout.harmonies:
            gr.HTML("<h2>" + tr("Doubles and harmonies") + "</h2>")
            with gr.Row(elem_id="convert-harmonies-add"):
                buttons = {
                    name: gr.Button("+ " + label, size="sm", scale=0, min_width=60) for name, label in HARMONIES.items()
                }
            choices = [(tr("Auto"), AUTO), *((key_text(name), name) for name in KEYS)]
            self.key = gr.Dropdown(choices, value=AUTO, label=tr("Key"), elem_id="convert-harmony-key")
            self.problem = notice("convert-harmonies-problem")
        self.part = part()
        shown = [self.kept, self.timer, self.part]
        for name, button in buttons.items():
            asked = [self.key, voice.chosen, result.now, self.kept]
            page.on(button.click, self.adds(name), asked, shown, notice=self.problem, **_IN_TURN)
        seen = [result.now, self.kept]
        page.on(self.timer.tick, self.look, seen, shown, notice=self.problem)
        page.on(result.now.change, self.look, seen, shown, notice=self.problem)
        page.on_data(recording.instrument.removed, self.remove, seen, shown)

    def adds(self, harmony: str) -> Callable[..., Updates]:
        """Return what a button does."""
        return partial(self.add, harmony)

    def add(
        self, harmony: str, visit: Visit, key: str, model: str | None, now: Now | None, kept: Sequence[Kept]
    ) -> Updates:
        """Begin a harmony of the take that is shown, in the chosen voice."""
        if now is None or now.get("away"):
            return {self.problem: show_error(_FIRST_CONVERT)}
        task = visit.do(harmonize, now["task"], harmony, key, model)
        beside = [one for one in kept if _is_of(one, now)]
        new: Kept = {
            "task": task,
            "harmony": harmony,
            "recording": now["recording"],
            "start_s": now["start_s"],
            "stop_s": now["stop_s"],
            "pan": _PLACES[len(beside) % len(_PLACES)],
        }
        more = [*kept, new][-_MOST_KEPT:]
        return self.look(visit, now, more) | {self.kept: more}

    def remove(self, visit: Visit, asked: Mapping[str, object], now: Now | None, kept: Sequence[Kept]) -> Updates:
        """Take a harmony out of the timeline; it stays in the history."""
        task = str(asked["name"]).removeprefix(HARMONY)
        left = [one for one in kept if one["task"] != task]
        if len(left) == len(kept):
            return None
        with suppress(NotFound, WrongState):  # it is done
            visit.do(cancel_task, task, visit.base_url, visit.now_s)
        return self.look(visit, now, left) | {self.kept: left}

    def look(self, visit: Visit, now: Now | None, kept: Sequence[Kept]) -> Values:
        """Show the harmonies of the recording, and those that are not done yet by their names."""
        lanes, left, trouble, is_busy = [], [], [], False
        for one in kept:
            if now is None or now.get("away") or not _is_of(one, now):
                left.append(one)
                continue
            try:
                view = view_of(visit, one["task"])
            except NotFound:
                continue
            if view.state in ("failed", "cancelled") or view.note:
                trouble += [view.error] if view.error else []
                continue
            left.append(one)
            is_busy = is_busy or view.state in BUSY
            lanes.append(_lane(one, view))
        start_s = (now and now["start_s"]) or 0.0
        updates: Values = {
            self.timer: gr.Timer(active=is_busy),
            self.part: brought("harmonies", {"start_s": start_s, "lanes": lanes} if lanes else None),
        }
        if left != list(kept):
            updates[self.kept] = left
        return updates | ({self.problem: show_error(joined(" ", trouble))} if trouble else {})


def _is_of(one: Kept, now: Now) -> bool:
    return (one["recording"], one["start_s"], one["stop_s"]) == (now["recording"], now["start_s"], now["stop_s"])


def _lane(one: Kept, view: ResultView) -> _Lane:
    return _Lane(
        name=f"{HARMONY}{one['task']}",
        label=HARMONIES[one["harmony"]],
        title=joined(tr(", "), [harmony_text(view.settings), view.voice or ""]),
        avatar=avatar_of(view.voice or ""),
        url=view.takes[0].url if view.takes else None,
        pan=one["pan"],
        gain_db=_LEVEL_DB,
    )
