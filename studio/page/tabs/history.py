"""The History tab: all conversions and trainings, to play, repeat, cancel and delete."""

from typing import Any

import gradio as gr

from studio.actions.downloads import take_download
from studio.actions.history import history_view, repeat_task
from studio.actions.tasks import cancel_task, delete_task, task_view
from studio.page.parts.element import element, shown
from studio.page.parts.notice import notice, told
from studio.page.parts.page import Page, Updates, Visit
from studio.page.tabs.history_rows import KINDS, STATES, row_of, with_downloads
from studio.store.task_filter import TaskFilter

_POLL_S = 1.0
_ALL = ""
_EMPTY = "Nothing here yet. Your conversions and trainings appear here, and stay after you close the studio."
_EMPTY_DEMO = "Nothing here yet. Your conversions and trainings appear here until they are deleted."
_NO_MATCH = "No matching tasks. Clear the filters to see all."
_REPEATED = "Started again with the same settings. The new task is at the top of the list."

Made = dict[str, dict[str, str]]
Cursors = list[str | None]  # of the pages leading to the one shown


class HistoryTab:
    """Layout, events and wiring; made inside the tab."""

    def __init__(self, page: Page, tab: gr.Tab) -> None:
        self._page = page
        self._lay_out()
        self._wire(tab)

    def _lay_out(self) -> None:
        with gr.Row(elem_classes="history-choice"):
            self._kind = _filter("Type", "All types", KINDS)
            self._state = _filter("Status", "Any status", STATES)
        self._notice = notice("history-notice")
        self._tasks = element("tasks", events=("asked", "download"), elem_id="history-tasks")
        self._made = gr.State({})  # links to takes in formats made on request, by "task track format"
        with gr.Row():
            self._newer = gr.Button("Newer", size="sm", visible=False)
            self._older = gr.Button("Older", size="sm", visible=False)
        self._cursors, self._opened = gr.State([None]), gr.State(None)
        self._timer = gr.Timer(_POLL_S, active=False)

    def _wire(self, tab: gr.Tab) -> None:
        page, wish = self._page, self._page.wishes["history"]
        asked = [self._kind, self._state, self._cursors, self._opened, self._made]
        seen = [self._tasks, self._timer, self._newer, self._older]
        elsewhere = [page.tabs, *(page.wishes[name] for name in ("convert", "train", "voices"))]
        page.on_seen(tab, self._show, asked, seen)
        page.on(self._timer.tick, self._show, asked, seen, trigger_mode="once")
        page.stop_on_leaving(tab, self._timer)
        for choice in (self._kind, self._state):
            page.on(choice.input, self._apply_filters, asked[:2], [*seen, self._cursors, self._opened])
        page.on(self._older.click, self._show_older, asked[:3], [*seen, self._cursors])
        page.on(self._newer.click, self._show_newer, asked[:3], [*seen, self._cursors])
        page.on(wish.change, self._open_wished, [wish], [*seen, *asked])
        page.on_data(self._tasks.asked, self._act, asked, [*seen, *elsewhere], notice=self._notice)
        page.on_data(self._tasks.download, self._download, asked, [*seen, self._made], notice=self._notice)

    def _show(
        self, visit: Visit, kind: str, state: str, cursors: Cursors, opened: str | None, made: Made | None = None
    ) -> dict[Any, Any]:
        found = _found(visit, kind, state, cursors)
        rows = [with_downloads(row_of(task), made or {}) for task in found["tasks"]]
        empty = _NO_MATCH if kind or state else _EMPTY_DEMO if visit.studio.service.is_demo else _EMPTY
        return {
            self._tasks: shown({"tasks": rows, "open": opened, "empty": empty}),
            self._timer: gr.Timer(active=any(row["state"] in ("queued", "running") for row in rows)),
            self._newer: gr.Button(visible=len(cursors) > 1),
            self._older: gr.Button(visible=found["next_cursor"] is not None),
        }

    def _apply_filters(self, visit: Visit, kind: str, state: str) -> Updates:
        return {self._cursors: [None], self._opened: None, **self._show(visit, kind, state, [None], None)}

    def _show_older(self, visit: Visit, kind: str, state: str, cursors: Cursors) -> Updates:
        following = _found(visit, kind, state, cursors)["next_cursor"]
        further = [*cursors, following] if following else cursors
        return {self._cursors: further, **self._show(visit, kind, state, further, None)}

    def _show_newer(self, visit: Visit, kind: str, state: str, cursors: Cursors) -> Updates:
        back = cursors[:-1] or [None]
        return {self._cursors: back, **self._show(visit, kind, state, back, None)}

    def _open_wished(self, visit: Visit, wish: dict[str, Any] | None) -> Updates:
        if not wish:
            return None
        task_id = wish.get("task")
        view = {self._kind: _ALL, self._state: _ALL, self._cursors: [None], self._opened: task_id}
        return view | self._show(visit, _ALL, _ALL, [None], task_id)

    def _download(
        self, visit: Visit, data: dict[str, Any], kind: str, state: str, cursors: Cursors, opened: str | None,
        made: Made,
    ) -> Updates:  # fmt: skip
        """Make a take in another format; the player fetches it as soon as its link is there."""
        task_id, index, suffix = str(data["id"]), int(data["index"]), str(data["label"])
        task = task_view(visit.studio, visit.account, task_id, visit.base_url, visit.now_s)
        take = row_of(task)["player"]["tracks"][index]["take"]
        link = take_download(visit.studio, visit.account, task_id, take, suffix, visit.base_url, visit.now_s)
        made = {**made, f"{task_id} {index} {suffix}": link}
        return {**self._show(visit, kind, state, cursors, opened, made), self._made: made}

    def _act(self, visit: Visit, data: dict[str, Any], *asked: Any) -> Updates:
        task_id = str(data.get("id"))
        match data.get("action"):
            case "cancel":
                cancel_task(visit.studio, visit.account, task_id, visit.base_url, visit.now_s)
            case "delete":
                delete_task(visit.studio, visit.account, task_id)
            case "repeat":
                repeat_task(visit.studio, visit.account, task_id)
                return self._show(visit, *asked) | {self._notice: told(_REPEATED)}
            case "convert":
                return self._page.go("convert", task=task_id)
            case "train" | "voice" as action:
                view = task_view(visit.studio, visit.account, task_id, visit.base_url, visit.now_s)
                return self._page.go("train" if action == "train" else "voices", voice=view["model"])
        return self._show(visit, *asked)


def _filter(label: str, every: str, choices: dict[str, str]) -> gr.Dropdown:
    named = [(every, _ALL), *((name, value) for value, name in choices.items())]
    return gr.Dropdown(named, value=_ALL, label=label, filterable=False)


def _found(visit: Visit, kind: str, state: str, cursors: Cursors) -> dict[str, Any]:
    return history_view(
        visit.studio, visit.account, visit.base_url, visit.now_s,
        wanted=TaskFilter(state or None, kind or None), cursor=cursors[-1],
    )  # fmt: skip
