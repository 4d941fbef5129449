"""Show progress, and stop cleanly: the `report` callback of the command line."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

from engine.errors import Cancelled
from engine.progress import Report
from studio.commands.wording import is_quiet, speaker

LINE_EVERY_S = 60.0  # where there is no terminal for a bar


@contextmanager
def progress_bar(time_left: bool = True, clock: Callable[[], float] = time.monotonic) -> Iterator[Report]:
    """Yield a `report` that shows a bar on stderr; without a terminal, a line a minute; nothing if quiet.
    After Ctrl-C or a termination signal its next call raises Cancelled; a second Ctrl-C stops at once."""
    console = Console(stderr=True)
    quiet, translate, shown_at = is_quiet(), speaker(), clock()
    columns: list[ProgressColumn] = [TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn()]
    columns += [TimeRemainingColumn()] if time_left else []
    with (
        _stop_requests() as stop_was_requested,
        Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar,
    ):
        task = bar.add_task("", total=1.0)

        def report(fraction: float, message: str) -> None:
            nonlocal shown_at
            if stop_was_requested():
                raise Cancelled
            bar.update(task, completed=fraction, description=translate(message))
            if not (quiet or console.is_terminal) and clock() - shown_at >= LINE_EVERY_S:
                shown_at = clock()
                typer.echo(f"{fraction:4.0%}  {translate(message)}", err=True)

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
