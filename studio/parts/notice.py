"""Sentences where they belong: beside what they are about, not in a corner of the page."""

import html
from typing import Any

import gradio as gr


def notice(elem_id: str | None = None) -> gr.HTML:
    """A place for one sentence, which says nothing at first."""
    return gr.HTML("", visible=False, elem_id=elem_id, elem_classes="notice")


def told(text: str) -> Any:
    """The notice with a sentence that tells something."""
    return _notice(text, "status", "told")


def told_error(text: str) -> Any:
    """The notice with a sentence that says what is wrong and what to do."""
    return _notice(text, "alert", "wrong")


def silent() -> Any:
    """The notice without a sentence."""
    return gr.HTML(value="", visible=False)


def _notice(text: str, role: str, kind: str) -> Any:
    return gr.HTML(value=f'<p role="{role}" class="{kind}">{html.escape(text)}</p>', visible=True)
