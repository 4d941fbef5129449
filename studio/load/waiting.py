"""Waiting for what has to come, however slow the machine. Only what never comes takes all the patience."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE_S = 600.0
WORK_MS = 1000 * PATIENCE_S  # as browsers take it
_LOOK_S = 0.02


def wait_until(look: Callable[[], T]) -> T:
    """Return the first true value that `look` returns."""
    end_s = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < end_s, "what is waited for does not come"
        time.sleep(_LOOK_S)
    return found
