"""Threads that work for accounts in turn: no account holds all threads, and between two works of one account every
other account that waits is served."""

import contextvars
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from math import inf
from typing import Generic, TypeVar

from engine.texts import tr
from studio.errors import TooMany, Unavailable

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
_IDLE_S = 60.0  # then a thread ends, with what it works with
_RETRY_S = 10.0
_VERY = 8  # times as long as a long work: on a busy machine all take longer
_ENDS = tr("The service is shutting down. Try again in a moment.")
_FULL = tr("Too many of your calls are waiting for their turn. Try again when some have been answered.")


@dataclass(frozen=True)
class _Asked(Generic[T_co]):
    work: Callable[[], T_co]
    future: Future[T_co]
    context: contextvars.Context

    def do(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(self.context.run(self.work))
        except BaseException as error:  # noqa: BLE001 - whoever asked receives it
            self.future.set_exception(error)


class Turns:
    """Up to `threads` threads, of which one account has half at most, or the only one; they start when needed.

    waiting: the most works of an account that may wait. around: what each thread does before its first work and after
    its last, such as to open and close what it works with. share: of the threads, for one account, if not half.
    long_s: a work that takes longer leaves its place to another thread, so that short works of others need not wait for
    it; there are as many such places again. An account whose last work took very long has its next one in such a place,
    or leaves the last place to others.
    """

    def __init__(
        self,
        threads: int,
        waiting: int,
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
        idle_s: float = _IDLE_S,
        share: int | None = None,
        long_s: float = inf,
    ) -> None:
        self._most, self._share, self._waiting_most = threads, share or max(1, threads // 2), waiting
        self._around, self._idle_s, self._long_s = around, idle_s, long_s
        self._waiting: dict[str, deque[_Asked[object]]] = {}  # by account, the one whose turn it is first
        self._running: Counter[str] = Counter()
        self._threads: set[threading.Thread] = set()
        self._long: set[threading.Thread] = set()  # of them, those that do a long work
        self._overdue: deque[threading.Thread] = deque()  # that do one which is long, and have no such place yet
        self._slow: set[str] = set()  # accounts whose last work took very long
        self._idle = 0
        self._ended = False
        self._changed = threading.Condition()

    def submit(self, account_id: str, work: Callable[[], T], at_most: int | None = None) -> Future[T]:
        """Let a thread do a work when the account's turn comes; a work that waits may be cancelled. Raises TooMany.
        at_most: works of the account, waiting or running, beside which it is still taken."""
        asked: _Asked[T] = _Asked(work, Future(), contextvars.copy_context())
        with self._changed:
            if self._ended:
                raise _ending()
            waiting = self._waiting.get(account_id, deque())
            there = len(waiting) + self._running[account_id]
            if len(waiting) >= self._waiting_most or (at_most is not None and there >= at_most):
                raise TooMany(_FULL, _RETRY_S, "too_many_calls")
            waiting.append(asked)
            self._waiting[account_id] = waiting
            self._start_another()
            self._changed.notify()
        return asked.future

    def close(self) -> None:
        """Do no more works; those that wait end with Unavailable, and idle threads end."""
        with self._changed:
            self._ended = True
            for asked in (one for waiting in self._waiting.values() for one in waiting):
                if asked.future.set_running_or_notify_cancel():
                    asked.future.set_exception(_ending())
            self._waiting.clear()
            self._changed.notify_all()

    def _start_another(self) -> None:
        """Start a thread if works wait and there is a place for it."""
        if self._idle < sum(map(len, self._waiting.values())) and self._short_threads < self._most:
            thread = threading.Thread(target=self._serve, name="turns", daemon=True)
            self._threads.add(thread)
            thread.start()

    @property
    def _short_threads(self) -> int:
        return len(self._threads) - len(self._long)

    def _serve(self) -> None:
        with self._around():
            while (found := self._next()) is not None:
                account_id, asked = found
                begun_s = time.monotonic()
                watch = self._watch()
                try:
                    asked.do()
                finally:
                    watch.cancel()
                    self._give_back(account_id, time.monotonic() - begun_s)

    def _next(self) -> tuple[str, _Asked[object]] | None:
        """Wait for a work whose turn it is; None if none came for a while, or this thread is not needed any more."""
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._ends or self._turn() is not None, self._idle_s)
            self._idle -= 1
            account_id = None if self._ends else self._turn()
            if account_id is None:
                self._threads.discard(threading.current_thread())  # before anybody counts on it
                return None
            waiting = self._waiting.pop(account_id)
            asked = waiting.popleft()
            if waiting:
                self._waiting[account_id] = waiting  # behind the others
            self._running[account_id] += 1
            if account_id in self._slow and len(self._long) < self._most:
                self._become_long(threading.current_thread())
            return account_id, asked

    @property
    def _ends(self) -> bool:
        """Whether a thread that asks for a work ends: all do, or it came in the place of one that was long."""
        return self._ended or self._short_threads > self._most

    def _turn(self) -> str | None:
        """Return the account that has waited longest for its turn, has not all of its share, and for which there is a
        place: the last one of short works is not for accounts whose last work took very long."""
        has_place = len(self._long) < self._most or self._running.total() - len(self._long) < self._most - 1
        return next(
            (one for one in self._waiting if self._running[one] < self._share and (has_place or one not in self._slow)),
            None,
        )

    def _watch(self) -> threading.Timer:
        """Let the work of this thread become long after a while, until the timer is cancelled."""
        thread = threading.current_thread()

        def notice() -> None:
            with self._changed:
                if not watch.finished.is_set() and thread not in self._long:
                    self._overdue.append(thread)
                    self._make_place()

        watch = threading.Timer(min(self._long_s, threading.TIMEOUT_MAX), notice)
        watch.daemon = True
        if self._long_s < inf:
            watch.start()
        return watch

    def _make_place(self) -> None:
        """Let the oldest works that take long leave their places, as many as there are such places."""
        while self._overdue and len(self._long) < self._most:
            self._become_long(self._overdue.popleft())

    def _become_long(self, thread: threading.Thread) -> None:
        self._long.add(thread)
        self._start_another()

    def _give_back(self, account_id: str, took_s: float) -> None:
        with self._changed:
            thread = threading.current_thread()
            self._long.discard(thread)
            with suppress(ValueError):
                self._overdue.remove(thread)
            self._make_place()
            (self._slow.add if took_s > _VERY * self._long_s else self._slow.discard)(account_id)
            self._running[account_id] -= 1
            self._running += Counter()  # removes the accounts without works
            self._changed.notify_all()


def _ending() -> Unavailable:
    return Unavailable(_ENDS, _RETRY_S, "shutting_down")
