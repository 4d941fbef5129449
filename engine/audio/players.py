"""HTML that plays recordings: notebooks show it where a cell ends with a recording or a conversion."""

import html
from base64 import b64encode
from collections.abc import Mapping


def player(flac: bytes) -> str:
    """Return a player for the bytes of a FLAC file."""
    return f'<audio controls preload="metadata" src="data:audio/flac;base64,{b64encode(flac).decode()}"></audio>'


def players(recordings: Mapping[str, str], title: str) -> str:
    """Return players, or what stands in their place, by their labels: side by side as far as space allows.

    >>> "<b>Take 1</b>" in players({"Take 1": player(b"fLaC")}, "melodic")
    True
    """
    each = "".join(f"<div><b>{html.escape(label)}</b><br>{shown}</div>" for label, shown in recordings.items())
    return f'{html.escape(title)}<div style="display: flex; flex-wrap: wrap; gap: 0.3em 1.2em">{each}</div>'
