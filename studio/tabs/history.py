"""The History tab: all work there is and was."""

import gradio as gr

from studio.parts.page import Page


def build_history_tab(page: Page, tab: gr.Tab) -> None:
    """Layout and events; to be called inside `tab`."""
    gr.Markdown("To come.")
