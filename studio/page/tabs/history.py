"""The History tab: all work there is and was, to be heard, repeated, cancelled and deleted."""

from typing import Any

import gradio as gr

from studio.actions.history import history_view, repeat_task
from studio.actions.tasks import cancel_task, delete_task, task_view
from studio.page.parts.element import element, shown
from studio.page.parts.notice import notice, told
from studio.page.parts.page import Page, Visit
from studio.page.tabs.history_rows import KINDS, STATES, row_of

_POLL_S = 1.0
_ALL = ""
_EMPTY = "There is nothing here yet. What you convert and train is listed here, and stays when the studio is closed."
_EMPTY_DEMO = "There is nothing here yet. What you convert and train is listed here, until it is deleted."
_NONE_SUCH = "There is nothing of this kind: show everything to see the rest."


def build_history_tab(page: Page, tab: gr.Tab) -> None:
    """Layout and events; to be called inside `tab`."""
    with gr.Row(elem_classes="history-choice"):
        kind = gr.Dropdown([("Everything", _ALL), *((label, one) for one, label in KINDS.items())], value=_ALL,
                           label="Show", filterable=False)  # fmt: skip
        state = gr.Dropdown([("In any state", _ALL), *((label, one) for one, label in STATES.items())], value=_ALL,
                            label="State", filterable=False)  # fmt: skip
    said = notice("history-notice")
    tasks = element("tasks", events=("asked",), elem_id="history-tasks")
    with gr.Row():
        newer = gr.Button("Newer", size="sm", visible=False)
        older = gr.Button("Older", size="sm", visible=False)
    cursors = gr.State([None])  # of the pages on the way to the one that is shown
    opened = gr.State(None)
    timer = gr.Timer(_POLL_S, active=False)
    asked = [kind, state, cursors, opened]
    seen = [tasks, timer, newer, older]

    def show(visit: Visit, kind_asked: str, state_asked: str, way: list[str | None], open_task: str | None) -> Any:
        found = history_view(
            visit.studio, visit.account, visit.base_url, visit.now_s,
            kind=kind_asked or None, state=state_asked or None, cursor=way[-1],
        )  # fmt: skip
        rows = [row_of(task) for task in found["tasks"]]
        empty = _NONE_SUCH if kind_asked or state_asked else _EMPTY_DEMO if visit.studio.service.is_demo else _EMPTY
        data = {"tasks": rows, "open": open_task, "empty": empty}
        return {
            tasks: gr.HTML(value=shown(data)),
            timer: gr.Timer(active=any(row["state"] in ("queued", "running") for row in rows)),
            newer: gr.Button(visible=len(way) > 1),
            older: gr.Button(visible=found["next_cursor"] is not None),
        }

    def narrow(visit: Visit, kind_asked: str, state_asked: str) -> Any:
        return {cursors: [None], opened: None, **show(visit, kind_asked, state_asked, [None], None)}

    def go_older(visit: Visit, kind_asked: str, state_asked: str, way: list[str | None]) -> Any:
        found = history_view(
            visit.studio, visit.account, visit.base_url, visit.now_s,
            kind=kind_asked or None, state=state_asked or None, cursor=way[-1],
        )  # fmt: skip
        further = [*way, found["next_cursor"]] if found["next_cursor"] else way
        return {cursors: further, **show(visit, kind_asked, state_asked, further, None)}

    def go_newer(visit: Visit, kind_asked: str, state_asked: str, way: list[str | None]) -> Any:
        back = way[:-1] or [None]
        return {cursors: back, **show(visit, kind_asked, state_asked, back, None)}

    def follow(visit: Visit, wish: dict[str, Any] | None) -> Any:
        if not wish:
            return None
        task_id = wish.get("task")
        view = {kind: _ALL, state: _ALL, cursors: [None], opened: task_id}
        return view | show(visit, _ALL, _ALL, [None], task_id)

    def act(visit: Visit, data: dict[str, Any], *asked_for: Any) -> Any:
        task_id, action = str(data.get("id")), data.get("action")
        sentence = None
        if action == "cancel":
            cancel_task(visit.studio, visit.account, task_id, visit.base_url, visit.now_s)
        elif action == "delete":
            delete_task(visit.studio, visit.account, task_id)
        elif action == "repeat":
            repeat_task(visit.studio, visit.account, task_id)
            sentence = told("It is begun again with the same settings: see the top of the list.")
        elif action == "convert":
            return page.go("convert", task=task_id)
        elif action in ("train", "voice"):
            view = task_view(visit.studio, visit.account, task_id, visit.base_url, visit.now_s)
            return page.go("train" if action == "train" else "voices", voice=view["model"])
        return show(visit, *asked_for) | ({said: sentence} if sentence else {})

    def leave(visit: Visit, chosen: dict[str, Any]) -> Any:
        return {timer: gr.Timer(active=False)} if chosen.get("value") != "History" else None

    page.on_seen(tab, show, asked, seen)
    page.on(timer.tick, show, asked, seen, trigger_mode="once")
    for choice in (kind, state):
        page.on(choice.input, narrow, [kind, state], [*seen, cursors, opened])
    page.on(older.click, go_older, [kind, state, cursors], [*seen, cursors])
    page.on(newer.click, go_newer, [kind, state, cursors], [*seen, cursors])
    page.on(page.wishes["history"].change, follow, [page.wishes["history"]], [*seen, kind, state, cursors, opened])
    elsewhere = [page.tabs, *(page.wishes[name] for name in ("convert", "train", "voices"))]
    page.on_data(tasks.asked, act, asked, [*seen, *elsewhere], notice=said)
    page.on_data(page.tabs.select, leave, [], [timer])
