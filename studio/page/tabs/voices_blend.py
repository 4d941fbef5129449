"""Blending two voices, on the Voices tab: the choice, the shares and the progress."""

from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr

from engine.voices.profile import LONGEST_NAME
from studio.actions.blends import active_blend, blend_view, start_blend
from studio.actions.tasks import cancel_task
from studio.errors import Invalid, NotFound
from studio.page.parts.notice import notice, told, told_error
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar

_POLL_S = 0.5


class Blend:
    """The form. task: the id of the running blend; choices: the components changed by `offered`, outputs: by `look`."""

    def __init__(self, page: Page, opener: gr.Button) -> None:
        """Lay out and wire the form; `opener` shows it."""
        with gr.Column(visible=False, elem_id="voices-blend") as self.place:
            gr.HTML('<h3 aria-level="2">Blend two voices</h3>')
            with gr.Row():
                self.first = gr.Dropdown([], label="First voice", min_width=140, elem_classes="names")
                self.second = gr.Dropdown([], label="Second voice", min_width=140, elem_classes="names")
            share = gr.Slider(0, 100, 50, step=5, label="Share of the second voice (%)", buttons=["reset"])
            name = gr.Textbox(label="Name", max_length=LONGEST_NAME, placeholder="Optional")
            with gr.Row():
                self.begin = gr.Button("Blend", variant="primary", size="sm", elem_id="voices-blend-begin")
                close = gr.Button("Close", size="sm")
                self.stop = gr.Button("Stop", variant="stop", size="sm", visible=False)
            self.progress = gr.HTML(visible=False)
            self.problem = notice("voices-blend-problem")
        self.task, self.timer = gr.State(None), gr.Timer(_POLL_S, active=False)
        self.choices = [self.first, self.second]
        self.outputs = [self.place, self.begin, self.stop, self.progress, self.problem, self.task, self.timer]
        page.on(opener.click, self._show, [], self.outputs)
        page.on(close.click, lambda visit: {self.place: gr.Column(visible=False)}, [], [self.place])
        page.on(self.begin.click, self._start, [*self.choices, share, name], self.outputs, notice=self.problem)
        page.on(self.stop.click, self._cancel, [self.task], self.outputs, notice=self.problem)

    def offered(self, voices: Sequence[Mapping[str, Any]]) -> dict[Any, Any]:
        """Return updates with the voices available for blending."""
        ready = [(voice["name"], voice["id"]) for voice in voices if voice["state"] == "completed"]
        return {self.first: gr.Dropdown(choices=ready), self.second: gr.Dropdown(choices=ready)}

    def look(self, visit: Visit, task_id: str | None) -> tuple[dict[Any, Any], str | None]:
        """Return updates that show a blend's progress and, once it is done, the id of its voice."""
        if task_id is None:
            return self._idle(), None
        try:
            view = blend_view(visit.studio, visit.account, task_id)
        except NotFound:
            return self._idle(), None
        if view.is_active:
            said = f"{view.name}: {view.message or 'waiting for a worker'}"
            return {
                self.place: gr.Column(visible=True),
                self.begin: gr.Button(interactive=False),
                self.stop: gr.Button(visible=True),
                self.progress: gr.HTML(value=progress_bar(view.progress, said), visible=True),
                self.task: task_id,
                self.timer: gr.Timer(active=True),
            }, None
        updates = self._idle()
        if view.state == "failed":
            return updates | {self.problem: told_error(view.error or "Blending failed.")}, None
        if view.model_id is None:
            return updates | {self.problem: told("Blending was stopped.")}, None
        return updates | {self.place: gr.Column(visible=False)}, view.model_id

    def _idle(self) -> dict[Any, Any]:
        return {
            self.begin: gr.Button(interactive=True),
            self.stop: gr.Button(visible=False),
            self.progress: gr.HTML(value="", visible=False),
            self.task: None,
            self.timer: gr.Timer(active=False),
        }

    def _show(self, visit: Visit) -> Updates:
        running = active_blend(visit.studio, visit.account)  # perhaps since before the page was loaded
        return {self.place: gr.Column(visible=True), **(self.look(visit, running.task_id)[0] if running else {})}

    def _start(self, visit: Visit, one: str | None, other: str | None, percent: float, called: str | None) -> Updates:
        if not one or not other:
            raise Invalid([("voices", "Choose two voices to blend.")])
        task_id = start_blend(visit.studio, visit.account, one, other, percent / 100, called or "")
        return self.look(visit, task_id)[0]

    def _cancel(self, visit: Visit, task_id: str | None) -> Updates:
        if task_id is not None:
            cancel_task(visit.studio, visit.account, task_id, visit.base_url, visit.now_s)
        return self.look(visit, task_id)[0]
