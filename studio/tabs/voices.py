"""The Voices tab: the library."""

import gradio as gr

from studio.parts.page import Page


def build_voices_tab(page: Page, tab: gr.Tab) -> None:
    """Layout and events; to be called inside `tab`."""
    gr.Markdown("To come.")
