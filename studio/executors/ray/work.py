"""What runs on a node of the Ray cluster: a task is claimed and carried out, as a worker of this machine does it.

Ray keeps the process for the next task, and with it whatever is loaded: the base, the voices that were used last, and
the connections to the database. What is asked of it through Ray's cancel comes as SIGINT, and means: take up nothing
new; finish, or give back, what is begun.
"""

import functools
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import structlog

from studio.errors import StudioError
from studio.executors.heartbeat import Stopping
from studio.executors.job import Workbench
from studio.executors.recovery import remove_abandoned
from studio.executors.voice_cache import VoiceCache
from studio.executors.work import run_task
from studio.executors.worker import DISTURBED, LANES, load_what_is_needed
from studio.settings.environment import Settings, load_service_settings, load_settings
from studio.settings.logs import start_logs
from studio.settings.service import ServiceSettings
from studio.store import tasks
from studio.store.database import database_url, open_database
from studio.store.storage import open_storage

NOTHING, TROUBLE = "nothing", "trouble"
PACKAGE = "timbre-studio"


@dataclass(frozen=True)
class RayOrder:
    """The order of a Ray task. data: the folder to work in; empty: the node's own."""

    data: str
    service: dict[str, Any]
    lane: str
    owner: str
    threads: int
    version: str


def carry_out(order: RayOrder) -> tuple[str, str]:
    """Claim the next task of the lane and carry it out; how that ended (see `run_task`), or that there was NOTHING to
    do, or TROUBLE that kept it from claiming one, and what it was."""
    stopping = Stopping(order.service["grace_s"])
    with _obeying(stopping):
        try:
            refuse_other_version(order.version)
            bench = replace(_bench(order.data, json.dumps(order.service)), stopping=stopping)
            load_what_is_needed(order.lane, order.threads)
            task = None
            if not stopping.asked:
                task = tasks.claim(bench.database, order.owner, LANES[order.lane], bench.service.lease_s)
        except StudioError as trouble:  # in words: it may not be possible to send the error itself
            return TROUBLE, str(trouble)
        if task is None:
            return NOTHING, ""
        outcome = run_task(bench, task)
    if outcome == "broken":
        os._exit(DISTURBED)  # Ray begins another process
    return outcome, task.id


@functools.cache
def _bench(data: str, service: str) -> Workbench:
    """What this process works with, made once."""
    # before torch is loaded, which reads it then: threads that wait by turning round and round take the processor
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    start_logs()
    given = ServiceSettings(**json.loads(service))
    settings = Settings(Path(data)) if data else load_settings()
    # a node may reach database and storage by other addresses than the service does
    own = load_service_settings()
    given = replace(
        given,
        database_url=own.database_url or given.database_url,
        storage_url=own.storage_url or given.storage_url,
    )
    database = open_database(database_url(given.database_url, settings.data))
    storage = open_storage(given.storage_url, settings.data)
    remove_abandoned(database, settings.work)
    log = structlog.get_logger("studio.worker").bind(node=os.uname().nodename, pid=os.getpid())
    return Workbench(settings, given, database, storage, VoiceCache(), Stopping(given.grace_s), log)


@contextmanager
def _obeying(stopping: Stopping) -> Iterator[None]:
    """Meanwhile SIGINT asks to stop, and afterwards means nothing: it was for a task that is over."""

    def stop(number: int, frame: object) -> None:
        stopping.ask()

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, lambda number, frame: None)


def refuse_other_version(wanted: str) -> None:
    """Raises StudioError where this node has another version of the program than the service."""
    here = version(PACKAGE)
    if here != wanted:
        raise StudioError(f"{os.uname().nodename} has Timbre Studio {here}, and the service is {wanted}.", "version")
