"""The takes of a result to be named, starred, and put together phrase by phrase."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import gradio as gr
from typing_extensions import TypedDict

from engine.texts import tr
from studio.actions.conversions.comps import comp_view, start_comp
from studio.actions.conversions.takes import label_take
from studio.errors import NotFound, StudioError, WrongState
from studio.page.convert.instrument import brought, part
from studio.page.convert.state import Now
from studio.page.parts.element import element, shown
from studio.page.parts.notice import notice
from studio.page.parts.page import InTurn, Page, Updates, Visit
from studio.page.parts.values import Values
from studio.page.parts.watched_task import WatchedTask
from studio.store.records.codec import read
from studio.store.records.conversion import ChosenTake

_POLL_S = 0.7


class LabelledTake(TypedDict):
    """What <timbre-comp> tells: the name and the star of a take."""

    task: str
    take: int
    name: str
    starred: bool


class Comp:
    """A fold with the takes of the recording. now: the conversion that is shown; made: receives the id of a comp."""

    def __init__(self, page: Page, place: gr.Row, now: gr.State, made: gr.State, instrument: gr.HTML) -> None:
        self.made = made
        self.watching = WatchedTask(_POLL_S)
        self.problem = notice("convert-comp-problem")
        with place, gr.Accordion(tr("Takes"), open=False, visible=False, elem_id="convert-comp") as self.fold:
            self.takes = element("comp", events=("ordered", "labelled"), elem_id="convert-comp-takes")
        self.part = part()  # the same in the lanes of the instrument
        outputs = [self.watching.timer, self.fold, self.takes, self.part]
        page.on(now.change, self.wait, [now], outputs)
        self.watching.wire(page, self.show, [now], outputs)
        for ordered in (self.takes.ordered, instrument.comped):
            page.on_data(ordered, self.order, [now], [made], notice=self.problem)
        in_turn: InTurn = {"concurrency_id": "labels", "concurrency_limit": 1}
        page.on_data(self.takes.labelled, self.label, [], [], notice=self.problem, trigger_mode="multiple", **in_turn)

    def wait(self, visit: Visit, now: Now | None) -> Updates:
        """Look for the takes until the conversion is done; hide those of a recording that was put away."""
        return self._gone() if now is None or now.get("away") else self.watching.begin()

    def show(self, visit: Visit, now: Now | None) -> Updates:
        """Show the takes once they are there."""
        if now is None or now.get("away"):
            return self._gone()
        try:
            view = visit.do(comp_view, now["task"], visit.base_url, visit.now_s)
        except WrongState as error:
            return None if error.code == "task_active" else self._gone()
        except StudioError:
            return self._gone()
        data = vars(view) | {"task": now["task"], "follows": "instrument", "offset_s": now.get("start_s") or 0.0}
        there = gr.Accordion(visible=True)
        return self.watching.end() | {self.fold: there, self.takes: shown(data), self.part: brought("comp", data)}

    def _gone(self) -> Values:
        return {
            **self.watching.end(),
            self.fold: gr.Accordion(open=False, visible=False),
            self.takes: shown(None),
            self.part: brought("comp", None),
        }

    def order(self, visit: Visit, data: Mapping[str, Sequence[Mapping[str, object]]], now: Now | None) -> Updates:
        """Make one take of those that were chosen."""
        if now is None:
            return None
        return {self.made: visit.do(start_comp, now["task"], [read(ChosenTake, one) for one in data["choice"]])}

    def label(self, visit: Visit, data: LabelledTake) -> Updates:
        """Keep the name and the star of a take."""
        with suppress(NotFound):  # it was deleted in another window
            visit.do(label_take, data["task"], data["take"], data["name"], data["starred"])
        return None
