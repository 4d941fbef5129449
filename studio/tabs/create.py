"""The Create tab: a voice of one's own from recordings."""

import gradio as gr

from studio.parts.page import Page


def build_create_tab(page: Page, tab: gr.Tab) -> None:
    """Layout and events; to be called inside `tab`."""
    gr.Markdown("To come.")
