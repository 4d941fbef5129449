"""The instrument of the Convert tab: <timbre-instrument>, and the invisible elements that bring it its data.

Recording, takes, pitch and editor each have such an element, so that none has to know what the others show.
"""

from typing import Literal

import gradio as gr

from studio.page.parts.element import element, shown

_EVENTS = tuple(
    "chosen download trimmed edit changed ordered wanted removed voiced moved comped previewed expected".split()
)


def instrument() -> gr.HTML:
    """Lay out the instrument. Its events carry what `instrument.js` says."""
    return element("instrument", events=_EVENTS, elem_id="convert-instrument")


def part() -> gr.HTML:
    """Lay out an element that brings the instrument what `brought` returns."""
    return element("part", elem_classes="carrier")


_Lane = Literal["recording", "takes", "harmonies", "offset", "comp", "parts", "song", "auditions"]
Shown = _Lane | Literal["pitch", "editor", "welcome", "company", "away", "heard"]


def brought(of: Shown, data: object) -> str:
    """Return the value of a `part`: what the instrument shows `of` it from now on; None for nothing."""
    return shown({"of": of, "data": data})
