"""The samples that come with the program, as a row of buttons."""

import gradio as gr

from engine.texts import tr
from studio.actions.analyses import SAMPLES


def sample_row() -> tuple[gr.Row, dict[str, gr.Button]]:
    """Return the row, and its buttons by the titles of the samples.

    Not gr.Examples, which asks for a part of gradio's interface that is closed here.
    """
    with gr.Row(elem_classes="samples") as row:
        gr.HTML("<span>" + tr("Or try a sample:") + "</span>", elem_classes="samples-title")
        buttons = {sample.title: gr.Button(sample.title, size="sm", scale=0, min_width=110) for sample in SAMPLES}
    return row, buttons
