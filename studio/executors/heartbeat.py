"""The heartbeat of a task: a thread renews its lease, records progress, and reads whether it is to be cancelled.
The work calls `report`, which raises as soon as it should stop. Work that does not call it for very long
hangs, and a thread cannot be stopped from outside: then the process exits, and another worker takes the task."""

import math
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from engine.errors import Cancelled
from engine.texts import tr
from studio.errors import DiskFull, LeaseLost, StudioError
from studio.executors.lasting_failure import LastingFailure
from studio.store import tasks
from studio.store.database import Database

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

STALLED = 4  # exit status of a worker whose work hung
_BEAT_S = 1.0
_BEATS_A_LEASE = 3  # at least, so that one may fail
_LAST_BEAT_S = 30.0  # longest beat, if the database does not answer


class Stopping:
    """Whether this process should exit, and whether the grace period is over."""

    def __init__(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self._asked_at = math.inf

    def ask(self) -> None:
        """Take no new tasks; finish or requeue the running one. Only the first call counts."""
        self._asked_at = min(self._asked_at, time.monotonic())

    @property
    def asked(self) -> bool:
        return self._asked_at < math.inf

    def is_over(self, extra_s: float = 0.0) -> bool:
        """Return whether the grace period, and `extra_s` more, has passed."""
        return time.monotonic() >= self._asked_at + self._grace_s + extra_s


class Heartbeat:
    """Holds the lease of a task inside its `with` block. The engine calls `report` during the work."""

    def __init__(
        self,
        database: Database,
        task: tasks.Task,
        lease_s: float,
        stopping: Stopping,
        log: "FilteringBoundLogger",
        may_finish: bool = True,
        stalled_s: float = math.inf,
        end_process: Callable[[int], None] = os._exit,
    ) -> None:
        """may_finish: whether the work may use the grace period when the process stops; not useful for work that can be
        continued later. stalled_s: after so long without a report, `end_process` is called."""
        self.database, self.task, self.lease_s, self.log = database, task, lease_s, log
        self.stopping, self.may_finish = stopping, may_finish
        self._trouble = LastingFailure(log, "heartbeat_missed")
        self._stalled_s, self._end_process = stalled_s, end_process
        self._heard_at = time.monotonic()
        self.each_beat: Callable[[], None] = lambda: None
        self.check_room: Callable[[], None] = lambda: None  # raises DiskFull; called with each beat
        self.each_report: Callable[[str], None] = lambda message: None
        self.is_cancelled = self.is_lost = False
        self._no_room: DiskFull | None = None
        self._progress, self._message = 0.0, ""
        self._watched: Path | None = None
        self._seen: int | None = None
        self._tried: int | None = None  # state that `report` has recorded, or failed to
        self._ended, self._beating = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, cause: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join(_LAST_BEAT_S)

    def report(self, fraction: float, message: str) -> None:
        """Record progress, 0..1. Raises Cancelled if the work is to stop, LeaseLost if another worker has the task,
        DiskFull if the space that is kept free is in use."""
        if math.isfinite(fraction):
            self._progress = min(1.0, max(0.0, fraction))
        self._message = message
        self.each_report(message)
        state = changed_ns(self._watched) if self._watched else None
        if state not in (self._seen, self._tried):
            self._tried = state
            self._beat_in_time()  # now: a worker killed before the next beat would have advanced in vain
        self.check()

    def check(self) -> None:
        """Raise what `report` would; also a sign of life when there is no progress to report."""
        self._heard_at = time.monotonic()
        if self.is_cancelled:
            raise Cancelled
        if self.is_lost:
            raise LeaseLost(tr("Another worker has taken over this task."))
        if self._no_room is not None:
            raise self._no_room
        if self.stopping.asked and (not self.may_finish or self.stopping.is_over()):
            raise Cancelled

    def watch(self, path: Path) -> None:
        """Count every new state of this file as headway: an attempt can continue from it."""
        self._watched, self._seen = path, changed_ns(path)

    def _run(self) -> None:
        while not self._ended.wait(min(_BEAT_S, self.lease_s / _BEATS_A_LEASE)):
            if time.monotonic() - self._heard_at > self._stalled_s:
                self.log.error("task_stalled", minutes=round(self._stalled_s / 60, 1), said_last=self._message)
                self._end_process(STALLED)
                return
            self._beat_in_time()
            if self.is_lost:
                return
            try:
                self.check_room()
            except DiskFull as trouble:
                self._no_room = trouble
            except (StudioError, OSError):  # the storage is being replaced, or does not answer
                continue

    def _beat_in_time(self) -> None:
        """Beat, from either thread; if the database does not answer, the next beat may succeed."""
        try:
            with self._beating:
                self._beat()
        except LeaseLost:
            self.is_lost = True
        except Exception as trouble:  # noqa: BLE001 - the next beat may succeed
            self._trouble.met(trouble)
        else:
            self._trouble.over()

    def _beat(self) -> None:
        at = changed_ns(self._watched) if self._watched else None
        headway = at is not None and at != self._seen
        if tasks.renew(self.database, self.task, self.lease_s, self._progress, self._message, headway):
            self.is_cancelled = True
        self._seen = at
        self.each_beat()


def changed_ns(path: Path) -> int | None:
    """Return when a file was last written, in nanoseconds; None if there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
