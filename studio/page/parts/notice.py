"""Messages shown beside the form or list they belong to, not in a corner of the page."""

import re

import gradio as gr

from engine.texts import tr
from studio.errors import Invalid
from studio.languages.reading import said
from studio.page.parts.markup import markup

_FOR_PROGRAMS = re.compile(r"(?<=[.:\u3002\u0964])\s*[^.:\u3002\u0964]*GET /.*")  # the sentence, in any language


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
    rows = "".join(f"<li>{markup(message)}</li>" for _, message in problems)
    return gr.HTML(value=f'<ul role="alert" class="wrong">{rows}</ul>', visible=True)


def sentence_of(error: Exception) -> str:
    """Return the message of an error in the reader's language, without API requests, which only help programs."""
    text = said(str(error))
    brief = _FOR_PROGRAMS.sub("", text)
    return text if brief == text else f"{brief.rstrip(': ')}. {said(tr('It may have been deleted.'))}"


def silent() -> gr.HTML:
    """Clear the notice."""
    return gr.HTML(value="", visible=False)


def _notice(text: str, role: str, kind: str) -> gr.HTML:
    return gr.HTML(value=f'<p role="{role}" class="{kind}">{markup(text)}</p>', visible=True)
