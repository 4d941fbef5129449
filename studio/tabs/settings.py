"""The Settings tab: tokens, limits, state."""

import gradio as gr

from studio.parts.page import Page


def build_settings_tab(page: Page, tab: gr.Tab) -> None:
    """Layout and events; to be called inside `tab`."""
    gr.Markdown("To come.")
