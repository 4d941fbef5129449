"""Watch long work in a cell: a progress bar, learning curves redrawn as they grow, and a way to stop."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import ipywidgets
from IPython.display import display

from engine.errors import Cancelled
from engine.plots.training import plot_learning_curves
from engine.progress import Report
from engine.texts import tr
from engine.training.history import TrainingHistory, read_history
from engine.widgets.showing import figure_image, sentence, show_figure

_LOOK_S = 1.0  # between two reads of a training history


def progress() -> Report:
    """Show a progress bar in the cell, and return the function that moves it: `report(fraction, message)`."""
    bar, text = _bar()
    display(ipywidgets.HBox([bar, text]))

    def report(fraction: float, message: str) -> None:
        bar.value, text.value = fraction, message if fraction < 1.0 else tr("done")

    return report


@contextmanager
def watched_training(folder: Path, stop_at: float | None = None) -> Iterator[Report]:
    """Watch the training run in a folder: yield the `report` for `train`, and draw its curves in the cell as they grow.

    The notebook's stop button (interrupt) ends training after the current step, and so does reaching the share
    `stop_at` of its epochs, 0..1; training is saved, and the same call resumes it.
    """
    bar, text = _bar()
    ending, curves = ipywidgets.HTML(), ipywidgets.VBox()
    display(ipywidgets.VBox([ipywidgets.HBox([bar, text]), ending, curves]))
    interrupted = threading.Event()
    drawn: dict[str, ipywidgets.Widget] = {"at": 0.0, "of": None}

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
        ending.value = sentence(tr("Stopped after epoch {epoch}. Run the same call again to resume.", epoch=epoch))
    _draw(curves, read_history(folder), drawn)


@contextmanager
def _interrupts(interrupted: threading.Event) -> Iterator[None]:
    """Record an interrupt instead of stopping at once; a second one stops at once."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives signals
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


def _draw(curves: ipywidgets.Widget, history: TrainingHistory | None, drawn: dict[str, ipywidgets.Widget]) -> None:
    """Draw the curves of a history, unless they are up to date."""
    if history is None or drawn["of"] == (grown := (history.epoch, len(history.evaluations), history.state)):
        return
    drawn["of"] = grown
    figure = plot_learning_curves(history)
    if curves.children:
        show_figure(curves.children[0], figure)
    else:
        curves.children = [figure_image(figure)]


def _bar() -> tuple[ipywidgets.Widget, ipywidgets.Widget]:
    wide = ipywidgets.Layout(width="18em")
    return ipywidgets.FloatProgress(value=0.0, min=0.0, max=1.0, layout=wide), ipywidgets.Label()
