"""The pitch editor, a mode of the instrument: edits a take's pitch, and renders anew what was edited.

What is touched is heard at once; the whole follows once there is a pause, in one result of this opening of the editor.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, NotRequired

import gradio as gr
from typing_extensions import TypedDict

from engine.errors import EngineError, SettingsError
from engine.texts import tr
from studio.actions.conversions.edit_previews import prepare_preview, preview_edit
from studio.actions.conversions.edits import changes_view, edit_view, start_edit
from studio.actions.conversions.takes import result_view
from studio.actions.tasks import cancel_task, delete_tasks
from studio.errors import NotFound
from studio.page.convert.instrument import brought, part
from studio.page.convert.pitch import Wanted
from studio.page.parts import analyses
from studio.page.parts.browser_memory import remembered
from studio.page.parts.notice import inform, notice, sentence_of, show_error, silent
from studio.page.parts.page import LATEST, Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar
from studio.page.parts.scores import progress_line
from studio.page.parts.values import Values
from studio.page.parts.watched_task import WatchedTask
from studio.store.records.conversion import Edits

_POLL_S = 0.4


@dataclass(frozen=True)
class Take:
    """A take in the editor; id: of what it shows of it."""

    task: str
    take: int
    id: str


class AskedEdits(TypedDict):
    """What the editor tells: the edits of what it shows; version: for the answer."""

    id: str
    version: NotRequired[int]
    edits: Edits


class AskedPreview(AskedEdits):
    """What the editor tells: a stretch to be heard with edits, or soon with others."""

    start_s: float
    end_s: float


@dataclass(frozen=True)
class Rendering:
    """A conversion that edits make. of: what it is an edit of; instead: an earlier one, whose place it takes."""

    task: str
    of: str
    instead: str | None


class PitchEditor:
    """Layout, events and their wiring; to be made where the editor shall be.

    chosen: the take to edit, or None. done: receives the id of the conversion that the edits made, and
    replaced that of the one whose place it takes.
    """

    def __init__(self, page: Page, instrument: gr.HTML, chosen: gr.State, done: gr.State, replaced: gr.State) -> None:
        self.done, self.replaced, self.is_open = done, replaced, gr.State(False)
        self.opened = gr.State(None)  # `Take`: what is in the editor
        self.rendering = remembered("pitch-editor")  # the id of the conversion that is rendered
        self.made = gr.State(None)  # `Rendering`: the last one since the editor was opened
        self.watching = WatchedTask(_POLL_S)
        self.editor, self.heard = part(), part()
        with gr.Row(visible=False) as self.going:
            self.progress = gr.HTML(elem_id="pitch-editor-progress")
            self.cancel = gr.Button(tr("Cancel"), size="sm", scale=0, min_width=90)
        self.problem = notice("pitch-editor-problem")
        self._wire(page, instrument, chosen)

    def _wire(self, page: Page, instrument: gr.HTML, chosen: gr.State) -> None:
        editor, opened, rendering, problem = self.editor, self.opened, self.rendering, self.problem
        in_editor = [opened, editor]
        rendered = [rendering, self.watching.timer, self.going, self.progress, editor]
        turned = [self.is_open, self.made, *in_editor]
        page.on_data(instrument.edit, self.turn, [chosen], turned, notice=problem, **LATEST)
        page.on(chosen.change, self.show, [chosen, self.is_open, opened, self.made], in_editor, notice=problem)
        page.on_data(instrument.wanted, self.show_again, [chosen], in_editor, notice=problem)
        page.on_data(instrument.changed, self.change, [opened], [editor], notice=problem, **LATEST)
        page.on_data(instrument.previewed, self.preview, [opened], [self.heard], notice=problem, **LATEST)
        page.on_data(instrument.expected, self.prepare, [opened], [], notice=problem, **LATEST)
        page.on_data(instrument.ordered, self.render, [opened, self.made], [*rendered, self.made], notice=problem)
        watched = [*rendered, self.replaced, self.done]
        self.watching.wire(page, self.watch, [rendering, opened, self.made], watched, notice=problem)
        page.on(page.blocks.load, self.come_back, [rendering], [self.watching.timer, self.going])
        page.on(self.cancel.click, self.stop, [rendering], [], notice=problem)

    def turn(self, visit: Visit, to: Mapping[Literal["isOn"], bool], take: Wanted | None) -> Updates:
        """Open or close the editor."""
        if not to["isOn"] or not take:
            return {self.is_open: False} | self._close()
        return {self.is_open: True, self.made: None} | self._open(visit, take)

    def show(
        self, visit: Visit, take: Wanted | None, is_open: bool, before: Take | None, made: Rendering | None
    ) -> Updates:
        if take and made and take.task == made.task and made.instead:
            _forget(visit, made.instead)
        if not is_open or (take and before and (take.task, take.take) == (before.task, before.take)):
            return None
        return self._open(visit, take) if take else self._close()

    def show_again(self, visit: Visit, data: object, take: Wanted | None) -> Updates:
        return self._open(visit, take) if take else None

    def change(self, visit: Visit, data: AskedEdits, now: Take | None) -> Updates:
        """Show the curve with the edits, or why they are refused."""
        if not now or data["id"] != now.id:
            return None
        answered = {"id": data["id"], "version": data.get("version")}
        try:
            changes = visit.do(changes_view, now.task, now.take, data["edits"])
        except EngineError as error:
            refused = brought("editor", {**answered, "isRefused": True})
            return {self.editor: refused, self.problem: show_error(sentence_of(error))}
        return {self.editor: brought("editor", {**answered, "changes": changes})}

    def preview(self, visit: Visit, data: AskedPreview, now: Take | None) -> Updates:
        """Bring the sound of what is being edited."""
        if not now or data["id"] != now.id:
            return None
        try:
            heard = visit.do(preview_edit, now.task, now.take, data["edits"], data["start_s"], data["end_s"])
        except SettingsError:  # said once they are made
            return None
        # of another version, so that what sounds as before is heard again
        return {self.heard: brought("heard", {"version": data.get("version"), **vars(heard)})} if heard else None

    def prepare(self, visit: Visit, data: AskedPreview, now: Take | None) -> Updates:
        """Prepare for what may be edited next."""
        if now and data["id"] == now.id:
            with suppress(SettingsError):  # it cannot be edited as it is, which is said when it is
                visit.do(prepare_preview, now.task, now.take, data["edits"], data["start_s"], data["end_s"])
        return None

    def render(self, visit: Visit, data: AskedEdits, now: Take | None, made: Rendering | None) -> Updates:
        if not now or data["id"] != now.id:
            return None
        before = made if made and made.task == now.task else None
        of, instead = (before.of, before.task) if before else (now.task, None)
        task_id = visit.do(start_edit, now.task, now.take, data["edits"], of)
        return {
            self.rendering: task_id,
            self.made: Rendering(task_id, of, instead),
            **self.watching.begin(),
            self.editor: brought("editor", {"id": data["id"], "isBusy": True}),
            self.going: gr.Row(visible=True),
            self.progress: progress_bar(0.0, tr("Starting")),
        }

    def watch(self, visit: Visit, task_id: str | None, now: Take | None, made: Rendering | None) -> Updates:
        over: Values = {self.rendering: None, **self.watching.end(), self.going: gr.Row(visible=False)}
        idle: Values = {self.editor: brought("editor", {"id": now.id, "isBusy": False})} if now else {}
        if task_id is None:
            return over | idle
        try:
            view = visit.do(result_view, task_id, visit.base_url, visit.now_s)
        except NotFound:  # it was deleted in the history
            return over | idle
        if view.state in analyses.BUSY:
            return {self.progress: progress_bar(view.progress, progress_line(view))}
        if view.state == "completed":  # the editor is busy until this one is in it
            instead = made.instead if made and made.task == task_id else None
            return over | {self.replaced: instead, self.done: task_id, self.problem: silent()}
        if view.state == "failed":
            return over | idle | {self.problem: show_error(view.error or "")}
        return over | idle | {self.problem: inform(tr("Rendering cancelled. Nothing was changed."))}

    def come_back(self, visit: Visit, task_id: str | None) -> Updates:
        """Watch what was being rendered when this browser left."""
        return {**self.watching.begin(), self.going: gr.Row(visible=True)} if task_id else None

    def stop(self, visit: Visit, task_id: str | None) -> Updates:
        if task_id:
            visit.do(cancel_task, task_id, visit.base_url, visit.now_s)
        return None

    def _open(self, visit: Visit, take: Wanted) -> Values:
        try:
            view = visit.do(edit_view, take.task, take.take, visit.base_url, visit.now_s)
        except EngineError as error:  # what was open is of another take
            return self._close() | {self.problem: show_error(sentence_of(error))}
        return {self.opened: Take(take.task, take.take, view.id), self.editor: brought("editor", view)}

    def _close(self) -> Values:
        return {self.opened: None, self.editor: brought("editor", None)}


def _forget(visit: Visit, task_id: str) -> None:
    """Delete what the page made by itself, unless somebody named or starred it."""
    with suppress(NotFound):
        takes = visit.do(result_view, task_id, visit.base_url, visit.now_s).takes
        if not any(take.name or take.starred for take in takes):
            visit.do(delete_tasks, [task_id])
