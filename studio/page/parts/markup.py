"""Texts in the HTML of the page."""

import html

from studio.languages.reading import said


def markup(text: object) -> str:
    """Return a text, a number or a name as HTML shows it, in the reader's language."""
    return html.escape(said(text))
