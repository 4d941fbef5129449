"""The check of a new voice's recordings, on the Create tab: read it before training."""

from typing import Any

import gradio as gr

from studio.actions.datasets import examination_view, examine_again
from studio.actions.drafts import Brought, take_back
from studio.actions.voices import model_view
from studio.errors import NotFound
from studio.page.parts.element import element, shown
from studio.page.parts.memory import remembered
from studio.page.parts.notice import notice, show_error, silent
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar
from studio.page.tabs.voices_report import report_picture

_POLL_S = 0.5
_ACTIVE = ("queued", "running")
_NOT_TRAINABLE = "too_little"  # the finding that rules out training


class Report:
    """The report. model: the id of the voice whose recordings are checked, remembered by the browser."""

    def __init__(self, page: Page) -> None:
        self.model = remembered("create-voice")
        self.timer = gr.Timer(_POLL_S, active=False)
        with gr.Column(visible=False, elem_id="create-report") as self.place:
            self.heading = element("voice")
            self.progress = gr.HTML(visible=False)
            self.found = element("report", elem_id="create-found")
            self.picture = gr.HTML()
            self.problem = notice("create-report-problem")
            with gr.Row():
                self.train = gr.Button("Train this voice", variant="primary", visible=False)
                self.convert = gr.Button("Convert with this voice", visible=False)
                self.without_bad = gr.Button("Remove unsuitable recordings", visible=False)
                self.change = gr.Button("Change recordings", visible=False)
                self.again = gr.Button("Check again", visible=False)
                self.another = gr.Button("Create another voice")
        self.outputs = [
            self.model, self.place, self.heading, self.progress, self.picture, self.found, self.problem, self.train,
            self.convert, self.without_bad, self.change, self.again, self.timer,
        ]  # fmt: skip
        page.on(
            self.timer.tick, self._look_again, [self.model], self.outputs, notice=self.problem, trigger_mode="once"
        )  # fmt: skip
        page.on(self.again.click, self._repeat, [self.model], self.outputs, notice=self.problem)

    def begin(self, visit: Visit, model: str) -> dict[Any, Any]:
        """Return updates that follow the check of a new voice."""
        return {self.model: model, **self.look(visit, model)}

    def end(self) -> dict[Any, Any]:
        """Return updates that hide the report."""
        return {
            self.model: None,
            self.place: gr.Column(visible=False),
            self.picture: gr.HTML(value=""),
            self.found: gr.HTML(value=""),
            self.problem: silent(),
            self.timer: gr.Timer(active=False),
        }

    def look(self, visit: Visit, model: str) -> dict[Any, Any]:
        """Return updates that show the current state. Raises NotFound."""
        view = model_view(visit.studio, visit.account, model)
        task = examination_view(visit.studio, visit.account, model)
        report = view["data_report"]
        waits = task["state"] in _ACTIVE
        failed = not waits and report is None
        codes = {found["code"] for found in report["findings"]} if report else set()
        bad = [one for one in report["recordings"] if one["verdict"] == "fail"] if report else []
        some_are_good = bool(report) and len(bad) < len(report["recordings"])
        message = task["message"] or "waiting for a worker"
        return {
            self.place: gr.Column(visible=True),
            self.heading: gr.HTML(value=shown(_head(view["name"]))),
            self.progress: gr.HTML(value=progress_bar(task["progress"], message), visible=waits),
            self.picture: gr.HTML(value=report_picture(report) if report else ""),
            self.found: gr.HTML(value=shown(report)),
            self.problem: show_error(task["error"] or "The recordings could not be checked.") if failed else silent(),
            self.train: gr.Button(visible=bool(report), interactive=_NOT_TRAINABLE not in codes),
            self.convert: gr.Button(visible=bool(report) and view["untrained"]),
            self.without_bad: gr.Button(
                f"Remove {len(bad)} unsuitable recordings" if len(bad) > 1 else "Remove the unsuitable recording",
                visible=bool(bad) and some_are_good,
            ),
            self.change: gr.Button(visible=not waits),
            self.again: gr.Button(visible=failed),
            self.timer: gr.Timer(active=waits),
        }

    def take_back(self, visit: Visit, model: str | None, only_good: bool) -> Brought:
        """Turn the recordings back into a draft. Raises NotFound, WrongState."""
        if model is None:
            raise NotFound("This voice has been deleted.")
        return visit.apart(take_back, visit.account, model, visit.now_s, only_good)

    def _look_again(self, visit: Visit, model: str | None) -> Updates:
        return self.look(visit, model) if model else self.end()

    def _repeat(self, visit: Visit, model: str | None) -> Updates:
        if model:
            examine_again(visit.studio, visit.account, model)
        return self._look_again(visit, model)


def _head(name: str) -> dict[str, Any]:
    """Return data of <timbre-voice> for a new voice."""
    return {"name": f"{name}: recordings", "badge": "", "kind": [], "description": "", "traits": []}
