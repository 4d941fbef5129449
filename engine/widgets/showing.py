"""Show values in a notebook: figures as images, rows as tables, engine errors as sentences."""

import dataclasses
import html
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from io import BytesIO
from typing import Any

import ipywidgets
from IPython.core.getipython import get_ipython
from IPython.display import HTML, display
from matplotlib.figure import Figure

from engine.errors import EngineError
from engine.widgets.wording import Translate, speak

_DECIMALS = 3


def prepare(translate: Translate = str) -> None:
    """Prepare a notebook: show figures directly, engine errors as their messages, and widgets in the reader's language.

    translate: from English; by default texts stay English.

    An engine error stops the cells below like any other; its message is for the user, so the traceback is left out.
    On Colab, widgets are enabled. Outside a notebook this does nothing.
    """
    shell = get_ipython()
    if shell is None or shell.display_formatter is None:
        return
    shell.display_formatter.formatters["image/png"].for_type(Figure, figure_png)
    shell.set_custom_exc((EngineError,), _show_error)
    if translate is not str:
        speak(translate, shell.display_formatter.formatters["text/html"])
    if find_spec("google") and find_spec("google.colab"):
        from google.colab import output

        output.enable_custom_widget_manager()


def sentence(text: str, wrong: bool = False) -> str:
    """Return a line of text as HTML."""
    mark = "border-left: 3px solid #d6246e; padding-left: 0.6em;" if wrong else ""
    return f'<p style="max-width: 60em; {mark}">{html.escape(text)}</p>'


def figure_png(figure: Figure) -> bytes:
    """Return a figure as a PNG file."""
    target = BytesIO()
    figure.savefig(target, format="png")
    return target.getvalue()


def figure_image(figure: Figure) -> ipywidgets.Widget:
    """Return a figure as a widget whose image can be replaced with `show_figure(widget, figure)`."""
    widget = ipywidgets.Image(format="png", layout=ipywidgets.Layout(max_width="100%"))
    show_figure(widget, figure)
    return widget


def show_figure(widget: ipywidgets.Widget, figure: Figure) -> None:
    """Replace the image of a widget made by `figure_image`."""
    widget.value = figure_png(figure)


def table(rows: Iterable[object] | Mapping[str, object], names: Mapping[str, str] | None = None) -> HTML:
    """Return rows (mappings or dataclasses, or a single mapping) as a table.

    names: the fields to show with their headings; by default all.
    """
    rows = [rows] if isinstance(rows, Mapping) else rows
    values = [row if isinstance(row, Mapping) else _fields(row) for row in rows]
    names = names or {name: name.replace("_", " ") for row in values[:1] for name in row}
    heads = "".join(f'<th style="text-align: left">{html.escape(head)}</th>' for head in names.values())
    lines = "".join(
        "<tr>"
        + "".join(f'<td style="text-align: left">{html.escape(_written(row.get(name)))}</td>' for name in names)
        + "</tr>"
        for row in values
    )
    return HTML(f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>")


def _fields(row: Any) -> dict[str, Any]:
    return {one.name: getattr(row, one.name) for one in dataclasses.fields(row)}


def _written(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{_DECIMALS}f}".rstrip("0").rstrip(".")
    if isinstance(value, list | tuple):
        return ", ".join(_written(one) for one in value)
    return str(value)


def _show_error(
    shell: object, kind: type[BaseException], error: BaseException, trace: object, tb_offset: int | None = None
) -> None:
    """Show an engine error without its traceback; called by IPython."""
    display(HTML(sentence(str(error), wrong=True)))
