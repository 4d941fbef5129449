"""Retries: the more failures in a row, the later the next."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from studio.errors import DiskFull, Unavailable

T = TypeVar("T")
LONGEST_BACKOFF_S = 30.0
SHORT_PATIENCE_S = 3.0  # with a failing storage before the task is requeued
LONG_PATIENCE_S = 60.0  # with a failing database once the work is done
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 2.0


@dataclass
class Backoff:
    """Delays retries: the more failures in a row, the longer."""

    first_s: float
    healthy_s: float = float("inf")  # a longer run did not fail at its start
    longest_s: float = LONGEST_BACKOFF_S
    failures: int = 0
    not_before: float = 0.0  # of the monotonic clock

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.not_before

    def failed(self, lasted_s: float = 0.0) -> None:
        self.failures = 1 if lasted_s > self.healthy_s else self.failures + 1
        self.pause(min(self.longest_s, self.first_s * 2 ** min(self.failures, 10)))

    def succeeded(self) -> None:
        self.failures, self.not_before = 0, 0.0

    def pause(self, seconds: float) -> None:
        self.not_before = max(self.not_before, time.monotonic() + seconds)


def retry(action: Callable[[], T], patience_s: float) -> T:
    """Call `action`, and retry for `patience_s` seconds while the database or the storage is busy or full."""
    deadline, backoff = time.monotonic() + patience_s, Backoff(_FIRST_PAUSE_S, longest_s=_LONGEST_PAUSE_S)
    while True:
        try:
            return action()
        except (Unavailable, DiskFull):
            backoff.failed()
            if backoff.not_before > deadline:
                raise
        time.sleep(max(0.0, backoff.not_before - time.monotonic()))
