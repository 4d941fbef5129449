"""Sentences where they belong: beside what they are about, not in a corner of the page."""

import html
import re
from typing import Any

import gradio as gr

_FOR_PROGRAMS = re.compile(r": GET /.*")


def notice(elem_id: str | None = None) -> gr.HTML:
    """A place for one sentence, which says nothing at first."""
    return gr.HTML("", visible=False, elem_id=elem_id, elem_classes="notice")


def told(text: str) -> Any:
    """The notice with a sentence that tells something."""
    return _notice(text, "status", "told")


def told_error(text: str) -> Any:
    """The notice with a sentence that says what is wrong and what to do."""
    return _notice(text, "alert", "wrong")


def sentence_of(error: Exception) -> str:
    """What an error says, without the calls of the service that would help a program."""
    return _FOR_PROGRAMS.sub(": it may have been deleted meanwhile.", str(error))


def silent() -> Any:
    """The notice without a sentence."""
    return gr.HTML(value="", visible=False)


def _notice(text: str, role: str, kind: str) -> Any:
    return gr.HTML(value=f'<p role="{role}" class="{kind}">{html.escape(text)}</p>', visible=True)
