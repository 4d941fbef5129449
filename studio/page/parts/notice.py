"""Messages shown beside the form or list they belong to, not in a corner of the page."""

import html
import re

import gradio as gr

from studio.errors import Invalid

_FOR_PROGRAMS = re.compile(r"[:.] GET /.*")


def notice(elem_id: str | None = None) -> gr.HTML:
    """Lay out an empty notice for one sentence."""
    return gr.HTML("", visible=False, elem_id=elem_id, elem_classes="notice")


def inform(text: str) -> gr.HTML:
    """Show a piece of information in the notice."""
    return _notice(text, "status", "told")


def warn(text: str) -> gr.HTML:
    """Show a warning in the notice."""
    return _notice(text, "status", "warn")


def show_error(text: str) -> gr.HTML:
    """Show an error in the notice."""
    return _notice(text, "alert", "wrong")


def show_problems(error: Exception) -> gr.HTML:
    """Show an error in the notice; several wrong fields as a list."""
    problems = error.problems if isinstance(error, Invalid) else ()
    if len(problems) < 2:
        return show_error(sentence_of(error))
    rows = "".join(f"<li>{html.escape(message)}</li>" for _, message in problems)
    return gr.HTML(value=f'<ul role="alert" class="wrong">{rows}</ul>', visible=True)


def sentence_of(error: Exception) -> str:
    """Return the message of an error without API requests, which only help programs."""
    return _FOR_PROGRAMS.sub(": it may have been deleted.", str(error))


def silent() -> gr.HTML:
    """Clear the notice."""
    return gr.HTML(value="", visible=False)


def _notice(text: str, role: str, kind: str) -> gr.HTML:
    return gr.HTML(value=f'<p role="{role}" class="{kind}">{html.escape(text)}</p>', visible=True)
