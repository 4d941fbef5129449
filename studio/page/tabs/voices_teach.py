"""Make an imported voice ours, on the Voices tab: what it sings, how long the training is, and the progress."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from engine.voices.card_rules import RVC
from engine.voices.profile import LONGEST_NAME
from studio.actions.arrivals import refuse_large
from studio.actions.tasks import cancel_task
from studio.actions.teachings import TeachingRequest, active_teaching, start_teaching, teaching_view
from studio.errors import NotFound
from studio.page.parts.notice import notice, told, told_error
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar

_POLL_S = 0.5
_HELP = (
    "The imported voice sings the bundled recordings and yours, and a voice of this studio is trained on the results. "
    "It converts about twenty times as fast, and live. Five minutes of your own recordings make it better."
)


class Teach:
    """The form. task: the id of the running teaching; outputs: what `look` changes; opener and place: `offered`."""

    def __init__(self, page: Page, chosen: gr.BrowserState) -> None:
        """Lay out and wire the form for the chosen voice."""
        self.opener = gr.Button("Make it ours", size="md", visible=False, elem_id="voice-teach")
        with gr.Column(visible=False, elem_id="voices-teach") as self.place:
            gr.HTML(f'<h3 aria-level="2">Make it ours</h3><p>{_HELP}</p>')
            files = gr.File(
                label="Your recordings (optional)", file_count="multiple", height=130, elem_id="voices-teach-recordings"
            )
            name = gr.Textbox(label="Name", max_length=LONGEST_NAME, placeholder="Optional")
            epochs = gr.Slider(0, 300, 100, step=10, label="Epochs of training (0: only the recordings)")
            with gr.Row():
                self.begin = gr.Button("Start", variant="primary", size="sm", elem_id="voices-teach-begin")
                close = gr.Button("Close", size="sm")
                self.stop = gr.Button("Stop", variant="stop", size="sm", visible=False)
            self.progress = gr.HTML(visible=False)
            self.problem = notice("voices-teach-problem")
        self.task, self.timer = gr.State(None), gr.Timer(_POLL_S, active=False)
        self.outputs = [self.place, self.begin, self.stop, self.progress, self.problem, self.task, self.timer]
        page.on(self.opener.click, self._show, [], self.outputs)
        page.on(close.click, lambda visit: {self.place: gr.Column(visible=False)}, [], [self.place])
        page.on(self.begin.click, self._start, [chosen, files, name, epochs], self.outputs, notice=self.problem)
        page.on(self.stop.click, self._cancel, [self.task], self.outputs, notice=self.problem)

    def offered(self, voice: Mapping[str, Any]) -> dict[Any, Any]:
        """Return updates that offer it for imported voices alone."""
        is_imported = voice["kind"] == RVC
        shown = {} if is_imported else {self.place: gr.Column(visible=False)}
        return {self.opener: gr.Button(visible=is_imported), **shown}

    def look(self, visit: Visit, task_id: str | None) -> tuple[dict[Any, Any], str | None]:
        """Return updates that show the progress and, once it is done, the id of the new voice."""
        if task_id is None:
            return self._idle(), None
        try:
            view = teaching_view(visit.studio, visit.account, task_id)
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
            return updates | {self.problem: told_error(view.error or "The voice could not be made.")}, None
        if view.model_id is None:
            return updates | {self.problem: told("Stopped. Nothing was made.")}, None
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
        running = active_teaching(visit.studio, visit.account)  # perhaps since before the page was loaded
        return {self.place: gr.Column(visible=True), **(self.look(visit, running.task_id)[0] if running else {})}

    def _start(
        self, visit: Visit, model: str | None, files: list[str] | None, name: str | None, epochs: float
    ) -> Updates:
        if model is None:
            return None
        recordings = [Path(one) for one in files or ()]
        for one in recordings:
            refuse_large(visit.studio, one)
        most = visit.studio.service.epochs_at_most
        request = TeachingRequest(name or "", min(round(epochs), most), recordings)
        return self.look(visit, start_teaching(visit.studio, visit.account, model, request))[0]

    def _cancel(self, visit: Visit, task_id: str | None) -> Updates:
        if task_id is not None:
            cancel_task(visit.studio, visit.account, task_id, visit.base_url, visit.now_s)
        return self.look(visit, task_id)[0]
