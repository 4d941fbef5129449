"""How far the looking at recordings is, in the Explore tab."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any


def progress(views: Sequence[Mapping[str, Any]]) -> str:
    """A bar with words for each recording that is being looked at, as HTML."""
    return "".join(_line(view) for view in views)


def _line(view: Mapping[str, Any]) -> str:
    words = view["message"] or ("waiting" if view["state"] == "queued" else "starting")
    name = escape(view["file_name"])
    return (
        f'<p class="progress-line"><span>{name}: {escape(words)}</span>'
        f'<progress max="1" value="{view["progress"]:.3f}" aria-label="Progress of {name}"></progress></p>'
    )
