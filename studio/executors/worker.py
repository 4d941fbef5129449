"""A worker: a process that claims tasks of its lane and carries them out, one after the other.

Started with its order as a line of JSON on stdin, so that no password stands among the arguments that every process of
the machine can read. Then each line "wake" makes it look for tasks at once, and "stop", or the end of stdin, ends it:
what it is busy with may finish within the time of grace, else it is given back to the queue. So a worker never outlives
the server that started it, however that ended.
"""

import contextlib
import io
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import structlog
from structlog.typing import FilteringBoundLogger

from studio.errors import StudioError
from studio.executors.heartbeat import Stopping
from studio.executors.job import Workbench
from studio.executors.voice_cache import VoiceCache
from studio.executors.work import run_task
from studio.settings.environment import Settings
from studio.settings.logs import start_logs
from studio.settings.service import ServiceSettings
from studio.store import tasks
from studio.store.database import Database, database_url, open_database
from studio.store.storage import open_storage

LANES = {
    "conversions": ("conversion", "report", "blend", "estimate", "checkup"),
    "trainings": ("training",),
    "analyses": ("analysis",),
}
WAKE, STOP = b"wake\n", b"stop\n"
DISTURBED = 3  # exit status of a worker that asks to be replaced by a fresh one
OVERDUE_S = 15.0  # after the time of grace, until a worker that hangs ends itself
# the server answers first, then those whose visitors wait for a picture or a take, then trainings
_NICENESS = {"conversions": 10, "analyses": 10, "trainings": 15}
_POLL_S = 0.5
_TROUBLE_S = 2.0  # until the next look after the database did not answer


@dataclass(frozen=True)
class Order:
    """The order a worker starts with. idle_s: it ends after so long without a task; 0 never. number: which of those of
    its lane it is."""

    data: str
    service: dict[str, Any]
    lane: str
    owner: str
    threads: int
    idle_s: float = 0.0
    number: int = 0

    def as_line(self) -> str:
        """The line that `read_order` reads."""
        return json.dumps(asdict(self)) + "\n"


def read_order(line: str | bytes) -> Order:
    """The order of a line of JSON. ValueError or TypeError for anything else."""
    return Order(**json.loads(line))


def main() -> int:
    """Work until asked to stop; returns the exit status. stdin: see the top of the module."""
    orders = io.FileIO(sys.stdin.fileno(), closefd=False)  # without a buffer, whose lock would be held at the end
    order = read_order(orders.readline())
    service = ServiceSettings(**order.service)
    stopping, woken = Stopping(service.grace_s), threading.Event()
    _obey_signals(stopping, woken)
    threading.Thread(target=_listen, args=(orders, stopping, woken), name="orders", daemon=True).start()
    start_logs()
    log: FilteringBoundLogger = structlog.get_logger("studio.worker").bind(
        lane=order.lane, worker=order.owner.rpartition("/")[2]
    )
    settings = Settings(Path(order.data))
    database = open_database(database_url(service.database_url, settings.data))
    try:
        _settle_down(order)
        storage = open_storage(service.storage_url, settings.data)
        bench = Workbench(settings, service, database, storage, VoiceCache(), stopping, log, order.number)
        return _work(bench, order, woken)
    finally:
        database.close()


def _work(bench: Workbench, order: Order, woken: threading.Event) -> int:
    """Claim and carry out tasks until the end."""
    idle_since = time.monotonic()
    while not bench.stopping.asked:
        woken.clear()  # before looking: what comes after is seen the next time
        task = _claimed(bench.database, order, bench.service.lease_s, bench.log)
        if task is None:
            if order.idle_s and time.monotonic() - idle_since > order.idle_s:
                return 0
            woken.wait(_POLL_S)
            continue
        if run_task(bench, task) == "broken":
            return DISTURBED
        idle_since = time.monotonic()
    return 0


def _claimed(database: Database, order: Order, lease_s: float, log: FilteringBoundLogger) -> tasks.Task | None:
    try:
        return tasks.claim(database, order.owner, LANES[order.lane], lease_s)
    except StudioError as trouble:
        log.warning("claim_failed", reason=str(trouble))
        time.sleep(_TROUBLE_S)
        return None


def _settle_down(order: Order) -> None:
    """Lower the priority below that of the server, and load what every task needs."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(_NICENESS[order.lane])
    load_what_is_needed(order.lane, order.threads)


def load_what_is_needed(lane: str, threads: int) -> None:
    """Load what every task of a lane needs; what is loaded already costs nothing."""
    if lane == "analyses":  # which need no networks of ours, and are waited for
        import engine.analysis.exploration

        return
    import torch

    from engine.networks.base import load_base

    torch.set_num_threads(threads)
    load_base()
    if lane == "conversions":
        import engine.conversion.convert
        import engine.evaluation.scores
    else:
        import engine.training.train  # noqa: F401


def _listen(lines: Iterable[bytes], stopping: Stopping, woken: threading.Event) -> None:
    """Do what stdin says until it ends, and see to it that the process ends then."""
    with contextlib.suppress(OSError, ValueError):
        for line in lines:
            if line == STOP:
                break
            woken.set()
    stopping.ask()
    woken.set()
    while not stopping.is_over(OVERDUE_S):
        time.sleep(0.2)
    os._exit(DISTURBED)  # it hangs in something that cannot be asked to stop; its task's lease will be over


def _obey_signals(stopping: Stopping, woken: threading.Event) -> None:
    def stop(number: int, frame: object) -> None:
        stopping.ask()
        woken.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal; the server decides


if __name__ == "__main__":
    sys.exit(main())
