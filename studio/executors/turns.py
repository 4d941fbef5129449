"""Threads that work for accounts in turn, of which each account has a share.

So who asks for a hundred things waits for them alone: no account holds all threads, and between two works of one
account every other account that waits is served.
"""

import contextvars
import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Generic, TypeVar

from engine.texts import tr
from studio.errors import TooMany, Unavailable

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
_IDLE_S = 60.0  # then a thread ends, with what it works with
_RETRY_S = 10.0
_ENDS = tr("The service is shutting down. Try again in a moment.")
_FULL = tr("Too many of your calls wait for their turn. Try again when some have been answered.")


@dataclass(frozen=True)
class _Asked(Generic[T_co]):
    work: Callable[[], T_co]
    future: Future[T_co]
    context: contextvars.Context

    def do(self) -> None:
        """Do the work, unless it was cancelled."""
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
    """

    def __init__(
        self,
        threads: int,
        waiting: int,
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
        idle_s: float = _IDLE_S,
        share: int | None = None,
    ) -> None:
        self._most, self._share, self._waiting_most = threads, share or max(1, threads // 2), waiting
        self._around, self._idle_s = around, idle_s
        self._waiting: dict[str, deque[_Asked[object]]] = {}  # by account, the one whose turn it is first
        self._running: Counter[str] = Counter()
        self._threads: set[threading.Thread] = set()
        self._idle = 0
        self._ended = False
        self._changed = threading.Condition()

    def submit(self, account_id: str, work: Callable[[], T], at_most: int | None = None) -> Future[T]:
        """Let a thread do a work when the account's turn comes; a work that waits may be cancelled.

        at_most: works of the account, waiting or running, beside which it is still taken. Raises TooMany.
        """
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
            if self._idle < sum(map(len, self._waiting.values())) and len(self._threads) < self._most:
                thread = threading.Thread(target=self._serve, name="turns", daemon=True)
                self._threads.add(thread)
                thread.start()
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

    def _serve(self) -> None:
        with self._around():
            while (found := self._next()) is not None:
                account_id, asked = found
                try:
                    asked.do()
                finally:
                    self._give_back(account_id)

    def _next(self) -> tuple[str, _Asked[object]] | None:
        """Wait for a work whose turn it is; None if none came for a while, or at the end."""
        with self._changed:
            self._idle += 1
            try:
                self._changed.wait_for(lambda: self._ended or self._turn() is not None, self._idle_s)
                account_id = None if self._ended else self._turn()
                if account_id is None:
                    self._threads.discard(threading.current_thread())  # before anybody counts on it
                    return None
                waiting = self._waiting.pop(account_id)
                asked = waiting.popleft()
                if waiting:
                    self._waiting[account_id] = waiting  # behind the others
                self._running[account_id] += 1
                return account_id, asked
            finally:
                self._idle -= 1

    def _turn(self) -> str | None:
        """Return the account that has waited longest for its turn and has not all of its share."""
        return next((one for one in self._waiting if self._running[one] < self._share), None)

    def _give_back(self, account_id: str) -> None:
        with self._changed:
            self._running[account_id] -= 1
            self._running += Counter()  # removes the accounts without works
            self._changed.notify()


def _ending() -> Unavailable:
    return Unavailable(_ENDS, _RETRY_S, "shutting_down")
