"""Where the parts of the Convert tab go, from the instrument at the top to the dock that is always in view.

input: tabs (One recording, Batch, Song); whatever else can be converted is a tab of it. In the first of them:
    stage: the drop place, and then the instrument, with recording, takes and edits as lanes of one timeline;
    notices: what is to be said of the recording, a sentence each;
    result: what the result is, and what can follow it.
voice: the cards to choose from. pitch: how the recording fits the voice, and its style.
advanced: a fold with effects, presets and all other settings, one below the other. scores: of the result.
The dock, a bar at the lower edge of the window:
    progress: above the rest, while there is any;
    transpose: the shift, and what finds one;
    takes: how many;
    go: the buttons that convert, one of them visible.
"""

import gradio as gr

from engine.texts import tr


class Layout:
    """The places, empty; a part is made inside one of them (`with layout.voice:`). To be made inside the tab."""

    def __init__(self) -> None:
        with gr.Column(elem_id="convert"):
            with gr.Tabs(elem_id="convert-input") as self.input:
                with gr.Tab(tr("One recording"), id="one") as self.one:
                    self.stage = gr.Column(elem_id="convert-stage")
                    self.notices = gr.Column(elem_id="convert-notices")
                    self.result = gr.Column(elem_id="convert-after")
                with gr.Tab(tr("Batch"), id="several") as self.several:
                    self.batch = gr.Column()
                with gr.Tab(tr("Song"), id="song") as self.whole_song:
                    self.song = gr.Column(elem_id="convert-song")
            with gr.Row(elem_id="convert-choices"):
                self.voice = gr.Column(scale=7, min_width=320)
                self.pitch = gr.Column(scale=4, min_width=280, elem_id="convert-pitch")
            with gr.Column(elem_id="convert-dock"):
                self.progress = gr.Column(elem_id="convert-progress")
                with gr.Row(elem_id="convert-controls"):
                    self.transpose = gr.Row(elem_id="convert-transpose")
                    self.takes = gr.Row(elem_id="convert-takes")
                    self.go = gr.Column(elem_id="convert-go")
            # seen above the dock, but after Convert for the Tab key
            self.advanced = gr.Accordion(tr("Advanced settings"), open=False, elem_id="convert-advanced")
            self.scores = gr.Column()
