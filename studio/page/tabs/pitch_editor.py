"""The pitch editor, below the result of a conversion: a take's pitch is edited, and rendered anew where it was."""

from typing import Any

import gradio as gr

from engine.errors import EngineError
from studio.actions.analyses import analysis_view
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

_POLL_S = 0.4
_PLAYER = "pitch-editor-player"


def build_pitch_editor(page: Page, chosen: gr.State, done: gr.State) -> None:
    """Layout and events; to be called where the editor shall be.

    chosen: the take that is looked at, {task, take, of}, of: of how many takes, or None; it may have the id of its
    `analysis` and the voice's `range`, as <timbre-roll> shows it. done: is given the id of the conversion that came of
    the edits.
    """
    # opened: what is in the editor; looks: the analyses of takes; rendering: the conversion that is on its way
    is_open, opened, looks = gr.State(False), gr.State(None), gr.State({})
    rendering = remembered("pitch-editor")
    drawing, timer = gr.Timer(_POLL_S, active=False), gr.Timer(_POLL_S, active=False)
    with gr.Accordion(_title(None), open=False, elem_id="pitch-editor") as fold:
        player = element("player", elem_id=_PLAYER)
        editor = element("pitch-editor", events=("changed", "ordered", "wanted"), elem_id="pitch-editor-curve")
        with gr.Row(visible=False) as going:
            progress = gr.HTML(elem_id="pitch-editor-progress")
            cancel = gr.Button("Cancel", size="sm", scale=0, min_width=90)
        problem = notice("pitch-editor-problem")
    in_editor = [opened, player, editor, drawing]

    def show(visit: Visit, take: dict[str, Any] | None, wanted: bool, before: dict[str, Any] | None) -> Updates:
        named = {fold: gr.Accordion(label=_title(take))}
        if not wanted or (take and before and all(take[name] == before[name] for name in ("task", "take"))):
            return named
        return named | (open_take(visit, take) if take else closed())

    def closed() -> dict[Any, Any]:
        return {opened: None, player: shown(None), editor: shown(None), drawing: gr.Timer(active=False)}

    def open_take(visit: Visit, take: dict[str, Any]) -> dict[Any, Any]:
        try:
            view = edit_view(visit.studio, visit.account, take["task"], take["take"], visit.base_url, visit.now_s)
        except EngineError as error:  # what was open is of another take
            return closed() | {problem: told_error(sentence_of(error))}
        heard = view.pop("heard")
        name = f"{_PLAYER}-{view['id']}"
        tracks = {"id": name, "tracks": heard, "chosen": len(heard) - 1}
        data = view | {"follows": name, "range": take.get("range")}
        now = {"task": take["task"], "take": take["take"], "id": view["id"], "analysis": take.get("analysis")}
        return {opened: now, player: shown(tracks), editor: shown(data), drawing: gr.Timer(active=True)}

    def fold_opened(visit: Visit, take: dict[str, Any] | None) -> Updates:
        return {is_open: True} | (open_take(visit, take) if take else {})

    def again(visit: Visit, told_data: dict[str, Any], take: dict[str, Any] | None) -> Updates:
        return open_take(visit, take) if take else None

    def draw(visit: Visit, now: dict[str, Any] | None, known: dict[str, str]) -> Updates:
        """The spectrogram behind the curve, and the notes, once the take has been looked at."""
        still = {drawing: gr.Timer(active=False)}
        if not now:
            return still
        name = f"{now['task']} {now['take']}"
        analysis, view = _looked_at(visit, known.get(name) or now["analysis"])
        if view is None:
            try:
                analysis = look_at_take(visit.studio, visit.account, now["task"], now["take"])
            except EngineError:  # it can be edited without a picture
                return still
            return {looks: known | {name: analysis}}
        if view["state"] in ("queued", "running"):
            return None
        if view["state"] != "completed":
            return still
        parts = {part: view["roll"][part] for part in ("picture", "pictures", "notes")}
        return still | {looks: known | {name: analysis}, editor: shown({"id": now["id"], **parts})}

    def changed(visit: Visit, data: dict[str, Any], now: dict[str, Any] | None) -> Updates:
        """What the edits come to, or why they cannot be."""
        if not now or data["id"] != now["id"]:
            return None
        answer = {"id": data["id"], "version": data["version"]}
        try:
            changes = changes_view(visit.studio, visit.account, now["task"], now["take"], data["edits"])
        except EngineError as error:
            return {editor: shown(answer | {"isRefused": True}), problem: told_error(sentence_of(error))}
        return {editor: shown(answer | {"changes": changes})}

    def render(visit: Visit, data: dict[str, Any], now: dict[str, Any] | None) -> Updates:
        if not now or data["id"] != now["id"]:
            return None
        task_id = start_edit(visit.studio, visit.account, now["task"], now["take"], data["edits"])
        busy = shown({"id": now["id"], "isBusy": True})
        bar = progress_bar(0.0, "Starting")
        return {
            rendering: task_id,
            timer: gr.Timer(active=True),
            editor: busy,
            going: gr.Row(visible=True),
            progress: bar,
        }

    def watch(visit: Visit, task_id: str | None, now: dict[str, Any] | None) -> Updates:
        over: dict[Any, Any] = {rendering: None, timer: gr.Timer(active=False), going: gr.Row(visible=False)}
        if now:
            over[editor] = shown({"id": now["id"], "isBusy": False})
        if task_id is None:
            return over
        try:
            view = result_view(visit.studio, visit.account, task_id, visit.base_url, visit.now_s)
        except NotFound:  # it was deleted in the history
            return over
        if view["state"] in ("queued", "running"):
            ahead = view["ahead"]
            said = f"Waiting: {ahead} ahead" if ahead else f"{view['message'] or 'starting'}".capitalize()
            return {progress: progress_bar(view["progress"], said)}
        if view["state"] == "completed":
            return over | {done: task_id, problem: silent()}
        if view["state"] == "failed":
            return over | {problem: told_error(view["error"])}
        return over | {problem: told("Rendering cancelled. Nothing was changed.")}

    def come_back(visit: Visit, task_id: str | None) -> Updates:
        """What was on its way when this browser left."""
        return {timer: gr.Timer(active=True), going: gr.Row(visible=True)} if task_id else None

    def stop(visit: Visit, task_id: str | None) -> Updates:
        if task_id:
            cancel_task(visit.studio, visit.account, task_id, visit.base_url, visit.now_s)
        return None

    page.on(fold.expand, fold_opened, [chosen], [is_open, *in_editor], notice=problem)
    page.on(chosen.change, show, [chosen, is_open, opened], [fold, *in_editor], notice=problem)
    page.on_data(editor.wanted, again, [chosen], in_editor, notice=problem)
    page.on(drawing.tick, draw, [opened, looks], [looks, editor, drawing])
    page.on_data(editor.changed, changed, [opened], [editor], notice=problem)
    page.on_data(editor.ordered, render, [opened], [rendering, timer, editor, going, progress], notice=problem)
    page.on(timer.tick, watch, [rendering, opened], [rendering, timer, going, progress, editor, done], notice=problem)
    page.on(page.blocks.load, come_back, [rendering], [timer, going])
    page.on(cancel.click, stop, [rendering], [], notice=problem)


def _title(take: dict[str, Any] | None) -> str:
    return f"Edit pitch of take {take['take']}" if take and take["of"] > 1 else "Edit pitch"


def _looked_at(visit: Visit, analysis: str | None) -> tuple[str | None, dict[str, Any] | None]:
    """An analysis and what is shown of it; None where it is not there, or not any more: they are kept for a day."""
    if analysis is None:
        return None, None
    try:
        return analysis, analysis_view(visit.studio, visit.account, analysis, visit.base_url, visit.now_s)
    except NotFound:
        return None, None
