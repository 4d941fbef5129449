"""Claim and carry out a task on a node of the Ray cluster, like a local worker; Ray reuses the process.
Ray's cancel arrives as SIGINT, and means: take no new task; finish or requeue the running one."""

import functools
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import structlog

from engine.cores import prepare_torch
from engine.texts import tr
from studio.errors import StudioError
from studio.executors.heartbeat import Stopping
from studio.executors.job import WorkerContext
from studio.executors.recovery import remove_abandoned
from studio.executors.voice_cache import VoiceCache
from studio.executors.work import run_task
from studio.executors.worker import DISTURBED, Order, load_what_is_needed
from studio.settings.environment import Settings, load_service_settings, load_settings
from studio.settings.logs import start_logs
from studio.settings.service import ServiceSettings
from studio.store import tasks
from studio.store.database import database_url, open_database
from studio.store.kinds import QUEUES
from studio.store.storage import open_storage
from studio.tracing import send_spans, start_tracing

NOTHING, TROUBLE = "nothing", "trouble"
PACKAGE = "timbre-studio"


def carry_out(order: Order) -> tuple[str, str]:
    """Claim the next task of the lane and carry it out; return the outcome (see `run_task`), or NOTHING if there was no
    task, or TROUBLE that prevented the claim, with its text."""
    os.umask(0o077)
    stopping = Stopping(order.service.grace_s)
    with _obeying(stopping):
        try:
            refuse_other_version(order.version)
            context = replace(_context(order.data, order.service), stopping=stopping, threads=order.threads)
            load_what_is_needed(order.lane, order.threads)
            task = None
            if not stopping.asked:
                task = tasks.claim(context.database, order.owner, QUEUES[order.lane], context.service.lease_s)
        except StudioError as trouble:  # as text: the error may not be picklable
            return TROUBLE, str(trouble)
        if task is None:
            return NOTHING, ""
        outcome = run_task(context, task)
        send_spans()  # Ray kills its processes
    if outcome == "broken":
        os._exit(DISTURBED)  # Ray starts a new process
    return outcome, task.id


@functools.cache
def _context(data: str, given: ServiceSettings) -> WorkerContext:
    """Create the process's context, once."""
    prepare_torch()  # before anything brings torch
    start_logs(level=given.log_level)
    start_tracing()
    settings = Settings(Path(data)) if data else load_settings()
    # a node may use other addresses for database and storage than the service
    own = load_service_settings()
    given = replace(
        given, database_url=own.database_url or given.database_url, storage_url=own.storage_url or given.storage_url
    )
    database = open_database(database_url(given.database_url, settings.data))
    storage = open_storage(given.storage_url, settings.data)
    remove_abandoned(database, settings.work)
    log = structlog.get_logger("studio.worker").bind(node=os.uname().nodename, pid=os.getpid())
    return WorkerContext(settings, given, database, storage, VoiceCache(), Stopping(given.grace_s), log)


@contextmanager
def _obeying(stopping: Stopping) -> Iterator[None]:
    """Treat SIGINT as a request to stop during the block, and ignore it afterwards."""

    def stop(number: int, frame: object) -> None:
        stopping.ask()

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, lambda number, frame: None)


def refuse_other_version(wanted: str) -> None:
    """Raise StudioError if this node has a different version of the program than the service."""
    here = version(PACKAGE)
    if here != wanted:
        raise StudioError(
            tr(
                "{nodename} has Timbre Studio {here}, but the service has {wanted}.",
                nodename=os.uname().nodename,
                here=here,
                wanted=wanted,
            ),
            "version",
        )
