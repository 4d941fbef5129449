"""Carry out a task, and handle every way it can end.

    success                                        -> completed, with its result, in one transaction
    an error of the task (EngineError)             -> failed, with its message
    cancellation                                   -> cancelled
    shutdown of this process                       -> requeued, not counted as an attempt
    database or storage unreachable, or a bug      -> requeued a few times, then failed
    another worker has taken over the task         -> nothing is written

All writes are under the fence of the claim, so a worker presumed dead can change nothing. The tasks of workers that die
here are found by their expired leases (see `studio.executors.recovery`).
"""

import contextlib
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Literal

from sqlalchemy import Connection

from engine.errors import Cancelled, EngineError, is_full_disk
from engine.texts import tr
from studio.errors import DiskFull, LeaseLost, StudioError, Unavailable
from studio.executors.heartbeat import Heartbeat
from studio.executors.job import Job, WorkerContext
from studio.executors.recovery import end_training
from studio.executors.retries import LONG_PATIENCE_S, retry
from studio.executors.songs import stages_prefix
from studio.store import tasks
from studio.store.durations import add_durations
from studio.store.free_space import TAKE_BYTES, refuse_full_disk
from studio.store.kinds import KINDS, LANES, TEACHING
from studio.store.records.voices import Teaching
from studio.tracing import Stages, note_failure, span, trace_id_of

Outcome = Literal["completed", "failed", "cancelled", "given back", "lost", "broken"]
INTERNAL = "internal"
_INTERNAL_TEXT = tr(
    "An internal error stopped this task, and retries failed too. The details are in the log of the service."
)
_MEMORY_TEXT = tr("There was not enough memory for this: close other programs, or try a shorter recording.")
_OUTCOMES: Mapping[str, Outcome] = {"queued": "given back", "failed": "failed", "cancelled": "cancelled"}


def run_task(context: WorkerContext, task: tasks.Task) -> Outcome:
    """Carry out a task just claimed; return how it ended. "broken" means that the process should also be replaced."""
    started = time.monotonic()
    log = context.log.bind(
        task_id=task.id, kind=task.kind, account_id=task.account_id, request_id=task.request_id, attempt=task.attempt
    )
    if trace_id := trace_id_of(task.traceparent):
        log = log.bind(trace_id=trace_id)
    log.info("task_started")
    kind = KINDS[task.kind]
    stalled_s = context.service.stalled_minutes * 60
    if task.traceparent:
        with span("queue", parent=task.traceparent, begun_s=task.created_at):
            pass  # it has waited until now
    with (
        span(f"run {task.kind}", "consumer", task.traceparent) as traced,
        Stages() as stages,
        Heartbeat(
            context.database, task, context.service.lease_s, context.stopping, log, not kind.resumes, stalled_s
        ) as heartbeat,
    ):
        heartbeat.each_report = stages.enter
        heartbeat.check_room = lambda: refuse_full_disk(context)
        job = Job(context, task, heartbeat, context.settings.work / f"{task.id}-{task.fence}", log)
        outcome = _outcome(job)
        traced.set({"task.id": task.id, "task.attempt": task.attempt, "task.outcome": outcome})
    log.info("task_ended", outcome=outcome, seconds=round(time.monotonic() - started, 2))
    if outcome == "completed":
        with contextlib.suppress(StudioError):  # the task has ended; only the metrics miss it
            add_durations(context.database, task.kind, stages.seconds)
    return outcome


def _outcome(job: Job) -> Outcome:
    try:
        with _own_folder(job.folder):
            kind = KINDS[job.task.kind]
            if LANES[kind.lane].needs_networks:
                job.context.keep_to_share()
            refuse_full_disk(job.context, TAKE_BYTES * job.task.cost if kind.renders else 0.0)
            resolve_name(kind.run)(job)
        return "completed"
    except Exception as cause:  # noqa: BLE001 - the task ends with it
        outcome = _how_it_ended(job, cause)
    if outcome != "completed" and KINDS[job.task.kind].stores:
        _tidy_up(job, outcome)
    return outcome


def _how_it_ended(job: Job, cause: Exception) -> Outcome:
    """Record the end of a task that raised an error."""
    try:
        if isinstance(cause, LeaseLost) or job.heartbeat.is_lost:
            raise LeaseLost
        return retry(lambda: _written_end(job, cause), LONG_PATIENCE_S)
    except LeaseLost:
        return "completed" if _is_published(job) else "lost"
    except StudioError as trouble:  # it is found once its lease expires
        job.log.error("task_end_not_written", reason=str(trouble), cause=str(cause))
        return "lost"


def _written_end(job: Job, cause: Exception) -> Outcome:
    if job.heartbeat.is_cancelled:  # whatever the error
        return _end(job, lambda connection: tasks.cancelled(connection, job.task))
    if isinstance(cause, Cancelled):
        tasks.requeue(job.context.database, job.task, counts=False)
        return "given back"
    if isinstance(cause, Unavailable):
        job.log.warning("task_interrupted", reason=str(cause))
        return _again(job, str(cause), cause.code)
    if is_full_disk(cause) and not isinstance(cause, StudioError):
        return _fail(job, DiskFull())
    if isinstance(cause, EngineError):
        return _fail(job, cause)
    job.log.error("task_broke", exc_info=cause)
    if _is_out_of_memory(cause):
        _again(job, _MEMORY_TEXT, "out_of_memory")
    else:
        _again(job, _INTERNAL_TEXT, INTERNAL)
    return "broken"


def _fail(job: Job, cause: EngineError) -> Outcome:
    job.log.warning("task_failed", code=code_of(cause), reason=str(cause))
    note_failure(str(cause))
    return _end(job, lambda connection: tasks.fail(connection, job.task, str(cause), code_of(cause)))


def _again(job: Job, text: str, code: str) -> Outcome:
    """Requeue the task, or fail it after the last attempt."""
    note_failure(text)
    attempts = job.context.service.attempts
    return _end(job, lambda connection: tasks.give_up(connection, job.task, attempts, text, code))


def _end(job: Job, write: Callable[[Connection], tasks.Task]) -> Outcome:
    """Write the end of a task; a training's voice changes its state in the same transaction."""
    with job.context.database.write() as connection:
        now = write(connection)
        end_training(connection, now)
    return _OUTCOMES[now.state]


def code_of(cause: EngineError) -> str:
    """Return an error's code for programs: AudioError -> audio_error."""
    if isinstance(cause, StudioError):
        return cause.code
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(cause).__name__).lower()


@contextlib.contextmanager
def _own_folder(place: Path) -> Iterator[None]:
    try:
        place.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _is_published(job: Job) -> bool:
    with contextlib.suppress(StudioError):
        return retry(job.is_published, LONG_PATIENCE_S)
    return False


def _tidy_up(job: Job, outcome: Outcome) -> None:
    """Delete unused results, and of what failed for good also finished stages. Those of a cancelled song stay for the
    next one of the same recording, until housekeeping finds them."""
    with contextlib.suppress(StudioError):
        if not job.is_published():  # read again: unless known, the result must keep its files
            job.context.storage.delete_below(job.output_prefix)
            if outcome == "failed":
                job.context.storage.delete_below(stages_prefix(job))
            if job.task.kind == TEACHING and outcome in ("failed", "cancelled"):
                for key in job.task.asked_as(Teaching).sources:
                    job.context.storage.delete(key)


def _is_out_of_memory(cause: Exception) -> bool:
    """Return whether the device ran out of memory: torch raises RuntimeError, worded by device."""
    return isinstance(cause, MemoryError) or (isinstance(cause, RuntimeError) and "memory" in str(cause).lower())
