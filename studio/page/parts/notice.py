"""Messages shown beside the form or list they belong to, not in a corner of the page."""

import html
import re
from typing import Any

import gradio as gr

_FOR_PROGRAMS = re.compile(r"[:.] GET /.*")


def notice(elem_id: str | None = None) -> gr.HTML:
    """Lay out an empty notice for one sentence."""
    return gr.HTML("", visible=False, elem_id=elem_id, elem_classes="notice")


def told(text: str) -> Any:
    """Show a piece of information in the notice."""
    return _notice(text, "status", "told")


def told_error(text: str) -> Any:
    """Show an error in the notice."""
    return _notice(text, "alert", "wrong")


def sentence_of(error: Exception) -> str:
    """Return the message of an error without API requests, which only help programs."""
    return _FOR_PROGRAMS.sub(": it may have been deleted.", str(error))


def silent() -> Any:
    """Clear the notice."""
    return gr.HTML(value="", visible=False)


def _notice(text: str, role: str, kind: str) -> Any:
    return gr.HTML(value=f'<p role="{role}" class="{kind}">{html.escape(text)}</p>', visible=True)
