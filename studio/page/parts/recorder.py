"""The recorder of the page: Gradio's lets the browser change the sound, and compresses it."""

import gradio as gr

from studio.page.parts.element import element
from studio.page.parts.page import Page
from studio.settings.service import MEGABYTE


def recorder(page: Page, place: str) -> gr.HTML:
    """Make a recorder, whose recordings are given to the place for files with this id."""
    most = page.studio.service.page_upload_mb
    data = {"place": f"#{place}", "largest": most * MEGABYTE if most is not None else None}
    return element("recorder", data=data, elem_id=f"{place}-recorder", elem_classes="recorder")
