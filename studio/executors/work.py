"""Carrying out a task, and every way it can end.

    the work is done                                -> completed, with its result, in one transaction
    it cannot be done (EngineError)                 -> failed, with its sentence
    somebody cancelled it                           -> cancelled
    this process is to end                          -> back into the queue, as if it had not been tried
    database or storage out of reach, or a mistake  -> back into the queue a few times, then failed
    another worker has the task by now              -> nothing is written

Whatever is written is written under the fence of the claim, so a worker that was thought dead can change nothing. What
a worker leaves behind that dies here is found by its lease (see `studio.executors.recovery`).
"""

import contextlib
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from sqlalchemy import Connection

from engine.errors import Cancelled, EngineError, is_full_disk
from studio.errors import DiskFull, LeaseLost, StudioError, Unavailable
from studio.executors.analyses import explore
from studio.executors.blends import blend
from studio.executors.checkups import check_up
from studio.executors.conversions import convert
from studio.executors.estimates import estimate
from studio.executors.heartbeat import Heartbeat
from studio.executors.job import LONG_PATIENCE_S, Job, Workbench, insist
from studio.executors.recovery import settle
from studio.executors.trainings import examine, train
from studio.store import tasks

Outcome = Literal["completed", "failed", "cancelled", "given back", "lost", "broken"]
INTERNAL = "internal"
_INTERNAL_TEXT = (
    "An error inside the program stopped this. It was tried again without success; what happened is in the log of the "
    "service."
)
_MEMORY_TEXT = "There was not enough memory for this: close other programs, or try a shorter recording."
_OUTCOMES: Mapping[str, Outcome] = {"queued": "given back", "failed": "failed", "cancelled": "cancelled"}
_WORKS: Mapping[str, Callable[[Job], None]] = {
    "conversion": convert,
    "training": train,
    "report": examine,
    "blend": blend,
    "estimate": estimate,
    "checkup": check_up,
    "analysis": explore,
}


def run_task(bench: Workbench, task: tasks.Task) -> Outcome:
    """Carry out a task that was just claimed, and write down how it ended; raises nothing that a task can cause.

    Gives how it ended; "broken" also says that the process should be replaced by a fresh one.
    """
    started = time.monotonic()
    log = bench.log.bind(
        task_id=task.id, kind=task.kind, account_id=task.account_id, request_id=task.request_id, attempt=task.attempt
    )
    log.info("task_started")
    goes_on_later = task.kind == "training"
    stalled_s = bench.service.stalled_minutes * 60
    with Heartbeat(
        bench.database, task, bench.service.lease_s, bench.stopping, log, not goes_on_later, stalled_s
    ) as heart:
        job = Job(bench, task, heart, bench.settings.work / f"{task.id}-{task.fence}", log)
        outcome = _outcome(job)
    log.info("task_ended", outcome=outcome, seconds=round(time.monotonic() - started, 2))
    return outcome


def _outcome(job: Job) -> Outcome:
    try:
        with _own_folder(job.place):
            _WORKS[job.task.kind](job)
        return "completed"
    except Exception as cause:
        outcome = _how_it_ended(job, cause)
    if outcome != "completed" and job.task.kind in ("conversion", "analysis"):
        _tidy_up(job)
    return outcome


def _how_it_ended(job: Job, cause: Exception) -> Outcome:
    """Write down the end of a task whose work did not come to its own."""
    try:
        if isinstance(cause, LeaseLost) or job.heart.is_lost:
            raise LeaseLost
        return insist(lambda: _written_end(job, cause), LONG_PATIENCE_S)
    except LeaseLost:
        return "completed" if _is_published(job) else "lost"
    except StudioError as trouble:  # then its lease will be over, and it is found by that
        job.log.error("task_end_not_written", reason=str(trouble), cause=str(cause))
        return "lost"


def _written_end(job: Job, cause: Exception) -> Outcome:
    if job.heart.is_cancelled:  # whatever the work ran into then
        return _end(job, lambda connection: tasks.cancelled(connection, job.task))
    if isinstance(cause, Cancelled):
        tasks.requeue(job.bench.database, job.task, counts=False)
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
    text = str(cause).replace(f"{job.place}/", "").replace(f"{job.bench.settings.data}/", "")  # where they lie is ours
    return _end(job, lambda connection: tasks.fail(connection, job.task, text, code_of(cause)))


def _again(job: Job, text: str, code: str) -> Outcome:
    """Back into the queue, or the end after the last attempt."""
    attempts = job.bench.service.attempts
    return _end(job, lambda connection: tasks.give_up(connection, job.task, attempts, text, code))


def _end(job: Job, write: Callable[[Connection], tasks.Task]) -> Outcome:
    """Write an end; a training's voice changes its state in the same transaction."""
    with job.bench.database.write() as connection:
        now = write(connection)
        settle(connection, now)
    return _OUTCOMES[now.state]


def code_of(cause: EngineError) -> str:
    """What kind of error it is, for programs: AudioError -> audio_error."""
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
        return insist(job.is_published, LONG_PATIENCE_S)
    return False


def _tidy_up(job: Job) -> None:
    """Remove results that nobody is shown; what this misses, housekeeping finds."""
    with contextlib.suppress(StudioError):
        if not job.is_published():  # asked anew: where that is not known, a result must keep its files
            job.bench.storage.delete_below(job.output_prefix)


def _is_out_of_memory(cause: Exception) -> bool:
    """torch says it by a RuntimeError, in other words on each device."""
    return isinstance(cause, MemoryError) or (isinstance(cause, RuntimeError) and "memory" in str(cause).lower())
