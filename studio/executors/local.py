"""The local executor: worker processes of this machine, watched by a thread of the server.

Workers are started as processes of their own, and told what to do on their stdin (see `studio.executors.worker`). The
thread replaces those that die, gives their tasks back at once, ends those that hang, and starts workers for trainings
and for analyses only while there are some. It needs nothing but the database, so it can die itself at any moment: the
next one finds what was left.
"""

import contextlib
import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from structlog.typing import FilteringBoundLogger

import studio
from studio.errors import StudioError
from studio.executors.housekeeping import sweep
from studio.executors.lease_watch import LeaseWatch
from studio.executors.recovery import dead_owners, recover, remove_abandoned, signs_of, waiting
from studio.executors.worker import LANES, OVERDUE_S, WAKE, Order
from studio.executors.worker_ids import owner_of
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store.database import Database, database_url, open_database
from studio.store.storage import open_storage

COMMAND = (sys.executable, "-P", "-m", "studio.executors.worker")
CONVERSIONS, TRAININGS, ANALYSES = "conversions", "trainings", "analyses"
_LOOK_S = 0.25  # between two looks at the workers
_RECOVER_S = 2.0  # between two looks for tasks of lost workers
_IDLE_S = {TRAININGS: 60.0, ANALYSES: 300.0}  # of the lanes that have workers only while there is work for them
_CANCEL_PATIENCE_S = {CONVERSIONS: 10.0, TRAININGS: 30.0, ANALYSES: 10.0}  # a training saves itself before it stops
_FIRST_BACKOFF_S, _LONGEST_BACKOFF_S = 0.25, 30.0  # until a worker that died at once is replaced
_HEALTHY_S = 30.0  # whoever lived so long did not die of its start
_SWEEP_S = 3600.0
_DEMO_SWEEP_S = 60.0
_FIRST_SWEEP_S = 5.0


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    lane: str
    owner: str
    number: int  # among those of its lane
    begun_at: float = field(default_factory=time.monotonic)

    def tell(self, line: bytes) -> None:
        """Say a line to the worker; one that does not listen misses it."""
        with contextlib.suppress(OSError, ValueError):
            if self.process.stdin:
                self.process.stdin.write(line)

    def dismiss(self) -> None:
        """Let it finish, or give back, what it is busy with, and end."""
        with contextlib.suppress(OSError):
            if self.process.stdin:
                self.process.stdin.close()


@dataclass
class _Lane:
    """The workers of one kind, and when the next may be started."""

    wanted: int
    workers: list[_Worker] = field(default_factory=list)
    failures: int = 0
    not_before: float = 0.0

    def lost(self, worker: _Worker) -> None:
        """One has died: the sooner it did, and the oftener that happens, the longer it takes until the next."""
        now = time.monotonic()
        self.failures = 1 if now - worker.begun_at > _HEALTHY_S else self.failures + 1
        self.not_before = now + min(_LONGEST_BACKOFF_S, _FIRST_BACKOFF_S * 2**self.failures)


class LocalExecutor:
    """Does the work of a service with processes of this machine, between `start` and `stop`."""

    def __init__(
        self,
        settings: Settings,
        service: ServiceSettings,
        log: FilteringBoundLogger,
        command: Sequence[str] = COMMAND,
    ) -> None:
        """command: what a worker is started with."""
        self._settings, self._service, self._log, self._command = settings, service, log, tuple(command)
        self._database: Database = open_database(database_url(service.database_url, settings.data))
        self._lanes = {
            CONVERSIONS: _Lane(service.conversion_workers),
            TRAININGS: _Lane(service.training_workers),
            ANALYSES: _Lane(service.analysis_workers),
        }
        self._woken, self._stopping = threading.Event(), threading.Event()
        self._restarts = 0
        self._dead: list[str] = []  # owners whose tasks are still to be given back
        self._recover_at = 0.0
        self._leases = LeaseWatch(self._database)
        self._unwanted_since: dict[str, float] = {}  # task -> when its cancellation was first seen
        self._silent: set[str] = set()  # owners that live, and whose lease was over at the last look
        self._threads = [
            threading.Thread(target=self._watch, name="workers", daemon=True),
            threading.Thread(target=self._keep_house, name="housekeeping", daemon=True),
        ]

    # ---- from outside

    def start(self) -> None:
        """Start the workers, and watch over them until `stop`."""
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """There is something to do: it is begun at once rather than at the next look."""
        self._woken.set()

    def alive(self) -> dict[str, float]:
        """How the workers do: `workers`, `training_workers` and `analysis_workers` that live, `restarts` of some that
        died, and whether they are `watched` over, 0 or 1."""
        living = {
            name: sum(worker.process.returncode is None for worker in tuple(lane.workers))
            for name, lane in self._lanes.items()
        }
        return {
            "workers": living[CONVERSIONS],
            "training_workers": living[TRAININGS],
            "analysis_workers": living[ANALYSES],
            "restarts": self._restarts,
            "watched": int(self._threads[0].is_alive()),
        }

    def stop(self) -> None:
        """End all workers; what they are busy with finishes within the time of grace, or goes back into the queue."""
        self._stopping.set()
        self._woken.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_LONGEST_BACKOFF_S)
        workers = self._workers()
        self._log.info("workers_ending", within_s=self._service.grace_s)
        for worker in workers:
            worker.dismiss()
        deadline = time.monotonic() + self._service.grace_s + OVERDUE_S
        for worker in workers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.process.wait(max(0.0, deadline - time.monotonic()))
            self._kill(worker, "it did not end")
        with contextlib.suppress(StudioError):  # nothing lost without it: their leases will be over
            recover(self._database, self._service.attempts, [*self._dead, *(worker.owner for worker in workers)])
        self._database.close()

    # ---- watching

    def _watch(self) -> None:
        """Look after the workers again and again; no trouble of one look ends it."""
        self._try(self._recover_what_was_left)
        while not self._stopping.is_set():
            self._try(self._look)
            if self._woken.wait(_LOOK_S):
                self._woken.clear()
                for worker in self._workers():
                    worker.tell(WAKE)

    def _try(self, step: Callable[[], None]) -> None:
        try:
            step()
        except StudioError as trouble:
            self._leases.hold_off()
            self._log.warning("workers_not_looked_after", reason=str(trouble))
        except Exception:
            self._leases.hold_off()
            self._log.exception("workers_not_looked_after")

    def _look(self) -> None:
        self._bury()
        self._start_missing()
        self._leases.notice_sleep()
        now = time.monotonic()
        if self._dead or now >= self._recover_at:
            self._recover_at = now + _RECOVER_S
            self._leases.notice_a_busy_database()
            self._end_hanging()
            self._recover()
        for lane in _IDLE_S:
            if waiting(self._database, LANES[lane]):
                self._start_one(lane)

    def _recover_what_was_left(self) -> None:
        self._dead += dead_owners(self._database)

    def _recover(self) -> None:
        """Give back the tasks of the dead at once, and of the silent once that is not the database's own fault."""
        if not self._leases.counts:
            return
        dead = list(self._dead)
        ended = recover(self._database, self._service.attempts, dead)
        del self._dead[: len(dead)]
        for task in ended:
            self._log.warning("task_lost", task_id=task.id, kind=task.kind, state=task.state)
        if dead:
            remove_abandoned(self._database, self._settings.work)

    # ---- workers

    def _workers(self) -> list[_Worker]:
        return [worker for lane in self._lanes.values() for worker in tuple(lane.workers)]

    def _bury(self) -> None:
        for name, lane in self._lanes.items():
            for worker in [one for one in lane.workers if one.process.poll() is not None]:
                lane.workers.remove(worker)
                worker.dismiss()
                self._dead.append(worker.owner)
                if name in _IDLE_S and worker.process.returncode == 0:
                    continue  # it had nothing to do
                self._restarts += 1
                lane.lost(worker)
                self._log.warning("worker_died", lane=name, pid=worker.process.pid, status=worker.process.returncode)

    def _start_missing(self) -> None:
        lane = self._lanes[CONVERSIONS]
        while len(lane.workers) < lane.wanted and time.monotonic() >= lane.not_before:
            lane.workers.append(self._started(CONVERSIONS, 0.0))

    def _start_one(self, name: str) -> None:
        lane = self._lanes[name]
        if len(lane.workers) < lane.wanted and time.monotonic() >= lane.not_before and not self._has_idle(lane):
            lane.workers.append(self._started(name, _IDLE_S[name]))

    def _has_idle(self, lane: _Lane) -> bool:
        """Whether one of them will take what waits."""
        busy = {owner for owner, *_ in signs_of(self._database, [worker.owner for worker in lane.workers])}
        return any(worker.owner not in busy for worker in lane.workers)

    def _started(self, lane: str, idle_s: float) -> _Worker:
        threads = self._service.threads or max(1, _cores() // max(1, self._lanes[lane].wanted))
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=environment_of(threads),
            bufsize=0,
        )
        assert process.stdin is not None
        taken = {one.number for one in self._lanes[lane].workers}
        number = next(number for number in itertools.count() if number not in taken)
        worker = _Worker(process, lane, owner_of(process.pid), number)
        order = Order(str(self._settings.data), asdict(self._service), lane, worker.owner, threads, idle_s, number)
        with contextlib.suppress(OSError, AttributeError):  # dead already, which is noticed at the next look
            process.stdin.write(order.as_line().encode())
            os.set_blocking(process.stdin.fileno(), False)  # a worker that does not listen must not hold us up
        self._log.info("worker_started", lane=lane, pid=process.pid)
        return worker

    def _end_hanging(self) -> None:
        """Kill workers that do not stop although they are asked to, or do not renew their lease although they live."""
        workers = {worker.owner: worker for worker in self._workers()}
        now = time.monotonic()
        unwanted, silent = {}, set()
        for owner, task, is_unwanted, is_over in signs_of(self._database, list(workers)):
            if is_unwanted:
                unwanted[task] = self._unwanted_since.get(task, now)
                if now - unwanted[task] > _CANCEL_PATIENCE_S[workers[owner].lane]:
                    self._kill(workers[owner], "its task was cancelled")
            if is_over:
                silent.add(owner)
                if owner in self._silent and self._leases.counts:
                    self._kill(workers[owner], "it was not heard of")
        if silent - self._silent:  # one that lives may have been kept from renewing its lease: it gets another moment
            self._leases.hold_off()
        self._unwanted_since, self._silent = unwanted, silent
        self._bury()

    def _kill(self, worker: _Worker, reason: str) -> None:
        if worker.process.poll() is None:
            self._log.warning("worker_killed", lane=worker.lane, pid=worker.process.pid, reason=reason)
            worker.process.kill()
            worker.process.wait()

    # ---- housekeeping

    def _keep_house(self) -> None:
        pause_s = _FIRST_SWEEP_S
        while not self._stopping.wait(pause_s):
            pause_s = _DEMO_SWEEP_S if self._service.is_demo else _SWEEP_S
            try:
                remove_abandoned(self._database, self._settings.work)
                storage = open_storage(self._service.storage_url, self._settings.data)
                swept = sweep(self._database, storage, self._service)
                self._log.info("swept", **{name: value for name, value in asdict(swept).items() if value})
            except StudioError as trouble:
                self._log.warning("sweep_failed", reason=str(trouble))
            except Exception:
                self._log.exception("sweep_failed")


def _cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment_of(threads: int) -> dict[str, str]:
    """A worker's environment: this process's, with this project on the path wherever it is, and numbers of threads."""
    home = str(Path(studio.__path__[0]).parent)
    path = os.pathsep.join(one for one in (home, os.environ.get("PYTHONPATH", "")) if one)
    numbers = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    # a thread that waits for another by turning round and round takes the processor from it: where others want to
    # compute too, conversions took five times as long
    waiting = {"OMP_WAIT_POLICY": "PASSIVE"}
    return {**waiting, **os.environ, "PYTHONPATH": path, **dict.fromkeys(numbers, str(threads))}
