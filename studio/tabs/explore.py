"""The Explore tab: what a recording is like."""

import gradio as gr

from studio.parts.page import Page


def build_explore_tab(page: Page, tab: gr.Tab) -> None:
    """Layout and events; to be called inside `tab`."""
    gr.Markdown("To come.")
