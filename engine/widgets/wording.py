"""Let widgets and tables speak the reader's language: their texts are English, and translated as they are shown."""

import html
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import ipywidgets
from IPython.display import HTML

Translate = Callable[[str], str]
_BETWEEN_TAGS = re.compile(r"(?<=>)[^<>]+(?=<)")


def speak(translate: Translate, formatter: Any) -> None:
    """Translate the widgets that are made from now on, and the HTML that `formatter`, the shell's, shows."""
    ipywidgets.Widget.on_widget_constructed(partial(translate_widget, translate))
    formatter.for_type(HTML, lambda shown: translated_html(translate, shown.data))


def translate_widget(translate: Translate, widget: ipywidgets.Widget) -> None:
    """Translate the label, the text and the words to choose from of a widget, and texts that it gets later."""
    if getattr(widget, "description", ""):
        widget.description = translate(widget.description)
    if isinstance(widget, ipywidgets.HTML):
        _keep_translated(widget, partial(translated_html, translate))
    elif isinstance(widget, ipywidgets.Label):
        _keep_translated(widget, translate)
    elif isinstance(widget, ipywidgets.Dropdown | ipywidgets.ToggleButtons) and widget.options:
        _translate_options(translate, widget)
    if titles := getattr(widget, "titles", ()):
        widget.titles = tuple(map(translate, titles))


def translated_html(translate: Translate, text: str) -> str:
    """Return some HTML with its texts translated."""
    return _BETWEEN_TAGS.sub(lambda piece: html.escape(translate(html.unescape(piece[0]))), text)


def _keep_translated(widget: ipywidgets.Widget, translate: Translate) -> None:
    def change(_: object = None) -> None:
        widget.value = translate(widget.value)

    change()
    widget.observe(change, "value")


def _translate_options(translate: Translate, widget: ipywidgets.Widget) -> None:
    """Translate what stands for the values; the values stay, and so does the choice."""
    chosen = widget.index
    pairs = [one if isinstance(one, tuple) else (str(one), one) for one in widget.options]
    widget.options = [(translate(label), value) for label, value in pairs]
    widget.index = chosen
