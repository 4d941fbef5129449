"""Supervise workers anywhere, on this machine or on Ray: requeue tasks of lost ones, kill those that hang."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict

from structlog.typing import FilteringBoundLogger

from engine.texts import tr
from studio.errors import StudioError
from studio.executors.housekeeping import sweep
from studio.executors.recovery import recover, remove_abandoned, signs_of
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store.database import Database
from studio.store.kinds import LANES
from studio.store.storage import open_storage

RECOVER_S = 2.0  # between searches for lost workers
SWEEP_S, _DEMO_SWEEP_S = 3600.0, 60.0
HOLD_OFF_S = 1.5  # grace for expired leases after renewal was impossible
_SLOW_WRITE_S = 0.5  # for an empty write
_CLOCK_JUMP_S = 2.0  # more is not drift: the machine has slept


class LeaseWatch:
    """Detects what keeps all workers from renewing their leases. For one thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._count_from = 0.0
        self._clock_ahead_s = time.time() - time.monotonic()

    @property
    def counts(self) -> bool:
        """Return whether expired leases count now."""
        return time.monotonic() >= self._count_from

    def hold_off(self) -> None:
        """Let all workers renew their leases before any counts as lost."""
        self._count_from = time.monotonic() + HOLD_OFF_S

    def notice_a_busy_database(self) -> None:
        """Hold off if another process keeps the database locked. Raises Unavailable."""
        begun_at = time.monotonic()
        with self._database.write():
            pass
        if time.monotonic() - begun_at > _SLOW_WRITE_S:
            self.hold_off()

    def notice_sleep(self) -> None:
        """Hold off after the machine slept: the database's clock went on, heartbeats did not."""
        ahead_s = time.time() - time.monotonic()
        if abs(ahead_s - self._clock_ahead_s) > _CLOCK_JUMP_S:
            self.hold_off()
        self._clock_ahead_s = ahead_s


class Supervisor:
    """Supervises the tasks that workers hold. For one thread."""

    def __init__(
        self, database: Database, attempts: int, log: FilteringBoundLogger, kill: Callable[[str, str], None]
    ) -> None:
        """kill: kills the worker with this id, for a reason that it logs."""
        self._database, self._attempts, self._log, self._kill = database, attempts, log, kill
        self.leases = LeaseWatch(database)
        self.dead: list[str] = []  # ids of workers whose tasks must be requeued
        self._recover_at = 0.0
        self._unwanted_since: dict[str, float] = {}  # task -> when its cancellation was first seen
        self._silent: set[str] = set()  # living workers whose lease had expired at the last check

    def look(self, lanes: Callable[[], Mapping[str, str]]) -> list[str]:
        """Check everything that is due; return the dead workers whose tasks were requeued. Raises Unavailable.
        lanes: returns the lane of each living worker by its id."""
        if not self.dead and time.monotonic() < self._recover_at:
            return []
        self._recover_at = time.monotonic() + RECOVER_S
        self.leases.notice_a_busy_database()
        self._end_hanging(lanes())
        return self._recover()

    def _end_hanging(self, lanes: Mapping[str, str]) -> None:
        """Kill workers that ignore a cancellation, or live but do not renew their lease."""
        now = time.monotonic()
        unwanted, silent = {}, set()
        for owner, task, is_unwanted, is_over in signs_of(self._database, sorted(lanes)):
            if is_unwanted:
                unwanted[task] = self._unwanted_since.get(task, now)
                if now - unwanted[task] > LANES[lanes[owner]].patience_s:
                    self._kill(owner, tr("its task was cancelled"))
            if is_over:
                silent.add(owner)
                if owner in self._silent and self.leases.counts:
                    self._kill(owner, tr("it did not renew its lease"))
        if silent - self._silent:  # renewal may have been blocked briefly: wait for the next check
            self.leases.hold_off()
        self._unwanted_since, self._silent = unwanted, silent

    def _recover(self) -> list[str]:
        """Requeue the tasks of dead workers at once, and of silent ones unless the database was the cause."""
        if not self.leases.counts:
            return []
        dead = list(self.dead)
        for task in recover(self._database, self._attempts, dead):
            self._log.warning("task_lost", task_id=task.id, kind=task.kind, state=task.state)
        del self.dead[: len(dead)]
        return dead


def keep_house(
    stopping: threading.Event,
    first_s: float,
    database: Database,
    settings: Settings,
    service: ServiceSettings,
    log: FilteringBoundLogger,
    may: Callable[[], bool] = lambda: True,
) -> None:
    """Delete from time to time what is no longer needed, if this process `may`; a failure is logged."""
    pause_s = first_s
    while not stopping.wait(pause_s):
        pause_s = _DEMO_SWEEP_S if service.is_demo else SWEEP_S
        if not may():
            continue
        try:
            remove_abandoned(database, settings.work)
            swept = sweep(database, open_storage(service.storage_url, settings.data, create=False), service)
            log.info("swept", **{name: value for name, value in asdict(swept).items() if value})
        except StudioError as trouble:
            log.warning("sweep_failed", reason=str(trouble))
        except Exception:
            log.exception("sweep_failed")
