"""One voice of the library: profile, preview, recordings and training."""

import gradio as gr

from engine.texts import tr
from studio.actions.voices.cards import VoiceDetails
from studio.actions.voices.datasets import examination_view
from studio.page.parts.element import element, shown
from studio.page.parts.element_data import PlayerData, Track
from studio.page.parts.markup import markup
from studio.page.parts.page import Visit
from studio.page.parts.values import Values
from studio.page.voices.report import about, head, range_picture, report_picture, training_rows

_WORDS = {
    "pass": tr("ready for training"),
    "warn": tr("usable, with warnings"),
    "fail": tr("not suitable for training"),
}
_CHECKING = tr("Checking the recordings …")
_UNCHECKED = tr("Not checked yet. The recordings are checked before the first training at the latest.")


class Panel:
    """What is always visible; outputs: what `show` changes."""

    def __init__(self) -> None:
        self.head = element("voice", elem_id="voice-head")
        self.preview = element("player", elem_id="voice-preview")
        self.range = gr.HTML(elem_id="voice-range")
        with gr.Row(elem_id="voice-do"):
            self.convert = gr.Button(tr("Open in Convert"), variant="primary", size="md", elem_id="voice-convert")
            self.train = gr.Button(tr("Train this voice"), size="md", elem_id="voice-train")
        self.outputs = [self.head, self.preview, self.range, self.convert, self.train]

    def show(self, voice: VoiceDetails) -> Values:
        """Return updates that show a voice, as `voice_details` describes it."""
        return {
            self.head: shown(head(voice)),
            self.preview: shown(_preview(voice)),
            self.range: _picture(range_picture(voice)),
            self.convert: gr.Button(visible=voice.state == "completed" or voice.untrained),
            self.train: gr.Button(_train_label(voice), visible=voice.has_recordings),
        }


class Details:
    """The accordions, and the facts above them; outputs: what `show` changes."""

    def __init__(self) -> None:
        self.about = element("facts", elem_id="voice-about")
        with gr.Accordion(tr("Recordings"), open=False, visible=False, elem_id="voice-recordings") as self.recordings:
            self.examined = gr.HTML(visible=False)
            self.examine = gr.Button(tr("Check now"), size="sm", visible=False)
            self.report = element("report")
            self.picture = gr.HTML()
        with gr.Accordion(tr("Training"), open=True, visible=False, elem_id="voice-training") as self.training:
            self.learned = element("facts")
        self.outputs = [
            *(self.about, self.recordings, self.examined, self.examine, self.report, self.picture, self.training),
            self.learned,
        ]

    def show(self, visit: Visit, voice: VoiceDetails) -> Values:
        """Return updates that show the recordings of a voice and the results of its training."""
        learned, report = training_rows(voice), voice.data_report
        status, is_active = "", False
        if report is None and voice.has_recordings:
            task = visit.do(examination_view, voice.id)
            is_active = task.state in ("queued", "running")
            status = _CHECKING if is_active else task.error or _UNCHECKED
        label = tr("Recordings: {words}", words=_WORDS[report["verdict"]]) if report else tr("Recordings")
        return {
            self.about: shown(about(voice)),
            self.recordings: gr.Accordion(label, visible=voice.has_recordings),
            self.examined: gr.HTML(value=f"<p>{markup(status)}</p>", visible=bool(status)),
            self.examine: gr.Button(visible=bool(status) and not is_active),
            self.report: shown(report),
            self.picture: _picture(report_picture(report) if report else ""),
            self.training: gr.Accordion(visible=bool(learned)),
            self.learned: shown({"rows": learned}),
        }


def _preview(voice: VoiceDetails) -> PlayerData | None:
    """Return data of <timbre-player>; None without a preview."""
    if voice.preview_url is None:
        return None
    return PlayerData(
        id=f"voice-{voice.id}", tracks=[Track(label=voice.name, names=[voice.name], url=voice.preview_url)]
    )


def _picture(drawn: str) -> gr.HTML:
    return gr.HTML(value=drawn, visible=bool(drawn))


def _train_label(voice: VoiceDetails) -> str:
    if voice.state == "training":
        return tr("Follow training")
    return tr("Continue training") if voice.training.current_epoch else tr("Train this voice")
