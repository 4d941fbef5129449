"""The priority of a process that somebody else waits beside."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_LOWEST = 19


def lower_priority(process: int) -> None:
    """Give a process, and all that it has started, the lowest priority; for good, where its user is not root."""
    for one in (process, *_threads_of(process)):
        with suppress(OSError, AttributeError):  # it has ended; Windows has no such call
            os.setpriority(os.PRIO_PROCESS, one, _LOWEST)


def _threads_of(process: int) -> Iterator[int]:
    """Yield the numbers of a process's threads, and of those of all processes that it has started."""
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            yield int(thread.name)
            with suppress(OSError):
                for child in (thread / "children").read_text().split():
                    yield from _threads_of(int(child))
