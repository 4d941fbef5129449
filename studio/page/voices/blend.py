"""Blending two voices, on the Voices tab: the choice and the shares."""

from collections.abc import Sequence

import gradio as gr

from engine.texts import tr
from engine.voices.profile import LONGEST_NAME
from studio.actions.voices.cards import VoiceCardView
from studio.actions.voices.making import start_blend
from studio.errors import Invalid
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.values import Values
from studio.page.voices.making import NewVoiceForm
from studio.store.kinds import BLEND


class Blend(NewVoiceForm):
    """The form. choices: the components that `offered` changes."""

    kind, failed, stopped = BLEND, tr("Blending failed."), tr("Blending was stopped.")

    def __init__(self, page: Page, opener: gr.Button) -> None:
        """Lay out and wire the form; `opener` shows it."""
        with gr.Column(visible=False, elem_id="voices-blend") as self.place:
            gr.HTML('<h3 aria-level="2">' + tr("Blend two voices") + "</h3>")
            with gr.Row():
                self.first = gr.Dropdown([], label=tr("First voice"), min_width=140, elem_classes="names")
                self.second = gr.Dropdown([], label=tr("Second voice"), min_width=140, elem_classes="names")
            share = gr.Slider(0, 100, 50, step=5, label=tr("Share of the second voice (%)"), buttons=["reset"])
            name = gr.Textbox(label=tr("Name"), max_length=LONGEST_NAME, placeholder=tr("Optional"))
            self.lay_out_end(tr("Blend"), "voices-blend")
        self.choices = [self.first, self.second]
        self.wire(page, opener)
        page.on(self.begin.click, self._start, [*self.choices, share, name], self.outputs, notice=self.problem)

    def offered(self, voices: Sequence[VoiceCardView]) -> Values:
        """Return updates with the voices available for blending."""
        ready = [(voice.name, voice.id) for voice in voices if voice.state == "completed"]
        return {self.first: gr.Dropdown(choices=ready), self.second: gr.Dropdown(choices=ready)}

    def _start(self, visit: Visit, one: str | None, other: str | None, percent: float, called: str | None) -> Updates:
        if not one or not other:
            raise Invalid([("voices", tr("Choose two voices to blend."))])
        task_id = visit.do(start_blend, one, other, percent / 100, called or "")
        return self.look(visit, task_id)[0]
