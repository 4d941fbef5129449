"""Open the studio in this process, with the server's tables, whether or not a server is running.
Each task is claimed in the transaction that queues it, so that no worker takes it."""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, cast

from sqlalchemy import Connection

from engine.errors import Cancelled
from engine.progress import Report
from engine.texts import tr
from studio.commands.progress import progress_bar
from studio.errors import NotFound, StudioError, WrongState
from studio.executors.heartbeat import Stopping
from studio.executors.job import WorkerContext
from studio.executors.recovery import end_training, recover
from studio.executors.voice_cache import VoiceCache
from studio.executors.work import run_task
from studio.executors.worker_ids import owner_of
from studio.settings.environment import load_service_settings, load_settings
from studio.settings.service import ServiceSettings
from studio.store.studio import Studio, open_studio
from studio.store.tasks import Task, cancelled, claim_one, find, request_cancel

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

_LOOK_S = 0.25  # between checks of the task's progress
_LONGEST_STALL_MINUTES = 10_000.0  # a terminal may be suspended for days


# limits are there for others: who sits at the machine knows what it can do
_LIMITS = ("longest_audio_minutes", "largest_conversion_minutes", "conversions_per_account")


@contextmanager
def local_studio(limited: bool = True, threads: int | None = None) -> Iterator[Studio]:
    """Open this installation's studio during the block; limited: with the limits of the service.
    threads: cores that its tasks use here, by default as the environment says."""
    service = load_service_settings({} if threads is None else {"threads": str(threads)})
    if not limited:
        highest = {one.name: one.metadata["maximum"] for one in fields(service) if one.name in _LIMITS}
        service = replace(service, waiting_at_most=ServiceSettings.waiting_at_most, **highest)
    studio = open_studio(load_settings(), service)
    try:
        yield studio
    finally:
        studio.close()


def carry_out(
    studio: Studio, start: Callable[[Studio], object], device: str = "auto", time_left: bool = True
) -> Task | None:
    """Carry out the task that `start` queues, with a progress bar; return it completed, None if none is queued.
    Raises StudioError if the task fails, Cancelled if it is stopped."""
    with progress_bar(time_left) as report:
        return carry_out_reporting(studio, start, report, device, VoiceCache())


def carry_out_reporting(
    studio: Studio, start: Callable[[Studio], object], report: Report, device: str, voices: VoiceCache
) -> Task | None:
    """Carry out the task that `start` queues as `carry_out` does, one of several with the same voices in memory."""
    claimed: list[Task] = []

    def claim(connection: Connection, task_id: str) -> None:
        task = claim_one(connection, task_id, owner_of(os.getpid()), studio.service.lease_s)
        assert task is not None  # not visible to others yet
        claimed.append(task)

    start(replace(studio, submitted=claim))
    if not claimed:
        return None
    task = claimed[-1]
    with _followed(studio, task, report):
        _run(studio, task, device, voices)
    task = find(studio.database, task.account_id, task.id)
    if task.state == "completed":
        return task
    if task.state == "cancelled":
        raise Cancelled
    raise StudioError(task.error or tr("Another process took over this task: see the history."), task.error_code)


def withdraw(studio: Studio, task: Task) -> None:
    """Cancel a queued task, so that its work can be done here; leave it if a worker has claimed it."""
    with studio.database.write() as connection:
        claimed = claim_one(connection, task.id, owner_of(os.getpid()), studio.service.lease_s)
        if claimed is not None:
            end_training(connection, cancelled(connection, claimed))


@dataclass(frozen=True)
class _ErrorLog:
    """The log of tasks that are carried out here: errors, on stderr. Only for one of them structlog is loaded."""

    bound: Mapping[str, object] = field(default_factory=dict)

    def bind(self, **facts: object) -> "_ErrorLog":
        """Return a log that says these facts too."""
        return _ErrorLog({**self.bound, **facts})

    def info(self, event: str, **facts: object) -> None:
        """Say nothing."""

    warning = info

    def error(self, event: str, **facts: object) -> None:
        """Write an event with its facts."""
        import structlog

        log = structlog.wrap_logger(
            structlog.PrintLogger(sys.stderr),
            processors=[structlog.processors.format_exc_info, structlog.dev.ConsoleRenderer(colors=False)],
        )
        log.error(event, **self.bound, **facts)


def _run(studio: Studio, task: Task, device: str, voices: VoiceCache) -> None:
    """Do the work of a task; afterwards the task is neither queued nor running."""
    log = cast("FilteringBoundLogger", _ErrorLog())
    service = replace(studio.service, device=device, attempts=1, stalled_minutes=_LONGEST_STALL_MINUTES)
    stopping, threads = Stopping(service.grace_s), service.threads or None
    context = WorkerContext(
        studio.settings, service, studio.database, studio.storage, voices, stopping, log, threads=threads
    )
    outcome = "given back"  # stays so after a second Ctrl-C, which nothing below catches
    try:
        outcome = run_task(context, task)
    finally:
        if outcome == "given back":
            with suppress(NotFound, WrongState):
                request_cancel(studio.database, task.account_id, task.id, also=end_training)
            recover(studio.database, studio.service.attempts, [task.owner or ""])


@contextmanager
def _followed(studio: Studio, task: Task, report: Report) -> Iterator[None]:
    """Report the task's progress during the block, and cancel the task if `report` raises Cancelled."""
    ended = threading.Event()

    def follow() -> None:
        while not ended.wait(_LOOK_S):
            with suppress(StudioError):  # it ended meanwhile, or the database is busy
                now = find(studio.database, task.account_id, task.id)
                try:
                    report(now.progress, now.message)
                except Cancelled:
                    request_cancel(studio.database, task.account_id, task.id)

    thread = threading.Thread(target=follow, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
