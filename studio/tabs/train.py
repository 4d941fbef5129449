"""The Train tab: watching and hearing a voice improve."""

import gradio as gr

from studio.parts.page import Page


def build_train_tab(page: Page, tab: gr.Tab) -> None:
    """Layout and events; to be called inside `tab`."""
    gr.Markdown("To come.")
