"""The recorder of the page: Gradio's lets the browser change the sound, and compresses it."""

import gradio as gr

from studio.page.parts.element import element


def recorder(place: str) -> gr.HTML:
    """Make a recorder, whose recordings are given to the place for files with this id."""
    return element("recorder", data={"place": f"#{place}"}, elem_id=f"{place}-recorder", elem_classes="recorder")
