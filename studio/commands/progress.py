"""Progress on the terminal, and a clean way to stop: what a `report` callback is on the command line."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

from engine.errors import Cancelled
from engine.progress import Report


@contextmanager
def progress_bar(time_left: bool = True) -> Iterator[Report]:
    """A bar on stderr that disappears when the work ends; none where stderr is no terminal.

    time_left: whether to guess it from the fraction; not where the messages say it.

    Gives the `report` callback to pass to the engine. After Ctrl-C, or a request to end, it raises Cancelled at its
    next call, so that the engine can clean up; a second Ctrl-C stops at once.
    """
    console = Console(stderr=True)
    columns: list[ProgressColumn] = [TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn()]
    columns += [TimeRemainingColumn()] if time_left else []
    with (
        _stop_requests() as stop_was_requested,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        task = bar.add_task("", total=1.0)

        def report(fraction: float, message: str) -> None:
            if stop_was_requested():
                raise Cancelled
            bar.update(task, completed=fraction, description=message)

        yield report


@contextmanager
def _stop_requests() -> Iterator[Callable[[], bool]]:
    """A question: has the user, or the system, asked to stop since this began?"""
    requested = False

    def on_request(number: int, frame: FrameType | None) -> None:
        nonlocal requested
        if requested:
            raise KeyboardInterrupt
        requested = True

    before = {number: signal.signal(number, on_request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
