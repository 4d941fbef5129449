"""Where the parts of the Convert tab go: three columns as in a sequencer, and one bar below them.

voice: the left column, with the voices to choose from.
The middle one is the timeline. input: tabs (One recording, Batch), which what is dropped chooses; in the first of them:
    head: the drop place, and then the recording in a line; what replaces what has the same height, so that nothing
        moves while a file is read;
    add: beside it, what a recording is mixed with, to be added;
    stage: the instrument, with recording, takes and edits as lanes of one timeline;
    notices: what is to be said of the recording, a sentence each;
    result: the results of before, and samples while there is no recording; it stands in the row of the picture's tools;
    scores: beside it, of the result, folds that open over the picture.
The right one is the inspector, a sheet that is opened where there is no room for it. pitch: how the recording fits the
voice; style; character and effects: the settings used most, and a fold (more) with the others; harmonies: what sings
with a take; song: a fold with what makes the recording one.
The bar at the lower edge of the window, where the instrument has its transport:
    progress: while there is any;
    transpose: the shift, and what finds one;
    takes: how many;
    go: the buttons that convert, one of them visible;
    said: above these, what keeps a conversion from beginning, and how one ended.
"""

import gradio as gr

from engine.texts import tr
from studio.page.parts.element import element


class Layout:
    """The places, empty; a part is made inside one of them (`with layout.voice:`). To be made inside the tab."""

    def __init__(self) -> None:
        with gr.Column(elem_id="convert"):
            self.voice = gr.Column(elem_id="convert-left")
            with gr.Column(elem_id="convert-middle"), gr.Tabs(elem_id="convert-input") as self.input:
                with gr.Tab(tr("One recording"), id="one") as self.one:
                    with gr.Row(elem_id="convert-top"):
                        self.head = gr.Column(elem_id="convert-head")
                        self.add = gr.Row(elem_id="convert-add")
                    self.stage = gr.Column(elem_id="convert-stage")
                    self.notices = gr.Column(elem_id="convert-notices")
                    with gr.Row(elem_id="convert-after"):
                        self.result = gr.Column(elem_id="convert-below")
                        self.scores = gr.Row(elem_id="convert-folds")
                with gr.Tab(tr("Batch"), id="several") as self.several:
                    self.batch = gr.Column()
            with gr.Column(elem_id="convert-dock"):
                self.said = gr.Column(elem_id="convert-said")
                with gr.Row(elem_id="convert-controls"):
                    self.progress = gr.Column(elem_id="convert-progress")
                    self.transpose = gr.Row(elem_id="convert-transpose")
                    self.takes = gr.Row(elem_id="convert-takes")
                    element("sheet", elem_id="convert-sheet")
                    self.go = gr.Column(elem_id="convert-go")
            with gr.Column(elem_id="convert-inspector"):
                self.pitch = gr.Column(elem_id="convert-pitch")
                self.style = gr.Column(elem_id="convert-style")
                with gr.Column(elem_id="convert-character"):
                    self.character = gr.Column()
                    self.more = gr.Accordion(tr("More settings"), open=False, elem_id="convert-more")
                self.harmonies = gr.Column(elem_id="convert-harmonies")
                self.effects = gr.Column(elem_id="convert-effects-part")
                self.song = gr.Accordion(tr("Song"), open=False, elem_id="convert-song")
