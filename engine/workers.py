"""Work on several cores: the windows of a recording side by side, and what does not depend on each other within one.

A window passes through sections that may run in any order, on as many threads as there are, and short ones that run in
the order of the recording: each window is a generator that yields which kind comes next.

    windows --> any order --> in order --> any order --> in order --> results, in order

Within such a thread torch works on one: it would divide small operations, which on windows costs more than it brings,
and whose sums come out differently for other numbers of threads. So results are the same for any number of workers.
"""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from enum import Enum
from itertools import islice
from queue import SimpleQueue
from typing import Generic, Self, TypeVar, overload

import torch

from engine.cores import free_memory, usable_cores

Threads = int | Callable[[], int]  # a number, or what gives it before each further piece of work
Result = TypeVar("Result")
One = TypeVar("One")
Other = TypeVar("Other")
_BYTES, _MOST_BYTES = 120 << 20, 2 << 30  # what a window takes while it is worked on, and all of them at most
_SETTING = threading.Lock()


class Turn(Enum):
    """When the next section of a window runs."""

    ANY_ORDER = "any order"
    IN_ORDER = "in order"


Work = Generator[Turn, None, Result]  # begins in any order


class Stopped(Exception):
    """Ends what works for a conversion that has ended, as where it was cancelled."""


class Workers:
    """The threads of one conversion; a context manager.

    threads: how many work at once, by default as many as torch has in this thread, on the cores that there are; a
    function is asked before each further piece of work, so that conversions can share the cores. Fewer where memory is
    short.
    """

    def __init__(self, threads: Threads | None = None) -> None:
        self._threads: Threads = min(torch.get_num_threads(), usable_cores()) if threads is None else threads
        most = usable_cores() if callable(self._threads) else self._threads
        self._most = max(1, min(most, (free_memory() or _MOST_BYTES) // 2 // _BYTES, _MOST_BYTES // _BYTES))
        self._lock, self._busy, self._stopped = threading.Lock(), 0, False
        self._pool: ThreadPoolExecutor | None = None
        self._owner = threading.get_ident()
        self._events: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def __enter__(self) -> Self:
        self._owner, self._threads_before = threading.get_ident(), torch.get_num_threads()
        use_one_thread()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped = True
        if self._pool:
            self._pool.shutdown()
        torch.set_num_threads(self._threads_before)

    @property
    def threads(self) -> int:
        """How many may work at once, now."""
        return max(1, min(self._most, self._threads() if callable(self._threads) else self._threads))

    def in_order(self, works: Iterable[Work[Result]], windows: int = 1) -> Iterator[Result]:
        """Yield the results of works in their order; no more of them are under way than one beyond the threads.

        windows: so many are in each work, which count as one thread each.
        """
        source, held = iter(works), deque[_Held[Result]]()
        while True:
            held.extend(map(_Held, islice(source, max(0, self.threads // windows + 1 - len(held)))))
            if not held:
                return
            _run_in_order(held)
            if held[0].is_finished:
                yield held.popleft().result
                continue
            ready = [one for one in held if one.is_ready]
            for one in ready:
                one.future = self._begun(one.step)
                if one.future:
                    one.future.add_done_callback(lambda _: self._events.put(lambda: None))
            if any(one.future for one in held):
                self._events.get()()
            else:
                ready[0].step()

    def alone(self, work: Work[Result]) -> Result:
        """Return the result of a single work."""
        (result,) = self.in_order([work])
        return result

    @overload
    def beside(self, one: Callable[[], One], other: Callable[[], Other], /) -> tuple[One, Other]: ...

    @overload
    def beside(self, *pieces: Callable[[], Result]) -> tuple[Result, ...]: ...

    def beside(self, *pieces: Callable[[], object]) -> tuple[object, ...]:
        """Return the results of pieces of work that do not depend on each other, in their order.

        They run side by side where threads are free, else one after the other in this one.
        """
        first, *others = pieces
        begun = [(piece, self._begun(piece)) for piece in others]
        try:
            return first(), *(future.result() if future else piece() for piece, future in begun)
        finally:
            wait([future for _, future in begun if future])  # also of those after one that failed

    def say(self, event: Callable[[], None]) -> None:
        """Have a function called by the thread of the conversion, such as one that reports progress.

        Raises Stopped if the conversion has ended.
        """
        if self._stopped:
            raise Stopped
        if threading.get_ident() == self._owner:
            event()
        else:
            self._events.put(event)

    def _begun(self, piece: Callable[[], Result]) -> "Future[Result] | None":
        """Begin a piece of work in another thread; None if all that may work are busy, or this is the only one."""
        with self._lock:
            if self.threads == 1 or self._busy >= self.threads:
                return None
            self._busy += 1
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._most, "window", use_one_thread)

        def run() -> Result:
            try:
                if self._stopped:
                    raise Stopped
                return piece()
            finally:
                with self._lock:
                    self._busy -= 1

        return self._pool.submit(copy_context().run, run)


def in_groups(items: Iterable[Result], size: int) -> Iterator[list[Result]]:
    """Yield the items in lists of so many; the last may be shorter."""
    source = iter(items)
    while group := list(islice(source, size)):
        yield group


class _Held(Generic[Result]):
    """A work that is under way."""

    def __init__(self, work: Work[Result]) -> None:
        self._work, self._turn = work, Turn.ANY_ORDER
        self.future: Future[None] | None = None
        self.passed = 0  # sections in order
        self.is_finished = False
        self.result: Result

    @property
    def is_ready(self) -> bool:
        """Whether its next section can run at any time."""
        return self.future is None and not self.is_finished and self._turn is Turn.ANY_ORDER

    def may_follow(self, before: "_Held[Result] | None") -> bool:
        """Return whether its next section runs in order, and that of the work before it has run."""
        waits = self.future is None and not self.is_finished and self._turn is Turn.IN_ORDER
        return waits and (before is None or before.is_finished or before.passed > self.passed)

    def step(self) -> None:
        """Run the next section."""
        try:
            self._turn = next(self._work)
        except StopIteration as end:
            self.is_finished, self.result = True, end.value


def _run_in_order(held: "deque[_Held[Result]]") -> None:
    """Run what sections can run in order. Raises what the sections in other threads raised, that of the first work."""
    before: _Held[Result] | None = None
    for one in held:
        if (future := one.future) and future.done():
            one.future = None
            future.result()
        while one.may_follow(before):
            one.step()
            one.passed += 1
        before = one


def use_one_thread() -> None:
    """Have torch work on one thread in this one. Other threads keep their number, also those that begin after this."""
    with _SETTING:
        before = torch.get_num_threads()
        if before > 1:
            torch.set_num_threads(1)  # of this thread, and of all that begin from now on
            restoring = threading.Thread(target=torch.set_num_threads, args=(before,))
            restoring.start()
            restoring.join()
