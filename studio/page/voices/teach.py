"""Make an imported voice ours, on the Voices tab: what it sings, and how long the training is."""

from pathlib import Path

import gradio as gr

from engine.texts import tr
from engine.voices.card_rules import RVC
from engine.voices.profile import LONGEST_NAME
from studio.actions.uploads import refuse_large
from studio.actions.voices.cards import VoiceDetails
from studio.actions.voices.making import TeachingRequest, start_teaching
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.values import Values
from studio.page.voices.making import NewVoiceForm
from studio.store.kinds import TEACHING

_HELP = tr(
    "The imported voice sings the bundled recordings and yours, and a voice of this studio is trained on the "
    "results. It converts about 15 times as fast, and live. Five minutes of your own recordings make it "
    "better."
)


class Teach(NewVoiceForm):
    """The form. opener and place: what `offered` changes."""

    kind, failed, stopped = TEACHING, tr("The voice could not be made."), tr("Stopped. Nothing was made.")

    def __init__(self, page: Page, chosen: gr.BrowserState) -> None:
        """Lay out and wire the form for the chosen voice."""
        self.opener = gr.Button(tr("Make it ours"), size="md", visible=False, elem_id="voice-teach")
        with gr.Column(visible=False, elem_id="voices-teach") as self.place:
            gr.HTML('<h3 aria-level="2">' + tr("Make it ours") + "</h3><p>" + _HELP + "</p>")
            files = gr.File(
                label=tr("Your recordings (optional)"),
                file_count="multiple",
                height=130,
                elem_id="voices-teach-recordings",
            )
            name = gr.Textbox(label=tr("Name"), max_length=LONGEST_NAME, placeholder=tr("Optional"))
            epochs = gr.Slider(0, 300, 100, step=10, label=tr("Epochs of training (0: only the recordings)"))
            self.lay_out_end(tr("Start"), "voices-teach")
        self.wire(page, self.opener)
        page.on(self.begin.click, self._start, [chosen, files, name, epochs], self.outputs, notice=self.problem)

    def offered(self, voice: VoiceDetails) -> Values:
        """Return updates that offer it for imported voices alone."""
        is_imported = voice.kind == RVC
        shown: Values = {} if is_imported else {self.place: gr.Column(visible=False)}
        return {self.opener: gr.Button(visible=is_imported), **shown}

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
        return self.look(visit, visit.do(start_teaching, model, request))[0]
