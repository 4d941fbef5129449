"""The one way to start work: check limits, store files, queue the task, undo what failed, wake the workers."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from sqlalchemy import Connection

from engine.texts import ntr, tr
from studio.errors import NotFound, TooMany
from studio.store.accounts import Account, account_prefix
from studio.store.free_space import TAKE_BYTES, refuse_full_disk
from studio.store.idempotency import Idempotency, run_idempotently
from studio.store.idempotent_answers import Answer
from studio.store.kinds import ANALYSIS, BLEND, CONVERSION, KINDS, TEACHING, TRAINING
from studio.store.records.codec import written
from studio.store.studio import Studio
from studio.store.tasks import USUAL_COST, submit, under_way, waiting_and_running


@dataclass(frozen=True)
class _Limit:
    """Of queued and running tasks. most: of an account, or the setting that says so; full: where all accounts together
    have a limit, the sentence for it."""

    most: int | str
    sentence: str
    retry_s: float
    full: str = ""
    full_retry_s: float = 0.0


_LIMITS = {
    CONVERSION: _Limit(
        "conversions_per_account",
        ntr(
            "{limit} conversion is already queued or running: wait until it has finished.",
            "{limit} conversions are already queued or running: wait until some have finished.",
        ),
        10.0,
        tr("The queue is full: try again in a few minutes."),
        120.0,
    ),
    TRAINING: _Limit(
        "trainings_per_account",
        ntr(
            "{limit} training is already queued or running: wait until one has finished.",
            "{limit} trainings are already queued or running: wait until one has finished.",
        ),
        30.0,
        tr("The queue of trainings is full: try again later."),
        30.0,
    ),
    ANALYSIS: _Limit(
        20,
        ntr(
            "{limit} recording is already waiting to be analysed: wait until it has finished.",
            "{limit} recordings are already waiting to be analysed: wait until some have finished.",
        ),
        5.0,
    ),
    BLEND: _Limit(
        4,
        ntr(
            "{limit} blend is already queued or running: wait until it has finished.",
            "{limit} blends are already queued or running: wait until one has finished.",
        ),
        10.0,
    ),
    TEACHING: _Limit(
        2,
        ntr(
            "{limit} imported voice is already teaching: wait until it has finished.",
            "{limit} imported voices are already teaching: wait until one has finished.",
        ),
        60.0,
    ),
}


@dataclass(frozen=True)
class NewTask:
    """A task that is about to be queued."""

    account: Account
    id: str

    @property
    def prefix(self) -> str:
        """The prefix of its files in the storage."""
        return f"{account_prefix(self.account)}tasks/{self.id}"


@dataclass(frozen=True)
class Work:
    """What a task is to do. asked: the record of its kind; cost: seconds x channels x takes of its audio."""

    kind: str
    asked: object
    model_id: str | None = None
    cost: float = USUAL_COST
    request_id: str | None = None


def new_task(account: Account) -> NewTask:
    """Return a task with an id of its own."""
    return NewTask(account, secrets.token_hex(12))


def submit_work(
    studio: Studio,
    task: NewTask,
    work: Work,
    *,
    files: Mapping[str, Path | str] = MappingProxyType({}),
    gone: str = "",
    idempotency: Idempotency | None = None,
    check: Callable[[Connection], None] = lambda connection: None,
) -> str:
    """Store the files of a task and queue it; return its id, or that of an earlier identical call.

    files: by key, what to move there, or the key of what to copy there; `gone` is the sentence for one that has been
    deleted. check: what else may refuse it, in the transaction that queues it. Raises what `check` raises, NotFound,
    TooMany, Unavailable, DiskFull; then nothing is left behind.
    """
    if KINDS[work.kind].renders:
        refuse_full_disk(studio, TAKE_BYTES * work.cost)

    def act(connection: Connection) -> Answer:
        check(connection)
        return {"task_id": queue_task(studio, connection, task.account.id, work, task.id)}

    kept = False
    try:
        for key, source in files.items():
            _put(studio, source, key, gone)
        answer, kept = run_idempotently(studio, task.account, idempotency, act)
    finally:
        if not kept:
            studio.storage.delete_below(task.prefix)
    studio.wake()
    return str(answer["task_id"])


def queue_task(studio: Studio, connection: Connection, account_id: str, work: Work, task_id: str | None = None) -> str:
    """Queue a task in the caller's transaction; return its id. Raises TooMany."""
    refuse_full_queue(studio, connection, account_id, work.kind)
    asked, cost, model, request = written(work.asked), work.cost, work.model_id, work.request_id
    task_id = submit(
        connection, account_id, work.kind, asked, model_id=model, cost=cost, task_id=task_id, request_id=request
    )
    studio.submitted(connection, task_id)
    return task_id


def refuse_what_cannot_wait(studio: Studio, account: Account, *kinds: str) -> None:
    """Raise TooMany if tasks of these kinds would be refused now: before any work that would be in vain."""
    with studio.database.read() as connection:
        for kind in kinds:
            refuse_full_queue(studio, connection, account.id, kind)


def refuse_full_queue(studio: Studio, connection: Connection, account_id: str, kind: str) -> None:
    """Raise TooMany if the account, or all accounts together, have reached the limit of active tasks of a kind."""
    limit = _LIMITS.get(kind)
    if limit is None:
        return
    if limit.full and under_way(connection, kind) >= studio.service.waiting_at_most:
        raise TooMany(limit.full, limit.full_retry_s, "queue_full")
    most = limit.most if isinstance(limit.most, int) else getattr(studio.service, limit.most)
    if waiting_and_running(connection, account_id, kind) >= most:
        hint = "" if isinstance(limit.most, int) else studio.service.raised_by(limit.most)
        raise TooMany(limit.sentence.format(limit=most) + hint, limit.retry_s, "queue_full")


def _put(studio: Studio, source: Path | str, key: str, gone: str) -> None:
    if isinstance(source, Path):
        studio.storage.put_file(source, key)
        return
    try:
        studio.storage.copy(source, key)
    except NotFound as cause:
        raise NotFound(gone, "recording_gone") from cause
