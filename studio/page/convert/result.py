"""The result of the Convert tab: progress, and then the takes."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Literal

import gradio as gr
from gradio.blocks import Block

from engine.texts import joined, parts_of, tr
from studio.actions.conversions.conversion import convert_again, look_at_recording
from studio.actions.conversions.takes import ResultView
from studio.actions.tasks import cancel_task
from studio.errors import NotFound, WrongState
from studio.page.convert.layout import Layout
from studio.page.convert.recording import IN_TURN, Recording
from studio.page.convert.state import Analysed, Chosen, Now, Source
from studio.page.convert.takes import Takes, result_name, view_of
from studio.page.parts import analyses
from studio.page.parts.analyses import BUSY
from studio.page.parts.browser_memory import remembered
from studio.page.parts.notice import inform, notice, show_error, silent, warn
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar
from studio.page.parts.scores import octaves_text, progress_line
from studio.page.parts.values import Values
from studio.page.parts.watched_task import WatchedTask

_POLL_S = 0.4
_MOST_KEPT = 12
_GONE = tr("This result has been deleted from the history.")


class Result:
    """The part of the tab with the result. now: the conversion that is shown; kept: the latest, newest first.

    Only results of the recording that is there are shown; `earlier` ones of others bring theirs with them.
    """

    def __init__(self, page: Page, tab: gr.Tab, layout: Layout, recording: Recording, in_download: gr.Checkbox) -> None:
        self.now, self.kept = gr.State(None), remembered("convert-results", [])
        self.watching = WatchedTask(_POLL_S)
        self.recording = recording
        with layout.progress, gr.Row(visible=False) as self.going:
            self.progress = gr.HTML(elem_id="convert-bar")
            self.cancel = gr.Button(tr("Cancel"), size="sm", scale=0, min_width=90)
        with layout.said:
            self.ended = notice("convert-ended")
        with layout.notices:
            self.takes = Takes(page, layout, self.now, recording.instrument, in_download)
        self._wire(page, tab)

    def _wire(self, page: Page, tab: gr.Tab) -> None:
        takes, shown, chosen = self.takes, [self.now, self.kept], self.recording.chosen
        outputs = [*self.watched, self.ended, *takes.outputs]
        looked = [*shown, chosen, self.recording.analysed]
        self.watching.wire(page, self.watch, looked, outputs)
        page.on(chosen.change, self.make_way, [*shown, chosen], [self.now, self.ended, *takes.outputs], **IN_TURN)
        page.on_seen(tab, self.look_again, shown, outputs)
        page.on(self.cancel.click, self.stop, looked, outputs)
        edited = [takes.edited, takes.replaced, *shown, chosen]
        page.on(takes.edited.change, self.show_edited, edited, [*self.watched, self.ended], notice=takes.problem)
        brought = [self.now, self.kept, self.watching.timer, *self.recording.outputs]
        page.on(takes.earlier.input, self.go_back, [takes.earlier, *shown, chosen], brought, notice=takes.problem)

    @property
    def watched(self) -> list[Block]:
        """What changes when another conversion is to be shown."""
        return [self.now, self.kept, self.watching.timer, self.going, self.progress]

    def begun(self, visit: Visit, task_id: str, chosen: Source, kept: Sequence[Now] | None) -> Values:
        """Return updates that show a conversion of the recording that is `chosen`."""
        view = view_of(visit, task_id)
        now: Now = {
            "task": task_id,
            "recording": chosen.id,
            "start_s": chosen.start_s,
            "stop_s": chosen.stop_s,
            "label": _label(view),
        }
        others = [one for one in kept or [] if one["task"] != task_id]
        return {
            self.now: now,
            self.kept: [now, *others][:_MOST_KEPT],
            **self.watching.begin(),
            self.going: gr.Row(visible=True),
            self.progress: progress_bar(view.progress, progress_line(view)),
        }

    def restore(self, kept: Sequence[Now] | None, recording: Chosen | None) -> Values:
        """Return updates that show the latest result of the recording that was here when this browser left."""
        if not kept:
            return {}
        now = next((one for one in kept if recording and _is_of(one, recording)), kept[0])
        there: Now = {**now, "restored": True, "away": recording is None}
        return {self.now: there, **self.watching.begin()}

    def watch(
        self, visit: Visit, now: Now | None, kept: Sequence[Now], chosen: Chosen | None, analysed: Analysed | None
    ) -> Updates:
        if now is None:
            return self.watching.end()
        try:
            view = view_of(visit, now["task"])
        except NotFound:
            return self._gone(now, kept) | {self.ended: silent()}
        if view.state in BUSY:
            bar = progress_bar(view.progress, progress_line(view))
            return {self.going: gr.Row(visible=True), self.progress: bar, self.ended: silent()}
        over: Values = {**self.watching.end(), self.going: gr.Row(visible=False)}
        if view.state == "cancelled":
            return over | {self.ended: inform(tr("The conversion was cancelled."))}
        if view.state == "failed":
            return over | {self.ended: show_error(view.error or "")}
        if view.note:
            return over | {self.ended: inform(view.note)} | self.takes.hide()
        if not _is_of(now, chosen):
            done: Values = {} if now.get("restored") else {self.ended: _elsewhere(now["label"])}
            return over | done | self.takes.offer(kept)
        return over | {self.ended: notice_of(view, analysed)} | self.takes.show(visit, view, now, kept)

    def look_again(self, visit: Visit, now: Now | None, kept: Sequence[Now]) -> Updates:
        """Hide a result that was deleted in another tab or window."""
        if now is None:
            return None
        try:
            view = view_of(visit, now["task"])
        except NotFound:
            return self._gone(now, kept)
        return {self.ended: inform(view.note)} | self.takes.hide() if view.note else None

    def make_way(self, visit: Visit, now: Now | None, kept: Sequence[Now], chosen: Chosen | None) -> Updates:
        """Hide what was made of another recording, and of one that was put away, and what was said of it."""
        if now is None or now.get("away") or (chosen and _is_of(now, chosen)):
            return None  # what was said since it was put away is of something else
        return self.takes.make_way(kept) | {self.now: {**now, "away": True}, self.ended: silent()}

    def stop(
        self, visit: Visit, now: Now | None, kept: Sequence[Now], chosen: Chosen | None, analysed: Analysed | None
    ) -> Updates:
        if now:
            with suppress(NotFound, WrongState):  # it has ended
                visit.do(cancel_task, now["task"], visit.base_url, visit.now_s)
        return self.watch(visit, now, kept, chosen, analysed)  # ending may take a moment

    def convert_again(
        self, visit: Visit, asked: Mapping[Literal["model"], str], now: Now | None, kept: Sequence[Now]
    ) -> Updates:
        if not now:
            return None
        task_id = visit.do(convert_again, now["task"], asked["model"])
        return self.begun(visit, task_id, _source_of(now), kept)

    def show_edited(
        self, visit: Visit, task_id: str | None, replaced: str | None, now: Now | None, kept: Sequence[Now],
        chosen: Chosen | None,
    ) -> Updates:  # fmt: skip
        """Show a conversion that came of takes: of the recording of these, which may have been put away since."""
        if not task_id:
            return None
        view = view_of(visit, task_id)
        kept = [one for one in kept if one["task"] != replaced]
        source = next((one for one in kept if one["task"] == view.edited), now)
        begun = self.begun(visit, task_id, _source_of(source) if source else Source(), kept)
        is_away = bool(source and now and now.get("away") and source["recording"] == now["recording"])
        if source is None or (not is_away and _is_of(source, chosen)):
            return begun
        return {self.kept: begun[self.kept], self.ended: _elsewhere(_label(view))}

    def go_back(
        self, visit: Visit, task_id: str | None, now: Now | None, kept: Sequence[Now], chosen: Chosen | None
    ) -> Updates:
        """Show an earlier result, with its recording."""
        found = next((one for one in kept if one["task"] == task_id), None)
        if found is None or (now and now["task"] == task_id):  # the list was only left
            return None
        updates: Values = {}
        if chosen is None or not _is_of(found, chosen):
            if analyses.find(visit, found["recording"]) is None:  # it is kept for a day; what was converted is not
                taken = visit.do(look_at_recording, found["task"])
                found = {**found, "recording": taken, "start_s": None, "stop_s": None}
            updates = self.recording.take(found["recording"] or "", settled=True)
        left = [found if one["task"] == task_id else one for one in kept]
        return updates | {self.now: found, self.kept: left, **self.watching.begin()}

    def _gone(self, now: Now, kept: Sequence[Now]) -> Values:
        left = [one for one in kept if one["task"] != now["task"]]
        still: Values = {self.now: None, self.kept: left, **self.watching.end(), self.going: gr.Row(visible=False)}
        return still | self.takes.hide() | {self.ended: inform(_GONE)}


def notice_of(view: ResultView, analysed: Analysed | None) -> gr.HTML:
    """Say what is to be known of a result, but not again what stands beside its recording already."""
    summary = analysed.summary if analysed else None
    beside = parts_of(summary.warning or "") if summary else []
    warnings = [one for one in parts_of(view.warning or "") if one not in beside]
    said = joined(" ", filter(None, [*warnings, octaves_text(view), *(one for one in view.notes if one not in beside)]))
    return (warn if any(warnings) else inform)(said) if said else silent()


def _source_of(now: Now) -> Source:
    return Source(now["recording"], now["start_s"], now["stop_s"])


def _label(view: ResultView) -> str:
    at = time.strftime("%H:%M", time.localtime(view.created_at))
    return joined(" · ", (result_name(view), view.file_name, at))


def _elsewhere(label: str) -> gr.HTML:
    return inform(tr("{label} is done: see Previous results.", label=label))


def _is_of(now: Now, chosen: Chosen | None) -> bool:
    """Whether a result is of the recording that is chosen, or of one that was not put away while none is."""
    if now.get("away"):
        return False
    return not chosen or not now["recording"] or now["recording"] == chosen["id"]
