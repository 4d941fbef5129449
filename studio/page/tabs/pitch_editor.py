"""The pitch editor below the result of a conversion: edits a take's pitch, and renders anew what was edited."""

from collections.abc import Mapping
from typing import Any

import gradio as gr

from engine.errors import EngineError
from studio.actions.pitch_edits import changes_view, edit_view, start_edit
from studio.actions.repeats import look_at_take
from studio.actions.results import result_view
from studio.actions.tasks import cancel_task
from studio.errors import NotFound
from studio.page.parts.element import element, shown
from studio.page.parts.memory import remembered
from studio.page.parts.notice import notice, sentence_of, silent, told, told_error
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar
from studio.page.tabs import analyses
from studio.page.tabs.convert_scores import progress_line

_POLL_S = 0.4
_PLAYER = "pitch-editor-player"

Take = Mapping[str, Any]


class PitchEditor:
    """Layout, events and their wiring; to be made where the editor shall be.

    chosen: the take to edit, {task, take, of}, of: of how many takes, or None; it may have the id of its `analysis`
    and the voice's `range`, as <timbre-roll> shows it. done: receives the id of the conversion that the edits made.
    """

    def __init__(self, page: Page, chosen: gr.State, done: gr.State) -> None:
        self.done, self.is_open = done, gr.State(False)
        self.opened = gr.State(None)  # {task, take, id, analysis}: what is in the editor
        self.known = gr.State({})  # ids of takes' analyses
        self.rendering = remembered("pitch-editor")  # the id of the conversion that is rendered
        self.drawing, self.timer = gr.Timer(_POLL_S, active=False), gr.Timer(_POLL_S, active=False)
        with gr.Accordion(_title(None), open=False, elem_id="pitch-editor") as self.fold:
            self.player = element("player", elem_id=_PLAYER)
            self.editor = element("pitch-editor", events=("changed", "ordered", "wanted"), elem_id="pitch-editor-curve")
            with gr.Row(visible=False) as self.going:
                self.progress = gr.HTML(elem_id="pitch-editor-progress")
                self.cancel = gr.Button("Cancel", size="sm", scale=0, min_width=90)
            self.problem = notice("pitch-editor-problem")
        self._wire(page, chosen)

    def _wire(self, page: Page, chosen: gr.State) -> None:
        editor, opened, rendering, timer, problem = self.editor, self.opened, self.rendering, self.timer, self.problem
        in_editor = [opened, self.player, editor, self.drawing]
        rendered = [rendering, timer, self.going, self.progress, editor]
        page.on(self.fold.expand, self.unfold, [chosen], [self.is_open, *in_editor], notice=problem)
        page.on(chosen.change, self.show, [chosen, self.is_open, opened], [self.fold, *in_editor], notice=problem)
        page.on_data(editor.wanted, self.show_again, [chosen], in_editor, notice=problem)
        page.on(self.drawing.tick, self.draw, [opened, self.known], [self.known, editor, self.drawing])
        page.on_data(editor.changed, self.change, [opened], [editor], notice=problem)
        page.on_data(editor.ordered, self.render, [opened], rendered, notice=problem)
        page.on(timer.tick, self.watch, [rendering, opened], [*rendered, self.done], notice=problem)
        page.on(page.blocks.load, self.come_back, [rendering], [timer, self.going])
        page.on(self.cancel.click, self.stop, [rendering], [], notice=problem)

    def unfold(self, visit: Visit, take: Take | None) -> Updates:
        return {self.is_open: True} | (self._open(visit, take) if take else {})

    def show(self, visit: Visit, take: Take | None, is_open: bool, before: Take | None) -> Updates:
        named = {self.fold: gr.Accordion(label=_title(take))}
        if not is_open or (take and before and all(take[name] == before[name] for name in ("task", "take"))):
            return named
        return named | (self._open(visit, take) if take else self._close())

    def show_again(self, visit: Visit, data: dict[str, Any], take: Take | None) -> Updates:
        return self._open(visit, take) if take else None

    def draw(self, visit: Visit, now: Take | None, known: dict[str, str]) -> Updates:
        """Show the spectrogram behind the curve, and the notes, once the take is analysed."""
        still = {self.drawing: gr.Timer(active=False)}
        if not now:
            return still
        key = f"{now['task']} {now['take']}"
        view = analyses.find(visit, known.get(key) or now["analysis"])
        if view is None:
            try:
                return {self.known: known | {key: look_at_take(visit.studio, visit.account, now["task"], now["take"])}}
            except EngineError:  # it can be edited without a picture
                return still
        if view["state"] in analyses.BUSY:
            return None
        if view["state"] != "completed":
            return still
        parts = {part: view["roll"][part] for part in ("picture", "pictures", "notes")}
        return still | {self.known: known | {key: view["id"]}, self.editor: shown({"id": now["id"], **parts})}

    def change(self, visit: Visit, data: dict[str, Any], now: Take | None) -> Updates:
        """Show the curve with the edits, or why they are refused."""
        if not now or data["id"] != now["id"]:
            return None
        answer = {"id": data["id"], "version": data["version"]}
        try:
            changes = changes_view(visit.studio, visit.account, now["task"], now["take"], data["edits"])
        except EngineError as error:
            refused = shown(answer | {"isRefused": True})
            return {self.editor: refused, self.problem: told_error(sentence_of(error))}
        return {self.editor: shown(answer | {"changes": changes})}

    def render(self, visit: Visit, data: dict[str, Any], now: Take | None) -> Updates:
        if not now or data["id"] != now["id"]:
            return None
        return {
            self.rendering: start_edit(visit.studio, visit.account, now["task"], now["take"], data["edits"]),
            self.timer: gr.Timer(active=True),
            self.editor: shown({"id": now["id"], "isBusy": True}),
            self.going: gr.Row(visible=True),
            self.progress: progress_bar(0.0, "Starting"),
        }

    def watch(self, visit: Visit, task_id: str | None, now: Take | None) -> Updates:
        over: dict[Any, Any] = {
            self.rendering: None,
            self.timer: gr.Timer(active=False),
            self.going: gr.Row(visible=False),
        }
        if now:
            over[self.editor] = shown({"id": now["id"], "isBusy": False})
        if task_id is None:
            return over
        try:
            view = result_view(visit.studio, visit.account, task_id, visit.base_url, visit.now_s)
        except NotFound:  # it was deleted in the history
            return over
        if view["state"] in analyses.BUSY:
            return {self.progress: progress_bar(view["progress"], progress_line(view))}
        if view["state"] == "completed":
            return over | {self.done: task_id, self.problem: silent()}
        if view["state"] == "failed":
            return over | {self.problem: told_error(view["error"])}
        return over | {self.problem: told("Rendering cancelled. Nothing was changed.")}

    def come_back(self, visit: Visit, task_id: str | None) -> Updates:
        """Watch what was being rendered when this browser left."""
        return {self.timer: gr.Timer(active=True), self.going: gr.Row(visible=True)} if task_id else None

    def stop(self, visit: Visit, task_id: str | None) -> Updates:
        if task_id:
            cancel_task(visit.studio, visit.account, task_id, visit.base_url, visit.now_s)
        return None

    def _open(self, visit: Visit, take: Take) -> dict[Any, Any]:
        try:
            view = edit_view(visit.studio, visit.account, take["task"], take["take"], visit.base_url, visit.now_s)
        except EngineError as error:  # what was open is of another take
            return self._close() | {self.problem: told_error(sentence_of(error))}
        tracks = view.pop("heard")
        player = f"{_PLAYER}-{view['id']}"
        now = {"task": take["task"], "take": take["take"], "id": view["id"], "analysis": take.get("analysis")}
        return {
            self.opened: now,
            self.player: shown({"id": player, "tracks": tracks, "chosen": len(tracks) - 1}),
            self.editor: shown(view | {"follows": player, "range": take.get("range")}),
            self.drawing: gr.Timer(active=True),
        }

    def _close(self) -> dict[Any, Any]:
        return {
            self.opened: None,
            self.player: shown(None),
            self.editor: shown(None),
            self.drawing: gr.Timer(active=False),
        }


def _title(take: Take | None) -> str:
    return f"Edit pitch of take {take['take']}" if take and take["of"] > 1 else "Edit pitch"
