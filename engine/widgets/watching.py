"""Long work in a cell: a bar that moves, learning curves that are drawn again as they grow, and how to stop."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import ipywidgets
from IPython.display import display

from engine.errors import Cancelled
from engine.plots.training import plot_learning_curves
from engine.progress import Report
from engine.training.history import TrainingHistory, read_history
from engine.widgets.showing import figure_image, sentence, show_figure

_LOOK_S = 1.0  # between two looks at a training's history


def progress() -> Report:
    """A bar in the cell, and the function that moves it: `report(fraction, message)`."""
    bar, text = _bar()
    display(ipywidgets.HBox([bar, text]))

    def report(fraction: float, message: str) -> None:
        bar.value, text.value = fraction, message if fraction < 1.0 else "done"

    return report


@contextmanager
def watched_training(folder: Path, stop_at: float | None = None) -> Iterator[Report]:
    """Watch the training in a folder: gives the `report` for `train`, and draws its curves in the cell as they grow.

    The notebook's stop button (interrupt) ends the training after its present step, and so does reaching the share
    `stop_at` of its epochs, 0..1; it has been saved then, and the same call goes on from there.
    """
    bar, text = _bar()
    told, curves = ipywidgets.HTML(), ipywidgets.VBox()
    display(ipywidgets.VBox([ipywidgets.HBox([bar, text]), told, curves]))
    interrupted = threading.Event()
    drawn: dict[str, Any] = {"at": 0.0, "of": None}

    def report(fraction: float, message: str) -> None:
        bar.value, text.value = fraction, message
        if time.monotonic() - drawn["at"] >= _LOOK_S:
            drawn["at"] = time.monotonic()
            _draw(curves, read_history(folder), drawn)
        if interrupted.is_set() or (stop_at is not None and fraction >= stop_at):
            raise Cancelled

    try:
        with _interrupts(interrupted):
            yield report
        text.value = ""
    except Cancelled:
        history = read_history(folder)
        epoch = history.epoch if history else 0
        told.value = sentence(f"Stopped after epoch {epoch}. The same call goes on from there.")
    _draw(curves, read_history(folder), drawn)


@contextmanager
def _interrupts(interrupted: threading.Event) -> Iterator[None]:
    """Let an interrupt be noted instead of breaking off anywhere; a second one breaks off."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals come to the main thread only
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _draw(curves: Any, history: TrainingHistory | None, drawn: dict[str, Any]) -> None:
    """The curves of a history, unless they are there already."""
    if history is None or drawn["of"] == (grown := (history.epoch, len(history.evaluations), history.state)):
        return
    drawn["of"] = grown
    figure = plot_learning_curves(history)
    if curves.children:
        show_figure(curves.children[0], figure)
    else:
        curves.children = [figure_image(figure)]


def _bar() -> tuple[Any, Any]:
    wide = ipywidgets.Layout(width="18em")
    return ipywidgets.FloatProgress(value=0.0, min=0.0, max=1.0, layout=wide), ipywidgets.Label()
