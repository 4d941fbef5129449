"""The Explore tab: the analysis of a recording, and its comparison with a second one."""

from collections.abc import Callable, Mapping, Sequence

import gradio as gr

from engine.errors import EngineError
from engine.texts import joined, tr
from studio.actions.analyses import take_sample
from studio.actions.analysis_views import AnalysisView
from studio.errors import NotFound
from studio.page.explore.entrance import drawing, welcome
from studio.page.explore.result import Result
from studio.page.parts import analyses
from studio.page.parts.browser_memory import remembered
from studio.page.parts.notice import notice, show_error
from studio.page.parts.page import LATEST, Page, Updates, Visit, Wish
from studio.page.parts.progress_bar import progress_bar
from studio.page.parts.recorder import recorder
from studio.page.parts.sample_row import sample_row
from studio.page.parts.values import Values
from studio.page.parts.watched_task import WatchedTask

_FIRST, _SECOND = "first", "second"
_NONE: dict[str, str | None] = {_FIRST: None, _SECOND: None}
_POLL_S = 0.5

Ids = Mapping[str, str | None]  # of the analyses


class ExploreTab:
    """Layout, events and their wiring; to be made inside `tab`."""

    def __init__(self, page: Page, tab: gr.Tab) -> None:
        self.page = page
        self.ids = remembered("explore", _NONE)
        self.seen = gr.State(())  # ids of the analyses that are shown
        self.watched = WatchedTask(_POLL_S)
        with gr.Column(elem_id="explore-entrance"):
            gr.HTML(welcome(), elem_id="explore-welcome")
            with gr.Row(elem_id="explore-inputs"):
                gr.HTML(drawing(), elem_id="explore-drawing")
                self.inputs = {
                    _FIRST: _input(page, tr("Recording"), "explore-first"),
                    _SECOND: _input(page, tr("Compare with (optional)"), "explore-second"),
                }
            with gr.Row(elem_id="explore-offers"):
                self.converted = gr.Button(visible=False, size="sm", scale=0, elem_id="explore-converted")
                _, self.samples = sample_row()
            self.notice = notice("explore-notice")
            with gr.Row(visible=False, elem_classes="progress-line") as self.working:
                self.bar = gr.HTML("", elem_id="explore-progress")
                self.cancel = gr.Button(tr("Cancel"), size="sm", scale=0)
        self.result = Result()
        self._wire(tab)

    def _wire(self, tab: gr.Tab) -> None:
        page, result, wish = self.page, self.result, self.page.wishes["explore"]
        outputs = [
            *(self.ids, self.seen, self.watched.timer, *self.inputs.values(), self.working, self.bar),
            *result.components,
        ]
        for which, audio in self.inputs.items():
            given = [audio, self.ids, self.seen]
            page.on(audio.change, self.put_in(which), given, outputs, self.notice)
        for title, button in self.samples.items():
            page.on(button.click, self.put_in_sample(title), [self.ids, self.seen], outputs, self.notice)
        page.on(tab.select, self.offer_converted, [page.recording], [self.converted])
        page.on(self.converted.click, self.put_in_converted, [page.recording, self.seen], outputs, self.notice)
        page.on_data(result.player.chosen, result.turn, [result.sides], [result.roll], **LATEST)
        self.watched.wire(page, self.look, [self.ids, self.seen], [*outputs, self.notice])
        page.on(self.cancel.click, self.stop, [self.ids, self.seen], outputs, self.notice)
        # not when the page loads: the browser's state is there only once the tab was opened
        page.on(tab.select, self.resume, [self.ids, self.seen, wish], outputs)
        page.on(wish.change, self.wished, [wish, self.seen], outputs, self.notice)
        page.on(result.track.input, self.change_track, [result.track, self.ids, self.seen], outputs, self.notice)
        page.on(result.clear.click, self.clear, [], outputs, self.notice)
        page.on(result.convert.click, self.convert, [self.ids], [page.tabs, page.wishes["convert"]])

    def look(self, visit: Visit, ids: Ids, before: Sequence[str]) -> Values:
        """Show how far the analyses are, and their results where those are new."""
        views, errors = _views(visit, ids)
        busy = [view for view in views.values() if view.state in analyses.BUSY]
        done = [views[which] for which in _NONE if which in views and views[which].state == "completed"]
        updates: Values = {
            **self.watched.begin(bool(busy)),
            self.working: gr.Row(visible=bool(busy)),
            self.bar: "".join(progress_bar(view.progress, analyses.progress_line(view)) for view in busy),
        }
        now = {which: analysis if which in views else None for which, analysis in ids.items()}
        if now != ids:
            updates[self.ids] = now
        if errors:
            updates[self.notice] = show_error(joined(" ", dict.fromkeys(errors)))
        ids_done = tuple(view.id for view in done)
        if ids_done != tuple(before):
            updates |= {self.seen: ids_done, **self.result.showing(visit, done)}
        return updates

    def put_in(self, which: str) -> Callable[..., Updates]:
        def put_in(visit: Visit, path: str | None, ids: Ids, before: Sequence[str]) -> Updates:
            if not path:
                return {self.notice: gr.skip()}
            try:
                analysis = analyses.start(visit, path)
            except EngineError as error:  # room for another one
                return {self.notice: show_error(str(error)), self.inputs[which]: None}
            analyses.cancel(visit, ids[which])
            now = {**ids, which: analysis}
            return {self.ids: now, self.inputs[which]: None} | self.look(visit, now, before)

        return put_in

    def put_in_sample(self, title: str) -> Callable[..., Updates]:
        def put_in(visit: Visit, ids: Ids, before: Sequence[str]) -> Updates:
            now = {**ids, _FIRST: visit.do(take_sample, title)}
            analyses.cancel(visit, ids[_FIRST])
            return {self.ids: now} | self.look(visit, now, before)

        return put_in

    def offer_converted(self, visit: Visit, recording: Mapping[str, object] | None) -> Updates:
        """Offer the recording that is in Convert."""
        view = analyses.find(visit, str(recording["id"])) if recording else None
        if view is None:
            return {self.converted: gr.Button(visible=False)}
        return {self.converted: gr.Button(tr("Take {name} from Convert", name=view.file_name), visible=True)}

    def put_in_converted(self, visit: Visit, recording: Mapping[str, object] | None, before: Sequence[str]) -> Updates:
        if recording is None:
            return {}
        now = {**_NONE, _FIRST: str(recording["id"])}
        return {self.ids: now} | self.look(visit, now, before)

    def stop(self, visit: Visit, ids: Ids, before: Sequence[str]) -> Updates:
        for analysis in ids.values():
            analyses.cancel(visit, analysis)
        return self.look(visit, ids, before)

    def resume(self, visit: Visit, ids: Ids, before: Sequence[str], wish: Wish | None) -> Updates:
        """After a reload: show what was there before, if it still is."""
        if before or visit.just_wished(wish) or not any(ids.values()):
            return {}
        found = self.look(visit, ids, before)
        found.pop(self.notice, None)  # that something is gone by now is no news
        return found

    def wished(self, visit: Visit, wish: Wish | None, before: Sequence[str]) -> Updates:
        if not wish or not wish.get("recording"):
            return {}
        now = {_FIRST: wish["recording"], _SECOND: wish.get("compare")}
        return {self.ids: now} | self.look(visit, now, before)

    def change_track(self, visit: Visit, track: int, ids: Ids, before: Sequence[str]) -> Updates:
        """Take another sound track of the first recording."""
        which = _FIRST if ids[_FIRST] else _SECOND
        analysis = ids[which]
        if analysis is None:
            return None
        now = {**ids, which: analyses.change_track(visit, analysis, track)}
        return {self.ids: now} | self.look(visit, now, before)

    def clear(self, visit: Visit) -> Updates:
        return {self.ids: dict(_NONE), self.seen: ()} | self.result.showing(visit, [])

    def convert(self, visit: Visit, ids: Ids) -> Updates:
        recording = ids[_FIRST] or ids[_SECOND]
        return self.page.go("convert", recording=recording) if recording else {}


def _input(page: Page, label: str, elem_id: str) -> gr.Audio:
    with gr.Column(elem_id=f"{elem_id}-side"):
        audio = gr.Audio(label=label, type="filepath", sources=["upload"], buttons=[], elem_id=elem_id)
        recorder(page, elem_id)
    return audio


def _views(visit: Visit, ids: Ids) -> tuple[dict[str, AnalysisView], list[str]]:
    """Return the analyses that have not failed, and the errors of those that have."""
    views, errors = {}, []
    for which, analysis in ids.items():
        if analysis is None:
            continue
        try:
            view = analyses.view(visit, analysis)
        except NotFound as gone:
            errors.append(str(gone))
            continue
        if view.state not in ("failed", "cancelled"):
            views[which] = view
        elif view.error:
            errors.append(view.error)
    return views, errors
