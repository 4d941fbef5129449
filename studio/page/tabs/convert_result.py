"""The result of the Convert tab: progress, and then the takes."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import gradio as gr

from studio.actions.repeats import convert_again
from studio.actions.tasks import cancel_task
from studio.errors import Invalid, NotFound, WrongState
from studio.page.parts.memory import remembered
from studio.page.parts.notice import notice, silent, told, told_error
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar
from studio.page.tabs.analyses import BUSY
from studio.page.tabs.convert_scores import progress_line
from studio.page.tabs.convert_takes import Now, Takes, result_name, view_of

_POLL_S = 0.4
_MOST_KEPT = 12
_GONE = "This result has been deleted from the history."


class Result:
    """The part of the tab with the result. now: the conversion that is shown; kept: the latest, newest first.

    progress_place: where its progress is shown.
    """

    def __init__(self, page: Page, tab: gr.Tab, progress_place: gr.Column) -> None:
        self.now, self.kept = gr.State(None), remembered("convert-results", [])
        self.timer = gr.Timer(_POLL_S, active=False)
        with progress_place:
            with gr.Row(visible=False) as self.going:
                self.progress = gr.HTML(elem_id="convert-bar")
                self.cancel = gr.Button("Cancel", size="sm", scale=0, min_width=90)
            self.ended = notice("convert-ended")
        self.takes = Takes(page, self.now)
        self._wire(page, tab)

    def _wire(self, page: Page, tab: gr.Tab) -> None:
        takes, shown = self.takes, [self.now, self.kept]
        outputs = [*self.watched, self.ended, *takes.outputs]
        page.on(self.timer.tick, self.watch, shown, outputs)
        page.on_seen(tab, self.look_again, shown, outputs)
        page.on(self.cancel.click, self.stop, shown, outputs)
        page.on(
            takes.convert.click, self.convert_again, [self.now, takes.other_voice, self.kept], self.watched,
            notice=takes.problem,
        )  # fmt: skip
        page.on(takes.edited.change, self.show_edited, [takes.edited, *shown], self.watched, notice=takes.problem)
        page.on(takes.earlier.input, self.go_back, [takes.earlier, self.kept], [self.now, self.timer])

    @property
    def watched(self) -> list[Any]:
        """What changes when another conversion is to be shown."""
        return [self.now, self.kept, self.timer, self.going, self.progress]

    def begun(
        self, visit: Visit, task_id: str, chosen: Mapping[str, Any], kept: Sequence[Now] | None
    ) -> dict[Any, Any]:
        """Return updates that show a conversion of the recording that is `chosen`."""
        view = view_of(visit, task_id)
        at = time.strftime("%H.%M", time.localtime(view["created_at"]))
        now = {
            "task": task_id,
            "recording": chosen.get("id"),
            "start_s": chosen.get("start_s"),
            "stop_s": chosen.get("stop_s"),
            "label": f"{result_name(view)} · {view['file_name']} · {at}",
        }
        others = [one for one in kept or [] if one["task"] != task_id]
        return {
            self.now: now,
            self.kept: [now, *others][:_MOST_KEPT],
            self.timer: gr.Timer(active=True),
            self.going: gr.Row(visible=True),
            self.progress: progress_bar(view["progress"], progress_line(view)),
        }

    def restore(self, visit: Visit, kept: Sequence[Now] | None) -> dict[Any, Any]:
        """Return updates that show what was shown when this browser left."""
        return {self.now: kept[0] | {"restored": True}, self.timer: gr.Timer(active=True)} if kept else {}

    def watch(self, visit: Visit, now: Now | None, kept: Sequence[Now]) -> Updates:
        if now is None:
            return {self.timer: gr.Timer(active=False)}
        try:
            view = view_of(visit, now["task"])
        except NotFound:
            return self._gone(now, kept) | {self.ended: silent()}
        if view["state"] in BUSY:
            bar = progress_bar(view["progress"], progress_line(view))
            return {self.going: gr.Row(visible=True), self.progress: bar, self.ended: silent()}
        over = {self.timer: gr.Timer(active=False), self.going: gr.Row(visible=False)}
        if view["state"] == "cancelled":
            return over | {self.ended: told("The conversion was cancelled.")}
        if view["state"] == "failed":
            return over | {self.ended: told_error(view["error"])}
        if view["note"]:
            return over | {self.ended: told(view["note"])} | self.takes.hide()
        return over | {self.ended: silent()} | self.takes.show(visit, view, now, kept)

    def look_again(self, visit: Visit, now: Now | None, kept: Sequence[Now]) -> Updates:
        """Hide a result that was deleted in another tab or window."""
        if now is None:
            return None
        try:
            view = view_of(visit, now["task"])
        except NotFound:
            return self._gone(now, kept)
        return {self.ended: told(view["note"])} | self.takes.hide() if view["note"] else None

    def stop(self, visit: Visit, now: Now | None, kept: Sequence[Now]) -> Updates:
        if now:
            with suppress(NotFound, WrongState):  # it has ended
                cancel_task(visit.studio, visit.account, now["task"], visit.base_url, visit.now_s)
        return self.watch(visit, now, kept)  # ending may take a moment

    def convert_again(self, visit: Visit, now: Now | None, model: str | None, kept: Sequence[Now]) -> Updates:
        if not now or not model:
            raise Invalid([("voice", "Choose another voice first.")])
        task_id = convert_again(visit.studio, visit.account, now["task"], model)
        return self.begun(visit, task_id, {"id": now["recording"], **now}, kept)

    def show_edited(self, visit: Visit, task_id: str | None, now: Now | None, kept: Sequence[Now]) -> Updates:
        if not task_id:
            return None
        return self.begun(visit, task_id, {"id": now["recording"], **now} if now else {}, kept)

    def go_back(self, visit: Visit, task_id: str | None, kept: Sequence[Now]) -> Updates:
        found = next((one for one in kept if one["task"] == task_id), None)
        return {self.now: found, self.timer: gr.Timer(active=True)} if found else None

    def _gone(self, now: Now, kept: Sequence[Now]) -> dict[Any, Any]:
        left = [one for one in kept if one["task"] != now["task"]]
        still = {self.now: None, self.kept: left, self.timer: gr.Timer(active=False), self.going: gr.Row(visible=False)}
        return still | self.takes.hide() | {self.ended: told(_GONE)}
