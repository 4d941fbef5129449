"""The check of a new voice's recordings, on the Create tab: read it before training."""

import gradio as gr

from engine.texts import joined, ntr, tr
from studio.actions.voices.datasets import examination_view, examine_again, has_music, remove_music
from studio.actions.voices.drafts import DraftUpload, reopen_as_draft
from studio.actions.voices.voice import model_view
from studio.errors import NotFound
from studio.page.parts.browser_memory import remembered
from studio.page.parts.element import element, shown
from studio.page.parts.element_data import VoiceHead
from studio.page.parts.notice import notice, show_error, silent
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar
from studio.page.parts.values import Values
from studio.page.parts.watched_task import WatchedTask
from studio.page.voices.report import report_picture

_POLL_S = 0.5
_ACTIVE = ("queued", "running")
_MEASURED = (
    tr("Detected"), tr("Level"), tr("Signal-to-noise ratio"), tr("Reverberation time"), tr("Bandwidth"),
)  # fmt: skip
_SHOWN_ROWS = 6  # of the outline
_NOT_TRAINABLE = "too_little"  # the finding that rules out training


def outline() -> str:
    """Return what a report will hold, as HTML: its place until it is there."""
    rows = joined("", ("<div><dt>" + one + "</dt><dd></dd></div>" for one in _MEASURED))
    shown_rows = "</b>" + "<div><i></i></div>" * _SHOWN_ROWS + "</div>"
    begin = '<div class="report-outline" aria-hidden="true"><dl>'
    return begin + rows + "</dl><u></u><b>" + tr("Recordings") + shown_rows


class Report:
    """The report. model: the id of the voice whose recordings are checked, remembered by the browser; done: the same
    once its report is there."""

    def __init__(self, page: Page) -> None:
        self.model, self.done = remembered("create-voice"), gr.State(None)
        self.check = WatchedTask(_POLL_S)
        with gr.Column(visible=False, elem_id="create-report") as self.place:
            gr.HTML("<h2>" + tr("3. Report") + "</h2>")
            self.heading = element("voice")
            self.progress = gr.HTML(visible=False)
            self.problem = notice("create-report-problem")
            with gr.Row():
                self.train = gr.Button(tr("Train this voice"), variant="primary", visible=False)
                self.convert = gr.Button(tr("Convert with this voice"), visible=False)
                self.without_bad = gr.Button(tr("Remove unsuitable recordings"), visible=False)
                self.without_music = gr.Button(tr("Remove the music"), visible=False, elem_id="create-without-music")
                self.change = gr.Button(tr("Change recordings"), visible=False)
                self.again = gr.Button(tr("Check again"), visible=False)
                self.another = gr.Button(tr("Create another voice"))
            self.found = element("report", elem_id="create-found")
            self.picture = gr.HTML()
        self.outputs = [
            *(self.model, self.place, self.heading, self.progress, self.picture, self.found, self.problem, self.train),
            *(self.convert, self.without_bad, self.without_music, self.change, self.again, self.check.timer, self.done),
        ]
        self.check.wire(page, self._look_again, [self.model], self.outputs, notice=self.problem)
        page.on(self.again.click, self._repeat, [self.model], self.outputs, notice=self.problem)
        page.on(self.without_music.click, self._remove_music, [self.model], self.outputs, notice=self.problem)

    def begin(self, visit: Visit, model: str) -> Values:
        """Return updates that follow the check of a new voice."""
        return {self.model: model, **self.look(visit, model)}

    def end(self) -> Values:
        """Return updates that hide the report."""
        return {
            self.model: None,
            self.place: gr.Column(visible=False),
            self.picture: gr.HTML(value=""),
            self.found: gr.HTML(value=""),
            self.problem: silent(),
            **self.check.end(),
            self.done: None,
        }

    def measured(self, visit: Visit, model: str) -> dict[str, str]:
        """Return what the report found of the voice, by the names of the profile's controls. Raises NotFound."""
        report = visit.do(model_view, model).data_report or {}
        lowest, highest = report.get("vocal_range") or (None, None)
        sung = None if report.get("style") == "spoken" else report.get("voice_type")  # speech has no such type
        found = {"voice_type": sung, "vocal_range.min": lowest, "vocal_range.max": highest}
        return {name: value for name, value in found.items() if value}

    def look(self, visit: Visit, model: str) -> Values:
        """Return updates that show the current state. Raises NotFound."""
        view = visit.do(model_view, model)
        task = visit.do(examination_view, model)
        report = view.data_report
        waits = task.state in _ACTIVE
        failed = not waits and report is None
        codes = {found["code"] for found in report["findings"]} if report else set()
        bad = [one for one in report["recordings"] if one["verdict"] == "fail"] if report else []
        some_are_good = report is not None and len(bad) < len(report["recordings"])
        message = task.message or tr("waiting for a worker")
        return {
            self.place: gr.Column(visible=True),
            self.heading: gr.HTML(value=shown(_head(view.name))),
            self.progress: gr.HTML(value=progress_bar(task.progress, message), visible=waits),
            self.picture: gr.HTML(value=report_picture(report) if report else outline() if waits else ""),
            self.found: gr.HTML(value=shown(report)),
            self.problem: show_error(task.error or tr("The recordings could not be checked.")) if failed else silent(),
            self.train: gr.Button(visible=bool(report), interactive=_NOT_TRAINABLE not in codes),
            self.convert: gr.Button(visible=bool(report) and view.untrained),
            self.without_bad: gr.Button(
                ntr("Remove {bad} unsuitable recording", "Remove {bad} unsuitable recordings", bad=len(bad))
                if len(bad) > 1
                else tr("Remove the unsuitable recording"),
                visible=bool(bad) and some_are_good,
            ),
            self.without_music: gr.Button(visible=not waits and view.untrained and has_music(report)),
            self.change: gr.Button(visible=not waits),
            self.again: gr.Button(visible=failed),
            **self.check.begin(waits),
            self.done: model if report else None,
        }

    def reopen_as_draft(self, visit: Visit, model: str | None, only_good: bool) -> DraftUpload:
        """Turn the recordings back into a draft. Raises NotFound, WrongState."""
        if model is None:
            raise NotFound(tr("This voice has been deleted."))
        return visit.do(reopen_as_draft, model, visit.now_s, only_good)

    def _look_again(self, visit: Visit, model: str | None) -> Updates:
        return self.look(visit, model) if model else self.end()

    def _remove_music(self, visit: Visit, model: str | None) -> Updates:
        if model:
            visit.do(remove_music, model)
        return self._look_again(visit, model)

    def _repeat(self, visit: Visit, model: str | None) -> Updates:
        if model:
            visit.do(examine_again, model)
        return self._look_again(visit, model)


def _head(name: str) -> VoiceHead:
    """Return data of <timbre-voice> for a new voice."""
    return VoiceHead(name=tr("{voice}: recordings", voice=name), badge="", kind=[], description="", traits=[])
