"""The local executor: worker processes on this machine, supervised by a thread of the server.
It replaces dead workers, kills those that hang, and runs more only while there are tasks for them. Its whole state
is in the database, so that a new server can take over after a crash."""

import contextlib
import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from structlog.typing import FilteringBoundLogger

from engine.cores import usable_cores
from engine.texts import tr
from studio.errors import StudioError, Unavailable
from studio.executors.core_shares import CoreShares
from studio.executors.lasting_failure import LastingFailure
from studio.executors.process import OrderedProcess, environment_of, start_process
from studio.executors.recovery import dead_owners, recover, remove_abandoned, signs_of, waiting
from studio.executors.retries import LONGEST_BACKOFF_S, Backoff
from studio.executors.supervisor import Supervisor, keep_house
from studio.executors.worker import OVERDUE_S, WAKE, Order
from studio.settings.environment import VANISHED, Settings, installation_of
from studio.settings.service import ServiceSettings
from studio.store.database import Database, database_url, open_database
from studio.store.kinds import LANES, QUEUES

COMMAND = (sys.executable, "-P", "-m", "studio.executors.worker")
CONVERSIONS, *_ = LANES
_LOOK_S = 0.25  # between checks of the workers
_FIRST_BACKOFF_S = 0.25  # before replacing a worker that died at once
_HEALTHY_S = 30.0  # a worker that lived longer did not fail at its start
_FIRST_SWEEP_S = 5.0
_FURTHER_AFTER_S = 2.0  # a worker takes seconds to load, in which one that is there converts a short recording
_FURTHER_IDLE_S = 120.0


@dataclass
class _Lane:
    """The workers of one kind: `wanted` at most, of which `lasting` stay without a task; others end after `idle_s`.
    patience_s: for how long tasks wait before another one is started."""

    wanted: int
    lasting: int
    idle_s: float
    patience_s: float = 0.0
    waiting_since: float | None = None
    workers: list[OrderedProcess] = field(default_factory=list)
    backoff: Backoff = field(default_factory=lambda: Backoff(_FIRST_BACKOFF_S, _HEALTHY_S))

    @property
    def has_room(self) -> bool:
        """Return whether another worker may be started now."""
        return len(self.workers) < self.wanted and self.backoff.is_over

    @property
    def lacks_lasting(self) -> bool:
        """Return whether one that stays without a task is missing, and may be started now."""
        return self.has_room and sum(not worker.order.idle_s for worker in self.workers) < self.lasting

    def has_patience(self, is_waiting: bool) -> bool:
        """Return whether nothing is waiting, or not for long enough to start another worker."""
        if not is_waiting:
            self.waiting_since = None
            return True
        self.waiting_since = self.waiting_since or time.monotonic()
        return time.monotonic() - self.waiting_since < self.patience_s


def _lane_of(name: str, service: ServiceSettings) -> _Lane:
    lane = LANES[name]
    if name == CONVERSIONS and not service.conversion_workers:
        return _Lane(service.conversions_at_once, 1, _FURTHER_IDLE_S, _FURTHER_AFTER_S)
    wanted = getattr(service, lane.workers) or lane.least if lane.workers else 1
    return _Lane(wanted, 0 if lane.idle_s else wanted, lane.idle_s)


class LocalExecutor:
    """Runs a service's tasks in processes of this machine, between `start` and `stop`."""

    def __init__(
        self,
        settings: Settings,
        service: ServiceSettings,
        log: FilteringBoundLogger,
        command: Sequence[str] = COMMAND,
        cores: CoreShares | None = None,
    ) -> None:
        """command: the command that starts a worker. cores: shared with live sessions; by default its own."""
        self._settings, self._service, self._log, self._command = settings, service, log, tuple(command)
        self._cores, self._owns_cores = cores or CoreShares(service.threads), cores is None
        self._database: Database = open_database(database_url(service.database_url, settings.data))
        self._lanes = {name: _lane_of(name, service) for name in LANES}
        self._supervisor = Supervisor(self._database, service.attempts, log, self._end)
        self._trouble = LastingFailure(log, "workers_not_looked_after")
        self._woken, self._stopping = threading.Event(), threading.Event()
        self._restarts = 0
        house = (self._stopping, _FIRST_SWEEP_S, self._database, settings, service, log)
        self._threads = [
            threading.Thread(target=self._watch, name="workers", daemon=True),
            threading.Thread(target=keep_house, args=house, name="housekeeping", daemon=True),
        ]

    # ---- control

    def start(self) -> None:
        """Start the workers, and supervise them until `stop`."""
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Start a new task now rather than at the next check."""
        self._woken.set()

    def alive(self) -> dict[str, float]:
        """Return living `workers` for short conversions, and those of the other lanes, `restarts` of dead workers, and
        whether they are `watched`, 0 or 1."""
        living = {
            LANES[name].counted_as: sum(worker.popen.returncode is None for worker in tuple(lane.workers))
            for name, lane in self._lanes.items()
        }
        return {**living, "restarts": self._restarts, "watched": int(self._threads[0].is_alive())}

    def stop(self) -> None:
        """Stop all workers; their tasks finish within the grace period, or are requeued."""
        self._stopping.set()
        self._woken.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(LONGEST_BACKOFF_S)
        workers = self._workers()
        self._log.info("workers_ending", within_s=self._service.grace_s)
        for worker in workers:
            worker.dismiss()
        deadline = time.monotonic() + self._service.grace_s + OVERDUE_S
        for worker in workers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.popen.wait(max(0.0, deadline - time.monotonic()))
            self._kill(worker, tr("it did not end"))
        with contextlib.suppress(StudioError):  # harmless: their leases will expire
            dead = [*self._supervisor.dead, *(worker.order.owner for worker in workers)]
            recover(self._database, self._service.attempts, dead)
        self._database.close()
        if self._owns_cores:
            self._cores.close()

    # ---- supervision

    def _watch(self) -> None:
        """Supervise the workers in a loop; no single failure ends it."""
        self._try(self._find_the_dead)
        while not self._stopping.is_set():
            self._try(self._look)
            if self._woken.wait(_LOOK_S):
                self._woken.clear()
                for worker in self._workers():
                    worker.send(WAKE)

    def _try(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception as trouble:  # noqa: BLE001 - the thread must live on
            self._supervisor.leases.hold_off()
            self._trouble.met(trouble)
        else:
            self._trouble.over()

    def _find_the_dead(self) -> None:
        self._supervisor.dead += dead_owners(self._database)

    def _look(self) -> None:
        if not self._settings.data.is_dir():  # a worker would end at once
            raise Unavailable(VANISHED, LONGEST_BACKOFF_S, "storage_unreachable")
        self._bury()
        for name, lane in self._lanes.items():
            while lane.lacks_lasting:
                self._start(name, 0.0)
        self._supervisor.leases.notice_sleep()
        if self._supervisor.look(lambda: {worker.order.owner: worker.order.lane for worker in self._workers()}):
            remove_abandoned(self._database, self._settings.work)
        for name, lane in self._lanes.items():
            if not lane.has_room or lane.has_patience(bool(waiting(self._database, QUEUES[name], most=1))):
                continue
            if not self._has_idle(lane):
                self._start(name, lane.idle_s)
                lane.waiting_since = None

    # ---- workers

    def _workers(self) -> list[OrderedProcess]:
        return [worker for lane in self._lanes.values() for worker in tuple(lane.workers)]

    def _bury(self) -> None:
        for name, lane in self._lanes.items():
            for worker in [one for one in lane.workers if one.popen.poll() is not None]:
                lane.workers.remove(worker)
                worker.dismiss()
                self._cores.leave(worker.order.place)
                self._supervisor.dead.append(worker.order.owner)
                if worker.order.idle_s and worker.popen.returncode == 0:
                    continue  # it was idle
                self._restarts += 1
                lane.backoff.failed(worker.lasted_s)
                self._log.warning("worker_died", lane=name, pid=worker.popen.pid, status=worker.popen.returncode)

    def _has_idle(self, lane: _Lane) -> bool:
        """Return whether an idle worker will take a queued task."""
        busy = {owner for owner, *_ in signs_of(self._database, [worker.order.owner for worker in lane.workers])}
        return any(worker.order.owner not in busy for worker in lane.workers)

    def _start(self, name: str, idle_s: float) -> None:
        lane = self._lanes[name]
        threads = self._service.threads or usable_cores()
        taken = {worker.order.number for worker in lane.workers}
        number = next(number for number in itertools.count() if number not in taken)
        place = self._cores.enter()
        order = Order(
            str(self._settings.data), self._service, name, "", threads, idle_s, number, str(self._cores.path), place
        )
        environment = environment_of(threads) | installation_of(self._settings, self._service).as_environment()
        worker = start_process(self._command, order, environment)
        lane.workers.append(worker)
        self._log.info("worker_started", lane=name, pid=worker.popen.pid)

    def _end(self, owner: str, reason: str) -> None:
        """Kill the worker with this id, and count it as dead."""
        for worker in self._workers():
            if worker.order.owner == owner:
                self._kill(worker, reason)
        self._bury()

    def _kill(self, worker: OrderedProcess, reason: str) -> None:
        if worker.popen.poll() is None:
            self._log.warning("worker_killed", lane=worker.order.lane, pid=worker.popen.pid, reason=reason)
            worker.popen.kill()
            worker.popen.wait()
