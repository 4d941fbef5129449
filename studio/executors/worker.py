"""A worker: a process that claims tasks of its lane and carries them out in turn.
Its order is a line of JSON on stdin, since every process could read a password among the arguments. Then each line
"wake" makes it look for tasks at once; "stop", or the end of stdin, stops it. So it never outlives its server."""

import contextlib
import importlib
import io
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

import structlog
from structlog.typing import FilteringBoundLogger

from studio.errors import StudioError
from studio.executors.core_shares import CONVERSIONS, TRAININGS, CoreShare
from studio.executors.heartbeat import Stopping
from studio.executors.job import WorkerContext
from studio.executors.lasting_failure import LastingFailure
from studio.executors.voice_cache import VoiceCache
from studio.executors.work import run_task
from studio.settings.environment import Settings
from studio.settings.logs import start_logs
from studio.settings.service import ServiceSettings
from studio.store import tasks
from studio.store.database import Database, database_url, open_database
from studio.store.kinds import LANES, QUEUES
from studio.store.storage import open_storage
from studio.tracing import start_tracing

WAKE, STOP = b"wake\n", b"stop\n"
DISTURBED = 3  # exit status of a worker that asks to be replaced by a fresh one
OVERDUE_S = 15.0  # after the grace period, a hanging worker exits
_POLL_S = 0.5
_TROUBLE_S = 2.0  # before the next attempt after a database failure


@dataclass(frozen=True)
class Order:
    """The order of a worker. cores: the file of shares of cores, if there is one, and its `place` there.
    idle_s: it exits after so long without a task; 0: never. number: its index within its lane. data: the folder, empty
    for a node's own; version: of the program that a node must have, too."""

    data: str
    service: ServiceSettings
    lane: str
    owner: str
    threads: int
    idle_s: float = 0.0
    number: int = 0
    cores: str = ""
    place: int = 0
    version: str = ""

    def as_line(self) -> str:
        return json.dumps(asdict(self)) + "\n"


def read_order(line: str | bytes) -> Order:
    """Parse an order from a line of JSON. Raises ValueError, TypeError or KeyError if invalid."""
    given = json.loads(line)
    return Order(**{**given, "service": ServiceSettings(**given["service"])})


def main() -> int:
    """Work until asked to stop; returns the exit status. stdin: see the top of the module."""
    orders = io.FileIO(sys.stdin.fileno(), closefd=False)  # unbuffered: a buffer's lock would be held at exit
    order = read_order(orders.readline())
    service = order.service
    stopping, woken = Stopping(service.grace_s), threading.Event()
    _obey_signals(stopping, woken)
    threading.Thread(target=_listen, args=(orders, stopping, woken), name="orders", daemon=True).start()
    start_logs(level=service.log_level)
    start_tracing()
    log: FilteringBoundLogger = structlog.get_logger("studio.worker").bind(
        lane=order.lane, worker=order.owner.rpartition("/")[2]
    )
    settings = Settings(Path(order.data))
    database = open_database(database_url(service.database_url, settings.data), create=False)
    try:
        _prepare(order)
        storage = open_storage(service.storage_url, settings.data, create=False)
        share = _share(order)
        voices, threads = VoiceCache(), share.threads if share else order.threads
        context = WorkerContext(settings, service, database, storage, voices, stopping, log, order.number, threads)
        return _work(context, order, woken, share.at_work if share else contextlib.nullcontext)
    except StudioError as trouble:  # before the first task
        log.warning("worker_ended", reason=str(trouble))
        return DISTURBED
    finally:
        database.close()


def _share(order: Order) -> CoreShare | None:
    """Return the share of this machine's cores, if other processes have some, too."""
    if not order.cores:
        return None
    kind = TRAININGS if LANES[order.lane].yields else CONVERSIONS
    return CoreShare(Path(order.cores), order.place, kind, order.service.threads)


def _work(
    context: WorkerContext, order: Order, woken: threading.Event, at_work: Callable[[], AbstractContextManager[None]]
) -> int:
    """Claim and carry out tasks until asked to stop. at_work: around each task."""
    idle_since = time.monotonic()
    trouble = LastingFailure(context.log, "claim_failed")
    while not context.stopping.asked:
        woken.clear()  # before the query: later wake-ups are seen next time
        task = _claimed(context.database, order, context.service.lease_s, trouble)
        if task is None:
            if order.idle_s and time.monotonic() - idle_since > order.idle_s:
                return 0
            woken.wait(_POLL_S)
            continue
        with at_work():
            outcome = run_task(context, task)
        if outcome == "broken":
            return DISTURBED
        idle_since = time.monotonic()
    return 0


def _claimed(database: Database, order: Order, lease_s: float, trouble: LastingFailure) -> tasks.Task | None:
    try:
        task = tasks.claim(database, order.owner, QUEUES[order.lane], lease_s)
    except StudioError as error:
        trouble.met(error)
        time.sleep(_TROUBLE_S)
        return None
    trouble.over()
    return task


def _prepare(order: Order) -> None:
    """Lower the priority below that of the server, and load what every task needs."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(LANES[order.lane].niceness)
    load_what_is_needed(order.lane, order.threads)


def load_what_is_needed(lane: str, threads: int) -> None:
    """Load what every task of a lane needs, unless loaded."""
    if LANES[lane].needs_networks:
        import torch

        from engine.networks.base import load_base

        torch.set_num_threads(threads)
        load_base()
    for name in LANES[lane].loads:
        importlib.import_module(name)


def obey(lines: Iterable[bytes], woken: threading.Event, stop: Callable[[], None]) -> None:
    """Wake with each line on stdin, until it ends or a line says to stop."""
    with contextlib.suppress(OSError, ValueError):
        for line in lines:
            if line == STOP:
                break
            woken.set()
    stop()
    woken.set()


def _listen(lines: Iterable[bytes], stopping: Stopping, woken: threading.Event) -> None:
    """Obey stdin until it ends, and make sure that the process then exits."""
    obey(lines, woken, stopping.ask)
    while not stopping.is_over(OVERDUE_S):
        time.sleep(0.2)
    os._exit(DISTURBED)  # it hangs; its task's lease will expire


def _obey_signals(stopping: Stopping, woken: threading.Event) -> None:
    def stop(number: int, frame: object) -> None:
        stopping.ask()
        woken.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal; the server decides


if __name__ == "__main__":
    sys.exit(main())
