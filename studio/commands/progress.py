"""Show progress on the terminal, and stop cleanly: the `report` callback of the command line."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

from engine.errors import Cancelled
from engine.progress import Report
from studio.commands.wording import speaker


@contextmanager
def progress_bar(time_left: bool = True) -> Iterator[Report]:
    """Show a bar on stderr that disappears when the work ends; none if stderr is not a terminal.

    time_left: whether to estimate it from the fraction; unnecessary if the messages state it.

    Yields the `report` callback for the engine. After Ctrl-C or a termination signal its next call raises Cancelled, so
    that the engine can clean up; a second Ctrl-C stops at once.
    """
    console = Console(stderr=True)
    columns: list[ProgressColumn] = [TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn()]
    columns += [TimeRemainingColumn()] if time_left else []
    with (
        _stop_requests() as stop_was_requested,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        task, translate = bar.add_task("", total=1.0), speaker()

        def report(fraction: float, message: str) -> None:
            if stop_was_requested():
                raise Cancelled
            bar.update(task, completed=fraction, description=translate(message))

        yield report


@contextmanager
def _stop_requests() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether the user or the system has asked to stop since."""
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
