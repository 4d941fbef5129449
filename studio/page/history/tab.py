"""The History tab: all conversions and trainings, to play, repeat, cancel and delete."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import gradio as gr

from engine.texts import ntr, tr
from studio.actions.account import preferences_of
from studio.actions.conversions.downloads import take_download
from studio.actions.history import history_view, repeat_task, search
from studio.actions.projects import delete_project, project_view, projects_view
from studio.actions.tasks import cancel_task, delete_task, delete_tasks, task_view
from studio.actions.voices.voice import voice_names
from studio.page.history.projects import ProjectForm, project_row
from studio.page.history.rows import STATES, TITLES, put_outlines, row_of, with_downloads
from studio.page.parts.element import element, shown
from studio.page.parts.element_data import AskedOfTask
from studio.page.parts.notice import inform, notice, silent
from studio.page.parts.page import LATEST, InTurn, Page, Updates, Visit
from studio.page.parts.values import Values
from studio.page.parts.watched_task import WatchedTask

_POLL_S = 1.0
# one after the other, so that the list of an earlier choice is not shown over that of a later one
_IN_TURN: InTurn = {"concurrency_id": "history", "concurrency_limit": 1}
_ALL = ""
_EMPTY = tr("Nothing here yet. Your conversions and trainings appear here, and stay after you close the studio.")
_EMPTY_DEMO = tr("Nothing here yet. Your conversions and trainings appear here until they are deleted.")
_NO_MATCH = tr("No matching tasks. Clear the filters to see all.")
_REPEATED = tr("Started again with the same settings. The new task is at the top of the list.")

_PROJECTS, _WORK = tr("Projects"), tr("All work")
_NO_PROJECT = tr("No projects yet. What you convert from a recording is a project.")

_AT = 7  # of what follows the filters in the inputs: cursors, opened, unfolded, made


class HistoryTab:
    """Layout, events and wiring; made inside the tab."""

    def __init__(self, page: Page, tab: gr.Tab) -> None:
        self._page = page
        self._lay_out()
        self._wire(tab)

    def _lay_out(self) -> None:
        with gr.Row(elem_id="history-choice", equal_height=True):
            self._view = gr.Radio(
                [_PROJECTS, _WORK], value=_PROJECTS, show_label=False, label=tr("Show"), container=False, min_width=220
            )
            self._words = gr.Textbox(
                show_label=False, label=tr("Search"), placeholder=tr("Search: name or voice"), max_lines=1,
                min_width=150, container=False,
            )  # fmt: skip
            self._voice = gr.Dropdown(
                [(tr("All voices"), _ALL)], value=_ALL, show_label=False, label=tr("Voice"), min_width=130,
                container=False, elem_classes="names",
            )  # fmt: skip
        with gr.Accordion(tr("More filters"), open=False), gr.Row():
            self._kind = _filter(tr("Type"), tr("All types"), TITLES)
            self._state = _filter(tr("Status"), tr("Any status"), STATES)
            self._since = gr.Textbox(
                label=tr("From"), placeholder="2026-03-31", max_length=10, max_lines=1, min_width=120
            )
            self._until = gr.Textbox(
                label=tr("To"), placeholder="2026-03-31", max_length=10, max_lines=1, min_width=120
            )
        self._filters = [self._view, self._words, self._voice, self._kind, self._state, self._since, self._until]
        self._notice = notice("history-notice")
        self._form = ProjectForm(self._page)
        self._tasks = element("tasks", events=("asked", "download", "unfolded"), elem_id="history-tasks")
        self._made = gr.State({})  # links to takes in formats made on request, by "task track format"
        with gr.Row():
            self._newer = gr.Button(tr("Newer"), size="sm", visible=False)
            self._older = gr.Button(tr("Older"), size="sm", visible=False)
        self._cursors, self._opened = gr.State([None]), gr.State(None)
        self._unfolded = gr.State([])  # the rows whose takes are seen
        self._active = WatchedTask(_POLL_S)

    def _wire(self, tab: gr.Tab) -> None:
        page = self._page
        asked = [*self._filters, self._cursors, self._opened, self._unfolded, self._made]
        seen = [self._tasks, self._active.timer, self._newer, self._older]
        elsewhere = [page.tabs, *(page.wishes[name] for name in ("convert", "train", "voices"))]
        page.on_seen(tab, self._show_new, asked, [*seen, self._voice, self._kind, self._state], notice=self._notice)
        self._active.wire(page, self._show, asked, seen, tab=tab, **_IN_TURN)
        narrowed = [*seen, self._cursors, self._opened, self._kind, self._state]
        for choice in (self._view, self._voice, self._kind, self._state):
            page.on(choice.input, self._apply_filters, self._filters, narrowed, notice=self._notice, **_IN_TURN)
        for text in (self._words, self._since, self._until):
            for event in (text.submit, text.blur):
                page.on(event, self._apply_filters, self._filters, narrowed, notice=self._notice, **_IN_TURN)
        page.on(self._older.click, self._show_older, asked, [*seen, self._cursors], **_IN_TURN)
        page.on(self._newer.click, self._show_newer, asked, [*seen, self._cursors], **_IN_TURN)
        acted = [*seen, *elsewhere, self._opened, *self._form.outputs]
        page.on_data(self._tasks.asked, self._act, asked, acted, notice=self._notice)
        page.on_data(self._tasks.download, self._download, asked, [*seen, self._made], notice=self._notice)
        page.on_data(self._tasks.unfolded, self._unfold, asked, [*seen, self._unfolded], **LATEST)
        self._form.wire(self._show, asked, seen)

    def _rows(self, visit: Visit, asked: Sequence[Any]) -> tuple[list[dict[str, Any]], str | None]:
        """Return what is asked for, as rows, and the cursor of the next page."""
        view, words, voice, kind, state, since, until = asked[:_AT]
        studio, account, cursor = visit.studio, visit.account, asked[_AT][-1]
        days = {"since": since or "", "until": until or ""}
        kind, state, voice = kind or None, state or None, voice or None
        wanted = search(studio, account, words or "", model_id=voice, kind=kind, state=state, **days)
        preferred = preferences_of(studio.database, account).format
        if view == _PROJECTS:
            page = projects_view(studio, account, visit.base_url, visit.now_s, wanted=wanted, cursor=cursor)
            opened, following = asked[_AT + 1], page.next_cursor
            rows = [project_row(one, preferred, one.id == opened) for one in page.projects]
        else:
            found = history_view(studio, account, visit.base_url, visit.now_s, wanted=wanted, cursor=cursor)
            rows, following = [row_of(task, preferred) for task in found.tasks], found.next_cursor
        for row in _each(rows):
            put_outlines(visit, row, row["id"] in asked[_AT + 2])
        return rows, following

    def _show(self, visit: Visit, *asked: Any) -> Values:
        """Return updates that show what is asked for: filters, cursors, opened, unfolded, made."""
        cursors, opened, _, made = asked[_AT:]
        rows, following = self._rows(visit, asked)
        for row in _each(rows):
            with_downloads(row, made or {})
        nothing = "" if rows else _nothing(visit, asked)
        return {
            self._tasks: shown({"tasks": rows, "open": opened, "empty": nothing, "select": True}),
            **self._active.begin(any(row["state"] in ("queued", "running") for row in rows)),
            self._newer: gr.Button(visible=len(cursors) > 1),
            self._older: gr.Button(visible=following is not None),
        }

    def _show_new(self, visit: Visit, *asked: Any) -> Values:
        """Show the list with the voices that there are now."""
        voices = visit.do(voice_names)
        return self._show(visit, *asked) | {self._voice: gr.Dropdown(choices=[(tr("All voices"), _ALL), *voices])}

    def _apply_filters(self, visit: Visit, *filters: Any) -> Updates:
        is_work = filters[0] != _PROJECTS  # projects are conversions in any state
        filters = filters if is_work else (*filters[:3], _ALL, _ALL, *filters[5:])
        choices: Values = {
            one: gr.Dropdown(value=filters[at], visible=is_work) for one, at in ((self._kind, 3), (self._state, 4))
        }
        return {
            self._cursors: [None],
            self._opened: None,
            **choices,
            **self._show(visit, *filters, [None], None, [], {}),
        }

    def _show_older(self, visit: Visit, *asked: Any) -> Updates:
        cursors, following = asked[_AT], self._rows(visit, asked)[1]
        further = [*cursors, following] if following else cursors
        return {self._cursors: further, **self._show(visit, *asked[:_AT], further, None, [], asked[-1])}

    def _show_newer(self, visit: Visit, *asked: Any) -> Updates:
        back = asked[_AT][:-1] or [None]
        return {self._cursors: back, **self._show(visit, *asked[:_AT], back, None, [], asked[-1])}

    def _unfold(self, visit: Visit, data: Mapping[str, list[str]], *asked: Any) -> Updates:
        """Show the waveforms of the takes in these rows."""
        return {self._unfolded: data["ids"], **self._show(visit, *asked[:-2], data["ids"], asked[-1])}

    def _download(self, visit: Visit, data: AskedOfTask, *asked: Any) -> Updates:
        """Make a take in another format; the player fetches it as soon as its link is there."""
        row_id, index, suffix, made = str(data["id"]), int(data["index"]), str(data["label"]), asked[-1]
        row = next((one for one in _each(self._rows(visit, asked)[0]) if one["id"] == row_id), None)
        if row is None or not row["player"]:
            return self._show(visit, *asked)
        track = row["player"]["tracks"][index]
        task_id = track.get("task", row_id)
        link = visit.do(take_download, task_id, track["take"], suffix, visit.base_url, visit.now_s)
        made = {**made, f"{row_id} {index} {suffix}": link}
        return {**self._show(visit, *asked[:-1], made), self._made: made}

    def _act(self, visit: Visit, data: AskedOfTask, *asked: Any) -> Updates:
        task_id, studio, account = str(data.get("id")), visit.studio, visit.account
        match data.get("action"):
            case "delete":
                told_of = self._delete(visit, [str(one) for one in data.get("ids") or [task_id]])
                return self._show(visit, *asked) | {self._notice: told_of}
            case "delete-project":
                delete_project(studio, account, task_id)
            case "all":
                asked = (*asked[: _AT + 1], task_id, *asked[-2:])
                return {self._opened: task_id} | self._show(visit, *asked)
            case "open-project":
                latest = project_view(studio, account, task_id, visit.base_url, visit.now_s).conversions[0]
                return self._page.go("convert", task=latest.id)
            case "export":
                return self._form.make_export(visit, task_id, data.get("faders"))
            case "daw":
                return self._form.make_export(visit, task_id, data.get("faders"), "dawproject")
            case "place":
                return self._form.open(visit, task_id)
            case "cancel":
                cancel_task(studio, account, task_id, visit.base_url, visit.now_s)
            case "repeat":
                repeat_task(studio, account, task_id)
                return self._show(visit, *asked) | {self._notice: inform(_REPEATED)}
            case "convert":
                return self._page.go("convert", task=task_id)
            case "train" | "voice" as action:
                view = task_view(studio, account, task_id, visit.base_url, visit.now_s)
                return self._page.go("train" if action == "train" else "voices", voice=view.model)
        return self._show(visit, *asked)

    def _delete(self, visit: Visit, ids: Sequence[str]) -> gr.HTML:
        """Delete tasks; return what to say about it."""
        if len(ids) == 1:  # with the reason if it cannot be
            visit.do(delete_task, ids[0])
            return silent()
        count = len(visit.do(delete_tasks, ids))
        kept = len(ids) - count
        more = " " + tr("{kept} still in progress are kept.", kept=kept) if kept else ""
        return inform(ntr("Deleted {count} entry.", "Deleted {count} entries.", count=count) + more)


def _each(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows, and those within the rows of projects."""
    for row in rows:
        yield row
        yield from row.get("rows", ())


def _nothing(visit: Visit, asked: Sequence[Any]) -> str:
    """Return why there is no row."""
    if any(asked[1:_AT]):
        return _NO_MATCH
    work = visit.do(history_view, visit.base_url, visit.now_s, limit=1).tasks
    if work:
        return _NO_PROJECT
    return _EMPTY_DEMO if visit.studio.service.is_demo else _EMPTY


def _filter(label: str, every: str, choices: dict[str, str]) -> gr.Dropdown:
    named = [(every, _ALL), *((name, value) for value, name in choices.items())]
    return gr.Dropdown(named, value=_ALL, label=label, filterable=False, min_width=130)
