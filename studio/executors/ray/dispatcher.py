"""The dispatcher does for a Ray cluster what `studio.executors.local` does for the processes of one machine.
A worker is a Ray task that claims the next task of the queue once it runs, so priorities hold until then. The
dispatcher may die at any moment: its whole state is in the database. Orders come on stdin, as a worker's; whenever
the state of the cluster changes, it is written to stdout as a line of JSON."""

import contextlib
import io
import json
import os
import secrets
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import structlog
from sqlalchemy import and_, delete, or_, select
from structlog.typing import FilteringBoundLogger

from engine.texts import tr
from studio.errors import StudioError
from studio.executors.lasting_failure import LastingFailure
from studio.executors.ray.cluster import LOST, WITHDRAWN, RayCluster
from studio.executors.ray.work import NOTHING, TROUBLE
from studio.executors.recovery import recover, signs_of, waiting
from studio.executors.retries import Backoff
from studio.executors.supervisor import Supervisor, keep_house
from studio.executors.worker import OVERDUE_S, obey, read_order
from studio.settings.environment import Settings
from studio.settings.logs import start_logs
from studio.settings.service import ServiceSettings
from studio.store.database import Database, Now, database_url, insert_into, open_database
from studio.store.kinds import LANES, QUEUES
from studio.store.tables import leader_locks

LOCK = "dispatch"
MOST_WAITING = 1000  # waiting workers of a lane: enough to fill the places freed between checks
_HELD_S, _RENEW_S = 10.0, 2.0  # the leader lock
_LOOK_S = 0.25
_SIZE_S = 5.0  # between checks of the cluster's size
_PAUSE_S = 1.0  # of a lane whose workers found no task, for instance if a voice is already in training
_FIRST_BACKOFF_S = 0.5
_FIRST_SWEEP_S = 60.0


@dataclass
class _Lane:
    """Workers of one kind, by the id they claim tasks with, and the earliest time to place more."""

    workers: set[str] = field(default_factory=set)
    backoff: Backoff = field(default_factory=lambda: Backoff(_FIRST_BACKOFF_S))


def acquire_lock(database: Database, name: str, owner: str, held_s: float, status: Mapping[str, float]) -> bool:
    """Acquire a lock, or renew it, for `held_s` seconds; returns whether `owner` holds it. One process of an
    installation does; if it fails to renew it, another takes over. Raises Unavailable."""
    values = {"owner": owner, "until": Now() + held_s, "said": dict(status)}
    with database.write() as connection:
        acquiring = (
            insert_into(connection, leader_locks)
            .values(name=name, **values)
            .on_conflict_do_update(
                index_elements=[leader_locks.c.name],
                set_=values,
                where=or_(leader_locks.c.owner == owner, leader_locks.c.until < Now()),
            )
            .returning(leader_locks.c.owner)
        )
        return connection.execute(acquiring).scalar_one_or_none() == owner


def release_lock(database: Database, name: str, owner: str) -> None:
    """Release a lock, if `owner` holds it. Raises Unavailable."""
    with database.write() as connection:
        held = and_(leader_locks.c.name == name, leader_locks.c.owner == owner)
        connection.execute(delete(leader_locks).where(held))


def read_status(database: Database, name: str) -> dict[str, float]:
    """Return the leader's status; empty without a leader. Raises Unavailable."""
    written = select(leader_locks.c.said).where(leader_locks.c.name == name, leader_locks.c.until >= Now())
    with database.read() as connection:
        status: dict[str, float] | None = connection.scalar(written)
    return status or {}


class Dispatcher:
    """Dispatches while it leads: call `look` repeatedly, then `end`."""

    def __init__(
        self, service: ServiceSettings, database: Database, cluster: RayCluster, log: FilteringBoundLogger, owner: str
    ) -> None:
        self._service, self._database, self._cluster, self._log, self._owner = service, database, cluster, log, owner
        self.leads = False
        self._name = f"ray/{secrets.token_hex(8)}"
        self._number = 0
        self._lanes = {name: _Lane() for name in LANES}
        self._supervisor = Supervisor(database, service.attempts, log, self._kill)
        self._killed: set[str] = set()
        self._connected = False
        self._connecting = Backoff(_FIRST_BACKOFF_S)
        self._renew_at = self._size_at = 0.0
        self._size: dict[str, float] = {}

    @property
    def _placed(self) -> int:
        return sum(len(lane.workers) for lane in self._lanes.values())

    def look(self) -> None:
        """Check everything once. Raises StudioError if the database is unreachable."""
        now = time.monotonic()
        self._supervisor.leases.notice_sleep()
        if now >= self._renew_at:
            status = {**self._size, "placed": self._placed}
            self.leads = acquire_lock(self._database, LOCK, self._owner, _HELD_S, status)
            self._renew_at = now + _RENEW_S
        if not self._connected:
            if not self.leads or not self._connecting.is_over:
                return
            self._connect()
        self._receive()
        self._supervisor.look(lambda: {owner: name for name, lane in self._lanes.items() for owner in lane.workers})
        if self.leads:
            for name in self._lanes:
                self._dispatch(name)
        if now >= self._size_at:
            self._size, self._size_at = self._cluster.size(), now + _SIZE_S

    def hold_off(self) -> None:
        """Let leases be renewed first, after the database was unreachable."""
        self._supervisor.leases.hold_off()

    def status(self) -> dict[str, float]:
        """Return the state of the cluster as the leader reports it. Raises Unavailable."""
        known = {**self._size, "placed": self._placed} if self.leads else read_status(self._database, LOCK)
        return {**known, "leads": float(self.leads)}

    def end(self) -> None:
        """Let workers finish or requeue their tasks within the grace period, and leave the cluster."""
        if self._connected:
            deadline = time.monotonic() + self._service.grace_s + OVERDUE_S
            owners = [owner for lane in self._lanes.values() for owner in lane.workers]
            self._cluster.ask_to_stop(owners)
            while self._placed and time.monotonic() < deadline:
                time.sleep(_LOOK_S)
                self._receive()
            for lane in self._lanes.values():
                for owner in lane.workers:
                    self._cluster.kill(owner)
            with contextlib.suppress(StudioError):  # harmless: their leases will expire
                recover(self._database, self._service.attempts, [*self._supervisor.dead, *owners])
        with contextlib.suppress(StudioError):
            release_lock(self._database, LOCK, self._owner)
        if self._connected:
            self._cluster.leave()

    # ---- the cluster

    def _connect(self) -> None:
        try:
            self._cluster.connect()
        except Exception as cause:  # Ray raises many kinds
            self._connecting.failed()
            release_lock(self._database, LOCK, self._owner)  # another process may succeed
            self.leads, self._renew_at = False, self._connecting.not_before
            raise StudioError(
                tr(
                    "Ray at {ray_address}: {cause}",
                    ray_address=self._service.ray_address or tr("this machine"),
                    cause=cause,
                ),
                "ray",
            ) from cause
        self._connected = True
        self._connecting.succeeded()
        self._log.info("ray_joined", address=self._service.ray_address or tr("this machine"))

    def _receive(self) -> None:
        """Receive the outcomes of workers, and requeue the tasks of lost ones."""
        for owner, (outcome, text) in self._cluster.ended().items():
            name, lane = next((name, lane) for name, lane in self._lanes.items() if owner in lane.workers)
            lane.workers.discard(owner)
            self._killed.discard(owner)
            if outcome in (LOST, TROUBLE):
                self._log.warning("worker_lost", lane=name, owner=owner, outcome=outcome, reason=text)
                self._supervisor.dead.append(owner)
                lane.backoff.failed()
            elif outcome == NOTHING:
                lane.backoff.pause(_PAUSE_S)
            elif outcome == WITHDRAWN:
                self._supervisor.dead.append(owner)
            else:
                lane.backoff.succeeded()

    def _dispatch(self, name: str) -> None:
        """Place a worker for each queued task, less those already waiting for a place."""
        lane = self._lanes[name]
        if not lane.backoff.is_over:
            return
        ready = waiting(self._database, QUEUES[name], MOST_WAITING)
        if not ready:
            return
        busy = {owner for owner, *_ in signs_of(self._database, sorted(lane.workers))}
        wanted = ready - len(lane.workers - busy)
        if name == "trainings":
            wanted = min(wanted, self._service.ray_trainings - len(lane.workers))
        for _ in range(wanted):
            self._number += 1
            owner = f"{self._name}/{self._number}"
            lane.workers.add(owner)
            self._cluster.place(name, owner)

    def _kill(self, owner: str, reason: str) -> None:
        if owner not in self._killed:
            self._killed.add(owner)
            self._log.warning("worker_killed", owner=owner, reason=reason)
            self._cluster.kill(owner)


def main() -> int:
    """Dispatch until asked to stop; returns the exit status. stdin and stdout: see the top of the module."""
    orders = io.FileIO(sys.stdin.fileno(), closefd=False)
    order = read_order(orders.readline())
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # keeps Ray's prints out of the answers
    service, settings = order.service, Settings(Path(order.data))
    stopping, woken = threading.Event(), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # the service closes stdin when it stops
    threading.Thread(target=obey, args=(orders, woken, stopping.set), name="orders", daemon=True).start()
    start_logs(level=service.log_level)
    log: FilteringBoundLogger = structlog.get_logger("studio.dispatcher")
    database = open_database(database_url(service.database_url, settings.data), create=False)
    dispatcher = Dispatcher(service, database, RayCluster(settings, service), log, order.owner)
    house = partial(keep_house, stopping, _FIRST_SWEEP_S, database, settings, service, log, lambda: dispatcher.leads)
    threading.Thread(target=house, name="housekeeping", daemon=True).start()
    try:
        _go_on(dispatcher, answers, stopping, woken, log)
        dispatcher.end()
    finally:
        database.close()
    return 0


def _go_on(
    dispatcher: Dispatcher,
    answers: io.TextIOBase,
    stopping: threading.Event,
    woken: threading.Event,
    log: FilteringBoundLogger,
) -> None:
    written: Mapping[str, float] = {}
    trouble = LastingFailure(log, "not_dispatched")
    while not stopping.is_set():
        try:
            dispatcher.look()
            if (status := dispatcher.status()) != written:
                written = status
                with contextlib.suppress(OSError):
                    answers.write(json.dumps(status) + "\n")
                    answers.flush()
        except Exception as error:  # noqa: BLE001 - the next round may succeed
            dispatcher.hold_off()
            trouble.met(error)
        else:
            trouble.over()
        if woken.wait(_LOOK_S):
            woken.clear()


if __name__ == "__main__":
    sys.exit(main())
