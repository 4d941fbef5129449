"""The Convert tab: a recording in, the same performance in another voice out."""

from typing import Any

import gradio as gr

from studio.actions.repeats import convert_recording, look_at_recording
from studio.actions.results import result_view
from studio.errors import Invalid
from studio.page.parts.notice import notice, told_error
from studio.page.parts.page import Page, Updates, Visit
from studio.page.tabs.convert_batch import build_batch
from studio.page.tabs.convert_fit import build_fit
from studio.page.tabs.convert_recording import build_recording
from studio.page.tabs.convert_result import build_result
from studio.page.tabs.convert_settings import build_settings
from studio.page.tabs.convert_voice import GONE, build_voice

_NO_RECORDING = (
    "Add a recording first: drop a file, record one, or try a sample. "
    "If a file is still uploading, wait until it is done."
)
# what fills the form is done one after the other, so that nobody is too quick for it
IN_TURN: dict[str, Any] = {"concurrency_id": "convert", "concurrency_limit": 1}


def build_convert_tab(page: Page, tab: gr.Tab) -> None:
    """Layout and events; to be called inside `tab`."""
    alone = gr.State(True)  # whether one recording is to be converted, and not several
    with gr.Row(elem_id="convert"):
        with gr.Column(scale=7, min_width=320):
            with gr.Tabs(elem_id="convert-input") as number:
                with gr.Tab("One recording", id="one") as one:
                    recording = build_recording(page, IN_TURN)
                with gr.Tab("Several at once", id="several") as several:
                    batch = build_batch(page)
            voice = build_voice(page, tab, recording, alone)
        with gr.Column(scale=5, min_width=320, elem_id="convert-settings"):
            fit = build_fit(page, recording, alone, voice)
            settings = build_settings(page, recording, alone, fit, IN_TURN)
            start = gr.Button("Convert", variant="primary", size="lg", elem_id="convert-start")
            problem = notice("convert-problem")
            progress_place = gr.Column(elem_id="convert-progress")
    result = build_result(page, tab, progress_place)
    batch.connect(voice, settings)

    def convert(visit: Visit, given: dict[Any, Any]) -> Updates:
        chosen, model = given[recording.chosen], given[voice.chosen]
        if not chosen:
            raise Invalid([("recording", _NO_RECORDING)])
        if not model:
            raise Invalid([("voice", "Choose a voice first.")])
        if others := voice.without(visit, model):
            return others | {problem: told_error(GONE)}
        task_id = convert_recording(
            visit.studio,
            visit.account,
            chosen["id"],
            model=model,
            settings=settings.asked(given),
            preset=settings.preset_of(given),
            stretch=recording.stretch_of(chosen),
        )
        return result.begun(visit, task_id, chosen, given[result.kept])

    inputs = {recording.chosen, voice.chosen, result.kept, *settings.controls}
    page.on(start.click, convert, inputs, [*result.watched, *voice.outputs], notice=problem, **IN_TURN)
    # several have a button of their own beside them
    for choice, is_one in ((one, True), (several, False)):
        page.on(
            choice.select, lambda visit, is_one=is_one: {start: gr.Button(visible=is_one), alone: is_one}, [],
            [start, alone],
        )  # fmt: skip

    def wished(visit: Visit, wish: dict[str, Any] | None, kept: Any) -> Updates:
        updates: dict[Any, Any] = {}
        if not wish:
            return updates
        if model := wish.get("voice"):
            updates |= voice.choose(visit, model)
        if wish.get("recording") or wish.get("task"):
            updates[number] = gr.Tabs(selected="one")
        if analysis := wish.get("recording"):
            updates |= recording.take(analysis)
        if task_id := wish.get("task"):
            view = result_view(visit.studio, visit.account, task_id, visit.base_url, visit.now_s)
            updates |= voice.choose(visit, view["model"])
            updates |= settings.fill(view["preset"], view["asked_settings"])
            taken = look_at_recording(visit.studio, visit.account, task_id)
            updates |= recording.take(taken, settled=True)
            updates |= result.begun(visit, task_id, {"id": taken}, kept)
        return updates

    filled = [number, *recording.outputs, *voice.outputs, *settings.controls, *result.watched]
    wish = page.wishes["convert"]
    page.on(wish.change, wished, [wish, result.kept], filled, notice=problem, **IN_TURN)

    def come_back(visit: Visit, *stored: Any) -> Updates:
        """What this browser had here when it left, or the beginning."""
        form, taken, model, kept, rows = stored
        return (
            settings.restore(form)
            | recording.restore(visit, taken)
            | voice.choose(visit, model)
            | result.restore(visit, kept)
            | batch.restore(rows)
        )

    stored = [settings.kept, recording.kept, voice.chosen, result.kept, batch.rows]
    page.on(page.blocks.load, come_back, stored, [*filled, *batch.outputs])
