"""What the forms that make a new voice share, on the Voices tab: their buttons, the progress and the end of a task."""

from typing import ClassVar

import gradio as gr

from engine.texts import joined, tr
from studio.actions.tasks import cancel_task
from studio.actions.voices.making import active_new_voice, new_voice_view
from studio.errors import NotFound
from studio.page.parts.notice import inform, notice, show_error
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar
from studio.page.parts.values import Values
from studio.page.parts.watched_task import WatchedTask

_POLL_S = 0.5


class NewVoiceForm:
    """A form in `place`. task: the id of the running task; outputs: what `look` changes.

    kind: of the tasks; failed, stopped: what is said where there is no voice in the end.
    """

    kind: ClassVar[str]
    failed: ClassVar[str]
    stopped: ClassVar[str]
    place: gr.Column

    def lay_out_end(self, begin: str, name: str) -> None:
        """Lay out what stands below the fields of a form. begin: on the button that starts the task; name: of ids."""
        with gr.Row():
            self.begin = gr.Button(begin, variant="primary", size="sm", elem_id=f"{name}-begin")
            self.close = gr.Button(tr("Close"), size="sm")
            self.stop = gr.Button(tr("Stop"), variant="stop", size="sm", visible=False)
        self.progress = gr.HTML(visible=False)
        self.problem = notice(f"{name}-problem")

    def wire(self, page: Page, opener: gr.Button) -> None:
        """Wire everything but the start; `opener` shows the form."""
        self.task, self.watched = gr.State(None), WatchedTask(_POLL_S)
        self.outputs = [self.place, self.begin, self.stop, self.progress, self.problem, self.task, self.watched.timer]
        page.on(opener.click, self._show, [], self.outputs)
        page.on(self.close.click, lambda visit: {self.place: gr.Column(visible=False)}, [], [self.place])
        page.on(self.stop.click, self._cancel, [self.task], self.outputs, notice=self.problem)

    def look(self, visit: Visit, task_id: str | None) -> tuple[Values, str | None]:
        """Return updates that show the progress and, once the task is done, the id of the new voice."""
        if task_id is None:
            return self._idle(), None
        try:
            view = visit.do(new_voice_view, self.kind, task_id)
        except NotFound:
            return self._idle(), None
        if view.is_active:
            said = joined(": ", (view.name, view.message or tr("waiting for a worker")))
            return {
                self.place: gr.Column(visible=True),
                self.begin: gr.Button(interactive=False),
                self.stop: gr.Button(visible=True),
                self.progress: gr.HTML(value=progress_bar(view.progress, said), visible=True),
                self.task: task_id,
                **self.watched.begin(),
            }, None
        updates = self._idle()
        if view.state == "failed":
            return updates | {self.problem: show_error(view.error or self.failed)}, None
        if view.model_id is None:
            return updates | {self.problem: inform(self.stopped)}, None
        return updates | {self.place: gr.Column(visible=False)}, view.model_id

    def _idle(self) -> Values:
        return {
            self.begin: gr.Button(interactive=True),
            self.stop: gr.Button(visible=False),
            self.progress: gr.HTML(value="", visible=False),
            self.task: None,
            **self.watched.end(),
        }

    def _show(self, visit: Visit) -> Updates:
        running = visit.do(active_new_voice, self.kind)  # perhaps since before the page was loaded
        return {self.place: gr.Column(visible=True), **(self.look(visit, running.task_id)[0] if running else {})}

    def _cancel(self, visit: Visit, task_id: str | None) -> Updates:
        if task_id is not None:
            visit.do(cancel_task, task_id, visit.base_url, visit.now_s)
        return self.look(visit, task_id)[0]
