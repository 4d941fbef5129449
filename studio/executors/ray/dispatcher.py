"""The dispatcher: places the tasks of the queue on a Ray cluster, and looks after those that are being worked on.

It is to the cluster what `studio.executors.local` is to the processes of one machine. What it places is not a certain
task but a hand: a Ray task that claims the next one when it has got its place, so that priorities hold until then and
nothing is claimed before somebody can begin it. It gives back the tasks of those that are lost, ends those that hang,
and can die itself at any moment: the truth is in the database.

Started as a worker is, with its order as a line of JSON on stdin; "wake" makes it look at once, the end of stdin ends
it. On stdout it says how the cluster is, a line of JSON whenever that has changed.
"""

import contextlib
import io
import json
import os
import secrets
import signal
import sys
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

import structlog
from structlog.typing import FilteringBoundLogger

from studio.errors import StudioError
from studio.executors import leader_lock
from studio.executors.housekeeping import sweep
from studio.executors.lease_watch import LeaseWatch
from studio.executors.ray.cluster import LOST, WITHDRAWN, RayCluster
from studio.executors.ray.work import NOTHING, TROUBLE
from studio.executors.recovery import recover, signs_of, waiting
from studio.executors.worker import LANES, OVERDUE_S, STOP, read_order
from studio.settings.environment import Settings
from studio.settings.logs import start_logs
from studio.settings.service import ServiceSettings
from studio.store.database import Database, database_url, open_database
from studio.store.storage import open_storage

DUTY = "dispatch"
MOST_WAITING = 1000  # hands of a lane that wait for a place: enough for what ends between two looks
_HELD_S, _RENEW_S = 10.0, 2.0  # the duty
_LOOK_S = 0.25
_RECOVER_S = 2.0
_SIZE_S = 5.0  # between two looks at how large the cluster is
_PAUSE_S = 1.0  # of a lane whose hands found nothing to do, as where a voice waits for its other training
_CANCEL_PATIENCE_S = {"conversions": 10.0, "analyses": 10.0, "trainings": 30.0}
_FIRST_BACKOFF_S, _LONGEST_BACKOFF_S = 0.5, 30.0
_FIRST_SWEEP_S, _SWEEP_S = 60.0, 3600.0


class Cluster(Protocol):
    """See `RayCluster`."""

    def connect(self) -> None: ...
    def place(self, lane: str, owner: str) -> None: ...
    def ended(self) -> dict[str, tuple[str, str]]: ...
    def ask_to_stop(self, owners: Collection[str]) -> None: ...
    def kill(self, owner: str) -> None: ...
    def size(self) -> dict[str, float]: ...
    def leave(self) -> None: ...


@dataclass
class _Lane:
    """Hands of one kind, by the name they claim under, and when more may be placed."""

    hands: set[str] = field(default_factory=set)
    failures: int = 0
    not_before: float = 0.0

    def failed(self) -> None:
        """One came to nothing: the oftener that happens without a success, the longer it takes until the next."""
        self.failures += 1
        self.not_before = time.monotonic() + min(_LONGEST_BACKOFF_S, _FIRST_BACKOFF_S * 2 ** min(self.failures, 10))


class Dispatcher:
    """Does the duty, while it has it, by `look` after `look`; `end` at the end."""

    def __init__(
        self,
        service: ServiceSettings,
        database: Database,
        cluster: Cluster,
        log: FilteringBoundLogger,
        owner: str,
    ) -> None:
        self._service, self._database, self._cluster, self._log, self._owner = service, database, cluster, log, owner
        self.leads = False
        self._name = f"ray/{secrets.token_hex(8)}"
        self._number = 0
        self._lanes = {name: _Lane() for name in LANES}
        self._leases = LeaseWatch(database)
        self._dead: list[str] = []
        self._silent: set[str] = set()
        self._unwanted_since: dict[str, float] = {}
        self._killed: set[str] = set()
        self._connected = False
        self._failures = 0
        self._renew_at = self._recover_at = self._size_at = self._connect_at = 0.0
        self._size: dict[str, float] = {}

    @property
    def _placed(self) -> int:
        return sum(len(lane.hands) for lane in self._lanes.values())

    def look(self) -> None:
        """Look at everything once. Raises StudioError where the database cannot be reached."""
        now = time.monotonic()
        self._leases.notice_sleep()
        if now >= self._renew_at:
            said = {**self._size, "placed": self._placed}
            self.leads = leader_lock.take(self._database, DUTY, self._owner, _HELD_S, said)
            self._renew_at = now + _RENEW_S
        if not self._connected:
            if not self.leads or now < self._connect_at:
                return
            self._connect()
        self._hear()
        if self._dead or now >= self._recover_at:
            self._recover_at = now + _RECOVER_S
            self._leases.notice_a_busy_database()
            self._end_hanging()
            self._recover()
        if self.leads:
            for name in self._lanes:
                self._dispatch(name)
        if now >= self._size_at:
            self._size, self._size_at = self._cluster.size(), now + _SIZE_S

    def hold_off(self) -> None:
        """The database could not be reached: nobody could renew a lease."""
        self._leases.hold_off()

    def said(self) -> dict[str, float]:
        """How the cluster is, as whoever is on duty knows it. Raises Unavailable."""
        known = {**self._size, "placed": self._placed} if self.leads else leader_lock.last_said(self._database, DUTY)
        return {**known, "leads": float(self.leads)}

    def end(self) -> None:
        """Let all finish within the time of grace, or give back, what they are busy with, and leave the cluster."""
        if self._connected:
            deadline = time.monotonic() + self._service.grace_s + OVERDUE_S
            owners = [owner for lane in self._lanes.values() for owner in lane.hands]
            self._cluster.ask_to_stop(owners)
            while self._placed and time.monotonic() < deadline:
                time.sleep(_LOOK_S)
                self._hear()
            for lane in self._lanes.values():
                for owner in lane.hands:
                    self._cluster.kill(owner)
            with contextlib.suppress(StudioError):  # nothing lost without it: their leases will be over
                recover(self._database, self._service.attempts, [*self._dead, *owners])
        with contextlib.suppress(StudioError):
            leader_lock.lay_down(self._database, DUTY, self._owner)
        if self._connected:
            self._cluster.leave()

    # ---- the cluster

    def _connect(self) -> None:
        try:
            self._cluster.connect()
        except Exception as cause:  # of whatever kind Ray raises
            self._failures += 1
            pause_s = min(_LONGEST_BACKOFF_S, _FIRST_BACKOFF_S * 2**self._failures)
            self._connect_at = time.monotonic() + pause_s
            leader_lock.lay_down(self._database, DUTY, self._owner)  # another may have more luck
            self.leads, self._renew_at = False, self._connect_at
            raise StudioError(f"Ray at {self._service.ray_address or 'this machine'}: {cause}", "ray") from cause
        self._connected, self._failures = True, 0
        self._log.info("ray_joined", address=self._service.ray_address or "this machine")

    def _hear(self) -> None:
        """Learn which hands are free, and which are lost with what they had in work."""
        for owner, (outcome, text) in self._cluster.ended().items():
            name, lane = next((name, lane) for name, lane in self._lanes.items() if owner in lane.hands)
            lane.hands.discard(owner)
            self._killed.discard(owner)
            if outcome in (LOST, TROUBLE):
                self._log.warning("hand_lost", lane=name, owner=owner, outcome=outcome, reason=text)
                self._dead.append(owner)
                lane.failed()
            elif outcome == NOTHING:
                lane.not_before = max(lane.not_before, time.monotonic() + _PAUSE_S)
            elif outcome == WITHDRAWN:
                self._dead.append(owner)
            else:
                lane.failures, lane.not_before = 0, 0.0

    def _dispatch(self, name: str) -> None:
        """Place as many hands as there are tasks that wait, beyond those that wait for a place already."""
        lane = self._lanes[name]
        if time.monotonic() < lane.not_before:
            return
        ready = waiting(self._database, LANES[name], MOST_WAITING)
        if not ready:
            return
        busy = {owner for owner, *_ in signs_of(self._database, sorted(lane.hands))}
        wanted = ready - len(lane.hands - busy)
        if name == "trainings":
            wanted = min(wanted, self._service.ray_trainings - len(lane.hands))
        for _ in range(wanted):
            self._number += 1
            owner = f"{self._name}/{self._number}"
            lane.hands.add(owner)
            self._cluster.place(name, owner)

    # ---- those who do not do as they should

    def _recover(self) -> None:
        if not self._leases.counts:
            return
        dead = list(self._dead)
        for task in recover(self._database, self._service.attempts, dead):
            self._log.warning("task_lost", task_id=task.id, kind=task.kind, state=task.state)
        del self._dead[: len(dead)]

    def _end_hanging(self) -> None:
        """End hands that do not stop although they are asked to, or do not renew their lease although they live."""
        lanes = {owner: name for name, lane in self._lanes.items() for owner in lane.hands}
        now, unwanted, silent = time.monotonic(), {}, set()
        for owner, task, is_unwanted, is_over in signs_of(self._database, sorted(lanes)):
            if is_unwanted:
                unwanted[task] = self._unwanted_since.get(task, now)
                if now - unwanted[task] > _CANCEL_PATIENCE_S[lanes[owner]]:
                    self._kill(owner, "its task was cancelled")
            if is_over:
                silent.add(owner)
                if owner in self._silent and self._leases.counts:
                    self._kill(owner, "it was not heard of")
        if silent - self._silent:  # one that lives may have been kept from renewing its lease: it gets another moment
            self._leases.hold_off()
        self._unwanted_since, self._silent = unwanted, silent

    def _kill(self, owner: str, reason: str) -> None:
        if owner not in self._killed:
            self._killed.add(owner)
            self._log.warning("hand_killed", owner=owner, reason=reason)
            self._cluster.kill(owner)


def main() -> int:
    """Dispatch until told to stop; the exit status. See the top of the module for what stdin and stdout say."""
    orders = io.FileIO(sys.stdin.fileno(), closefd=False)
    order = read_order(orders.readline())
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what Ray prints is no answer of ours
    service, settings = ServiceSettings(**order.service), Settings(Path(order.data))
    stopping, woken = threading.Event(), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # the service decides, which closes stdin when it ends
    threading.Thread(target=_listen, args=(orders, stopping, woken), name="orders", daemon=True).start()
    start_logs()
    log: FilteringBoundLogger = structlog.get_logger("studio.dispatcher")
    database = open_database(database_url(service.database_url, settings.data))
    dispatcher = Dispatcher(service, database, RayCluster(settings, service), log, order.owner)
    house = threading.Thread(
        target=_keep_house, args=(dispatcher, database, settings, service, stopping, log), daemon=True
    )  # fmt: skip
    house.start()
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
    told: Mapping[str, float] = {}
    while not stopping.is_set():
        try:
            dispatcher.look()
            if (said := dispatcher.said()) != told:
                told = said
                with contextlib.suppress(OSError):
                    answers.write(json.dumps(said) + "\n")
                    answers.flush()
        except StudioError as trouble:
            dispatcher.hold_off()
            log.warning("not_dispatched", reason=str(trouble))
        except Exception:
            dispatcher.hold_off()
            log.exception("not_dispatched")
        if woken.wait(_LOOK_S):
            woken.clear()


def _keep_house(
    dispatcher: Dispatcher,
    database: Database,
    settings: Settings,
    service: ServiceSettings,
    stopping: threading.Event,
    log: FilteringBoundLogger,
) -> None:
    pause_s = _FIRST_SWEEP_S
    while not stopping.wait(pause_s):
        pause_s = _SWEEP_S
        if not dispatcher.leads:
            continue
        try:
            swept = sweep(database, open_storage(service.storage_url, settings.data), service)
            log.info("swept", **{name: value for name, value in asdict(swept).items() if value})
        except StudioError as trouble:
            log.warning("sweep_failed", reason=str(trouble))
        except Exception:
            log.exception("sweep_failed")


def _listen(lines: Iterable[bytes], stopping: threading.Event, woken: threading.Event) -> None:
    """Do what stdin says until it ends."""
    with contextlib.suppress(OSError, ValueError):
        for line in lines:
            if line == STOP:
                break
            woken.set()
    stopping.set()
    woken.set()


if __name__ == "__main__":
    sys.exit(main())
