"""The Explore tab: what a recording is like, and what another is against it."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import gradio as gr

import engine
from engine.errors import EngineError
from studio.actions.analyses import analysis_view, cancel_analysis, start_analysis
from studio.actions.arrivals import take_upload, workplace
from studio.errors import NotFound, WrongState
from studio.page.parts.memory import remembered
from studio.page.parts.notice import notice, told_error
from studio.page.parts.page import Page, Visit
from studio.page.parts.recorded import name_of, recorded
from studio.page.tabs.explore_progress import progress
from studio.page.tabs.explore_result import Result

SAMPLES = Path(engine.__path__[0]) / "samples"
FIRST, SECOND = "first", "second"
_NOBODY: dict[str, str | None] = {FIRST: None, SECOND: None}
_LOOK_S = 0.5
_ACTIVE = ("queued", "running")


def build_explore_tab(page: Page, tab: gr.Tab) -> None:
    """Layout and events; to be called inside `tab`."""
    kept = remembered("explore", _NOBODY)
    seen = gr.State(())  # which recordings are shown
    timer = gr.Timer(_LOOK_S, active=False)
    with gr.Row():
        inputs = {
            FIRST: gr.Audio(label="Recording", type="filepath", buttons=[], elem_id="explore-first"),
            SECOND: gr.Audio(label="Compare with (optional)", type="filepath", buttons=[], elem_id="explore-second"),
        }
    samples = [str(SAMPLES / "singing.flac"), str(SAMPLES / "speech.flac")]
    titles = ["Singing", "Speech"]
    gr.Examples(samples, inputs[FIRST], label="Samples", cache_examples=False, example_labels=titles)
    place = notice("explore-notice")
    with gr.Row(visible=False, elem_classes="progress-line") as working:
        bar = gr.HTML("", elem_id="explore-progress")
        stop = gr.Button("Cancel", size="sm", scale=0)
    result = Result()
    everything = [kept, seen, timer, *inputs.values(), working, bar, *result.components]

    def look(visit: Visit, ids: Mapping[str, str | None], before: Any) -> dict[Any, Any]:
        """Where the recordings are, and what is found of them if that is new."""
        views: dict[str, dict[str, Any]] = {}
        now, wrong = dict(ids), []
        for which, task_id in ids.items():
            if task_id is None:
                continue
            try:
                view = analysis_view(visit.studio, visit.account, task_id, visit.base_url, visit.now_s)
            except NotFound as gone:
                now[which] = None
                wrong.append(str(gone))
                continue
            if view["state"] in ("failed", "cancelled"):
                now[which] = None
                wrong += [view["error"]] if view["error"] else []
            else:
                views[which] = view
        busy = [view for view in views.values() if view["state"] in _ACTIVE]
        done = [views[which] for which in (FIRST, SECOND) if which in views and views[which]["state"] == "completed"]
        updates: dict[Any, Any] = {
            timer: gr.Timer(active=bool(busy)),
            working: gr.Row(visible=bool(busy)),
            bar: progress(busy),
        }
        if now != ids:
            updates[kept] = now
        if wrong:
            updates[place] = told_error(" ".join(dict.fromkeys(wrong)))
        ids_done = tuple(view["id"] for view in done)
        if ids_done != tuple(before):
            updates |= {seen: ids_done, **result.showing(visit, done)}
        return updates

    def end_looking(visit: Visit, task_id: str | None) -> None:
        if task_id is not None:
            with suppress(NotFound, WrongState):  # it has ended by itself
                cancel_analysis(visit.studio, visit.account, task_id)

    def putting_in(which: str) -> Callable[..., dict[Any, Any]]:
        def put_in(
            visit: Visit, path: str | None, was_recorded: bool, ids: Mapping[str, str | None], before: Any
        ) -> dict[Any, Any]:
            if not path:
                return {place: gr.skip()}
            try:
                with workplace(visit.studio) as copies:
                    copy = take_upload(visit.studio, Path(path), copies / "recording")
                    name = name_of(path, was_recorded, visit.now_s)
                    task_id = start_analysis(visit.studio, visit.account, copy, name)
            except EngineError as error:  # room for another one
                return {place: told_error(str(error)), inputs[which]: None}
            end_looking(visit, ids[which])
            now = {**ids, which: task_id}
            return {kept: now, inputs[which]: None} | look(visit, now, before)

        return put_in

    def stopped(visit: Visit, ids: Mapping[str, str | None], before: Any) -> dict[Any, Any]:
        for task_id in ids.values():
            end_looking(visit, task_id)
        return look(visit, ids, before)

    def resumed(
        visit: Visit, ids: Mapping[str, str | None], before: Any, wish: Mapping[str, Any] | None
    ) -> dict[Any, Any]:
        """After a reload: what was looked at before, if it is still there."""
        if before or visit.just_wished(wish) or not any(ids.values()):
            return {}
        found = look(visit, ids, before)
        found.pop(place, None)  # that something is gone by now is no news
        return found

    def wished(visit: Visit, wish: Mapping[str, Any] | None, before: Any) -> dict[Any, Any]:
        if not wish or not wish.get("recording"):
            return {}
        now = {FIRST: wish["recording"], SECOND: wish.get("compare")}
        return {kept: now} | look(visit, now, before)

    def cleared(visit: Visit) -> dict[Any, Any]:
        return {kept: dict(_NOBODY), seen: ()} | result.showing(visit, [])

    for which, audio in inputs.items():
        page.on(audio.change, putting_in(which), [audio, recorded(page, audio), kept, seen], everything, place)
    page.on(timer.tick, look, [kept, seen], [*everything, place])
    page.on(stop.click, stopped, [kept, seen], everything, place)
    # not when the page loads: the browser's state is there only once the tab was opened
    page.on(tab.select, resumed, [kept, seen, page.wishes["explore"]], everything)
    page.on(page.wishes["explore"].change, wished, [page.wishes["explore"], seen], everything, place)
    page.on(result.clear.click, cleared, [], everything, place)

    def convert(visit: Visit, ids: Mapping[str, str | None]) -> dict[Any, Any]:
        recording = ids[FIRST] or ids[SECOND]
        return page.go("convert", recording=recording) if recording else {}

    page.on(result.convert.click, convert, [kept], [page.tabs, page.wishes["convert"]])
