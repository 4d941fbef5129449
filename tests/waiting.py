"""Waiting in tests: for what has to come, however slow the machine. Only what never comes takes all the patience."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from studio.load.waiting import PATIENCE_S, WORK_MS, wait_until

__all__ = ["PATIENCE_S", "WORK_MS", "OwnClock", "in_threads", "wait_until"]
T = TypeVar("T")


class OwnClock:
    """Stands for the module `time` where a test patches it: nobody waits, and it moves on only where somebody would."""

    def __init__(self, now_s: float = 1_000_000_000.0) -> None:
        self.now_s = now_s
        self.slept: list[float] = []

    def time(self) -> float:
        return self.now_s

    monotonic = perf_counter = time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


def in_threads(number: int, work: Callable[[int], T]) -> list[T]:
    """Return what `work(index)` returns in each of so many threads that begin together, in their order.

    An exception of one of them is raised again.
    """
    begin = threading.Barrier(number)

    def run(index: int) -> T:
        begin.wait(PATIENCE_S)
        return work(index)

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(run, range(number), timeout=PATIENCE_S))
