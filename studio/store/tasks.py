"""The queue: one table, which is also the truth about all work there is and was.

    queued --claim--> running --complete--> completed
      ^                |  |-----fail------> failed
      |<---requeue-----|  |---cancelled---> cancelled
      `<---recover-----'  a lease that is over, or an owner that is dead; with the attempts used up: failed

Whoever claims a task holds it until its lease is over, and renews the lease while it works. Every claim raises the
task's fence, and whatever is written for a running task is written under the fence it was claimed with: a worker that
was thought dead, and comes back, can write nothing. A task is `queued`, `running` or has ended, for good.

Functions that take a Connection join the caller's transaction, so that a task and what it is about change together.
"""

import functools
import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sqlalchemy import (
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy import tuple_ as row_of
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.dml import ReturningUpdate

from studio.errors import Invalid, LeaseLost, NotFound, WrongState
from studio.store.database import Database, Now
from studio.store.paging import cursor_after, place_of
from studio.store.tables import accounts, tasks

State = Literal["queued", "running", "completed", "failed", "cancelled"]
Kind = Literal["conversion", "training", "report", "blend", "estimate", "checkup", "analysis"]
# what is looked at once, where it was asked for: no part of the history
UNLISTED = ("estimate", "checkup", "analysis")
STATES: tuple[str, ...] = get_args(State)
ENDED = ("completed", "failed", "cancelled")
ACTIVE = ("queued", "running")
MOST_LISTED = 1000
WORKER_LOST = "worker_lost"
_BACKOFF_S = (1.0, 4.0, 16.0)  # before the second, third and every later attempt
_CLAIMS_TRIED = 8
_DAY_S = 86_400.0
_LATEST_DONE = 20  # tasks from which it is said how long one usually takes
_LONGEST_ID = 32
_CANDIDATE = tasks.alias("candidate")
_RUNNING = tasks.alias("running_one")

Also = Callable[[Connection, "Task"], None]


@dataclass(frozen=True)
class Task:
    """A row of the queue, as it was when it was read. Times are seconds since 1970 by the database's clock."""

    id: str
    account_id: str
    kind: str
    model_id: str | None
    model_name: str | None  # of a voice that has been deleted since
    parameters: dict[str, Any]
    state: str
    priority: int
    not_before: float
    attempt: int  # how often it was claimed without getting anywhere, this time included
    fence: int
    owner: str | None
    lease_until: float | None
    cancel_requested: bool
    progress: float  # 0..1
    message: str
    result: dict[str, Any] | None
    error: str | None
    error_code: str | None
    request_id: str | None
    created_at: float
    started_at: float | None
    finished_at: float | None
    outputs_deleted_at: float | None

    @property
    def has_ended(self) -> bool:
        """Whether nothing can change it any more."""
        return self.state in ENDED


# ---- from the queue into work


def submit(
    connection: Connection,
    account_id: str,
    kind: str,
    parameters: dict[str, Any],
    *,
    model_id: str | None = None,
    priority: int = 0,
    task_id: str | None = None,
    request_id: str | None = None,
) -> str:
    """Put a task into the queue as part of the caller's transaction; gives its id. Higher priorities come first."""
    task_id = task_id or secrets.token_hex(12)
    connection.execute(
        insert(tasks).values(
            id=task_id,
            account_id=account_id,
            kind=kind,
            model_id=model_id,
            parameters=_plain(parameters),
            state="queued",
            priority=priority,
            request_id=request_id,
            created_at=Now(),
        )
    )
    return task_id


def claim(database: Database, owner: str, kinds: Sequence[str], lease_s: float) -> Task | None:
    """Take the next task of these kinds for `lease_s` seconds; None where there is none.

    The highest priority goes first, then the oldest. Of the trainings of one voice only one runs at a time.
    """
    for _ in range(_CLAIMS_TRIED):
        with database.read() as connection:  # who has nothing to do keeps nobody from writing
            kind = _kind_of_next(connection, kinds)
        if kind is None:
            return None
        try:
            with database.write() as connection:
                row = connection.execute(_taking_next(owner, kind, lease_s)).one_or_none()
        except IntegrityError:
            continue  # another worker began to train the same voice at this moment: the table allows one
        if row is not None:
            return _task(row)
    return None


def claim_one(connection: Connection, task_id: str, owner: str, lease_s: float) -> Task | None:
    """Take this task for `lease_s` seconds; None where it does not wait."""
    waits = update(tasks).where(tasks.c.id == task_id, tasks.c.state == "queued")
    row = connection.execute(waits.values(_taken(owner, lease_s)).returning(tasks)).one_or_none()
    return None if row is None else _task(row)


def _kind_of_next(connection: Connection, kinds: Sequence[str]) -> str | None:
    """Of which kind the next task is. Each kind is asked for alone: so the index has its next in the first place."""
    firsts = [_next_of(kind, locked=False).subquery() for kind in kinds]
    each = union_all(*(select(one) for one in firsts)).subquery()
    next_one = select(each.c.kind).order_by(each.c.priority.desc(), each.c.created_at, each.c.id).limit(1)
    return connection.scalar(next_one)


def _taking_next(owner: str, kind: str, lease_s: float) -> ReturningUpdate[Any]:
    next_id = _next_of(kind, locked=True).with_only_columns(_CANDIDATE.c.id).scalar_subquery()
    return (
        update(tasks)
        .where(tasks.c.id == next_id, tasks.c.state == "queued")
        .values(_taken(owner, lease_s))
        .returning(tasks)
    )


def _taken(owner: str, lease_s: float) -> dict[str, Any]:
    return {
        "state": "running",
        "owner": owner,
        "lease_until": Now() + lease_s,
        "fence": tasks.c.fence + 1,
        "attempt": tasks.c.attempt + 1,
        "started_at": func.coalesce(tasks.c.started_at, Now()),
    }


def _next_of(kind: str, locked: bool) -> Select[Any]:
    candidate, running = _CANDIDATE, _RUNNING
    in_training = exists().where(
        running.c.kind == "training",
        running.c.state == "running",
        running.c.account_id == candidate.c.account_id,
        running.c.model_id == candidate.c.model_id,
    )
    found = select(candidate.c.id, candidate.c.kind, candidate.c.priority, candidate.c.created_at).where(
        candidate.c.state == "queued", candidate.c.kind == kind, candidate.c.not_before <= Now()
    )
    if kind == "training":
        found = found.where(~in_training)
    found = found.order_by(candidate.c.priority.desc(), candidate.c.created_at, candidate.c.id).limit(1)
    return found.with_for_update(skip_locked=True, of=candidate) if locked else found


# ---- while it is worked on: all of this under the fence


def renew(
    database: Database,
    task: Task,
    lease_s: float,
    progress: float | None = None,
    message: str | None = None,
    headway: bool = False,
) -> bool:
    """Hold a task for `lease_s` seconds more, and say how far it is; tells whether it shall be cancelled.

    headway: something was kept that the next attempt goes on from, so that the attempts count from here anew.
    Raises LeaseLost, Unavailable.
    """
    values: dict[str, Any] = {"lease_until": Now() + lease_s}
    if progress is not None and math.isfinite(progress):
        values["progress"] = min(max(progress, 0.0), 1.0)
    if message is not None:
        values["message"] = _storable(message)
    if headway:
        values["attempt"] = 1
    with database.write() as connection:
        return _write(connection, task, values).cancel_requested


def complete(connection: Connection, task: Task, result: dict[str, Any]) -> Task:
    """End a task with its result: plain values, of which numbers that are not finite become null. Raises LeaseLost."""
    return _end(connection, task, "completed", result=_plain(result), progress=1.0, message="")


def fail(connection: Connection, task: Task, text: str, code: str) -> Task:
    """End a task with a sentence for the user, and a word for programs. Raises LeaseLost."""
    return _end(connection, task, "failed", error=_storable(text), error_code=code)


def cancelled(connection: Connection, task: Task) -> Task:
    """End a task that was cancelled. Raises LeaseLost."""
    return _end(connection, task, "cancelled")


def requeue(database: Database, task: Task, delay_s: float = 0.0, counts: bool = True) -> Task:
    """Give a task back to the queue, for another attempt after `delay_s`; one that shall be cancelled ends instead.

    counts: whether this attempt was one; it was not where the worker was only asked to stop. Raises LeaseLost.
    """
    attempt = tasks.c.attempt if counts else case((tasks.c.attempt > 0, tasks.c.attempt - 1), else_=0)
    with database.write() as connection:
        return _write(connection, task, _back({"not_before": Now() + delay_s, "attempt": attempt}))


def give_up(connection: Connection, task: Task, attempts: int, text: str, code: str) -> Task:
    """Queue a task again, a little later, while fewer than `attempts` were made; then end it as failed.

    Gives the task as it is now. Raises LeaseLost.
    """
    return _write(connection, task, _back_or_failed(attempts, text, code))


def _end(connection: Connection, task: Task, state: State, **values: Any) -> Task:
    return _write(connection, task, {"state": state, "lease_until": None, "finished_at": Now(), **values})


def _write(connection: Connection, task: Task, values: dict[str, Any]) -> Task:
    """Change a running task under the fence it was claimed with."""
    held = and_(tasks.c.id == task.id, tasks.c.fence == task.fence, tasks.c.state == "running")
    row = connection.execute(update(tasks).where(held).values(values).returning(tasks)).one_or_none()
    if row is None:
        raise LeaseLost(f"Task {task.id} is no longer held under fence {task.fence}.")
    return _task(row)


def _back(values: dict[str, Any]) -> dict[str, Any]:
    """Into the queue; or, where it shall be cancelled, to its end."""
    unwanted = tasks.c.cancel_requested != 0
    return {
        "state": case((unwanted, "cancelled"), else_="queued"),
        "finished_at": case((unwanted, Now()), else_=None),
        "owner": None,
        "lease_until": None,
        **values,
    }


def _back_or_failed(attempts: int, text: str, code: str) -> dict[str, Any]:
    """Into the queue after a pause; or to its end, cancelled or with the attempts used up."""
    unwanted = tasks.c.cancel_requested != 0
    used_up = and_(tasks.c.cancel_requested == 0, tasks.c.attempt >= attempts)
    first, second, later = _BACKOFF_S
    pause = case((tasks.c.attempt <= 1, first), (tasks.c.attempt == 2, second), else_=later)
    return _back({"not_before": Now() + pause}) | {
        "state": case((unwanted, "cancelled"), (used_up, "failed"), else_="queued"),
        "finished_at": case((or_(unwanted, used_up), Now()), else_=None),
        "error": case((used_up, _storable(text)), else_=None),
        "error_code": case((used_up, code), else_=None),
    }


# ---- from outside


def request_cancel(database: Database, account_id: str, task_id: str, also: Also | None = None) -> Task:
    """Cancel a task: at once if it waits, else its worker is asked to; gives the task as it is now.

    also: what else to do in the same transaction. Raises NotFound, and WrongState for one that has ended.
    """
    waits = tasks.c.state == "queued"
    own = and_(tasks.c.id == task_id, tasks.c.account_id == account_id, tasks.c.state.in_(ACTIVE))
    wanted = update(tasks).where(own).values(
        cancel_requested=1,
        state=case((waits, "cancelled"), else_=tasks.c.state),
        finished_at=case((waits, Now()), else_=None),
    )  # fmt: skip
    find(database, account_id, task_id)
    with database.write() as connection:
        row = connection.execute(wanted.returning(tasks)).one_or_none()
        if row is not None and also is not None:
            also(connection, _task(row))
    if row is None:
        raise WrongState("This task has ended and can no longer be cancelled.", "task_ended")
    return _task(row)


def remove(database: Database, account_id: str, task_id: str, also: Also | None = None) -> Task:
    """Forget a task that has ended; gives what it was.

    also: what else to do in the same transaction, as its last thing. Raises NotFound, and WrongState for one that waits
    or runs.
    """
    ended = and_(tasks.c.id == task_id, tasks.c.account_id == account_id, tasks.c.state.in_(ENDED))
    find(database, account_id, task_id)
    with database.write() as connection:
        row = connection.execute(delete(tasks).where(ended).returning(tasks)).one_or_none()
        if row is not None and also is not None:
            also(connection, _task(row))
    if row is None:
        raise WrongState("This task has not ended. Cancel it first, or wait for it.", "task_active")
    return _task(row)


def recover(
    database: Database, attempts: int, dead_owners: Sequence[str] = (), also: Also | None = None
) -> list[Task]:  # fmt: skip
    """Take tasks from workers that are dead, or whose lease is over.

    They are queued again, after a pause; cancelled, if they shall be; failed, if they were tried `attempts` times.
    Gives those that have ended by this; `also` is done for each of them in the same transaction.
    """
    text = (
        f"The worker was lost {attempts} times while it was busy with this, and it is not tried again. "
        "This machine may be short of memory: close other programs, or try a shorter recording."
        if attempts > 1
        else "The worker was lost while it was busy with this: try it again."
    )
    lost = or_(tasks.c.lease_until < Now(), tasks.c.owner.in_(dead_owners))
    with database.read() as connection:  # which it mostly ends with, and keeps nobody from writing
        if connection.scalar(select(tasks.c.id).where(tasks.c.state == "running", lost).limit(1)) is None:
            return []
    taken_back = (
        update(tasks)
        .where(tasks.c.state == "running", lost)
        .values(_back_or_failed(attempts, text, WORKER_LOST))
        .returning(tasks)
    )
    with database.write() as connection:
        ended = [task for task in map(_task, connection.execute(taken_back).all()) if task.has_ended]
        if also is not None:
            for task in ended:
                also(connection, task)
        return ended


# ---- looked at


def find(database: Database, account_id: str, task_id: str, kind: str | None = None) -> Task:
    """A task of the account, if need be of one kind only. Raises NotFound, also for another account's."""
    row = None
    if len(task_id) <= _LONGEST_ID and task_id.isascii() and task_id.isalnum():
        with database.read() as connection:
            row = connection.execute(_one_task(), {"asked_id": task_id, "asked_account": account_id}).one_or_none()
    if row is None:
        raise NotFound("There is no such task. GET /tasks lists all tasks.", "task_not_found")
    if kind not in (None, row.kind):
        raise NotFound(
            f"This task is a {row.kind}, not a {kind}. GET /tasks/{row.id} reports its state.", "task_not_found"
        )
    return _task(row)


@functools.cache
def _one_task() -> Select[Any]:
    """The task `asked_id` of `asked_account`; built once, since clients poll it."""
    return select(tasks).where(tasks.c.id == bindparam("asked_id"), tasks.c.account_id == bindparam("asked_account"))


def list_tasks(
    database: Database,
    account_id: str,
    *,
    state: str | None = None,
    kind: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> tuple[list[Task], str | None]:
    """Tasks of the account, newest first, and what to give as `cursor` to see those after them. Raises Invalid.

    Those that are UNLISTED are told of only where their kind is asked for.
    """
    if not 1 <= limit <= MOST_LISTED:
        raise Invalid([("limit", f"limit must be 1 to {MOST_LISTED}, not {limit}.")])
    place = row_of(tasks.c.created_at, tasks.c.id)
    wanted = select(tasks).where(tasks.c.account_id == account_id)
    if state is not None:
        wanted = wanted.where(tasks.c.state == state)
    wanted = wanted.where(tasks.c.kind.not_in(UNLISTED) if kind is None else tasks.c.kind == kind)
    if cursor is not None:
        wanted = wanted.where(place < row_of(*place_of(cursor, float, str)))
    newest = wanted.order_by(tasks.c.created_at.desc(), tasks.c.id.desc()).limit(limit + 1)
    with database.read() as connection:
        found = [_task(row) for row in connection.execute(newest)]
    following = cursor_after(found[limit - 1].created_at, found[limit - 1].id) if len(found) > limit else None
    return found[:limit], following


def latest(database: Database, account_id: str, model_id: str, kind: str) -> Task | None:
    """The newest task of this kind that is about the voice."""
    with database.read() as connection:
        return latest_in(connection, account_id, model_id, kind)


def latest_in(connection: Connection, account_id: str, model_id: str, kind: str) -> Task | None:
    """The same, as the caller's transaction sees it."""
    about = and_(tasks.c.account_id == account_id, tasks.c.model_id == model_id, tasks.c.kind == kind)
    newest = select(tasks).where(about).order_by(tasks.c.created_at.desc(), tasks.c.id.desc()).limit(1)
    row = connection.execute(newest).one_or_none()
    return None if row is None else _task(row)


def waiting_and_running(connection: Connection, account_id: str, kind: str) -> int:
    """How many tasks of this kind the account has that have not ended.

    In a transaction that writes, the number holds until its end: others that ask for it wait until then.
    """
    # SQLite has one writer at a time and no FOR UPDATE
    if connection.get_execution_options().get("writes", False):
        connection.execute(select(accounts.c.id).where(accounts.c.id == account_id).with_for_update(key_share=True))
    active = and_(tasks.c.account_id == account_id, tasks.c.kind == kind, tasks.c.state.in_(ACTIVE))
    return connection.scalar(select(func.count()).select_from(tasks).where(active)) or 0


def under_way(connection: Connection, kind: str) -> int:
    """How many tasks of this kind all accounts have that have not ended; who asks at the same time may be told the
    same."""
    active = and_(tasks.c.kind == kind, tasks.c.state.in_(ACTIVE))
    return connection.scalar(select(func.count()).select_from(tasks).where(active)) or 0


def places(database: Database, kind: str) -> dict[str, int]:
    """Which place each waiting task of this kind has, of all accounts, 1 for the next; of the first MOST_LISTED."""
    waiting = select(tasks.c.id).where(tasks.c.state == "queued", tasks.c.kind == kind)
    in_turn = waiting.order_by(tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id).limit(MOST_LISTED)
    with database.read() as connection:
        return {task_id: place for place, task_id in enumerate(connection.scalars(in_turn), 1)}


def running_now(database: Database, kind: str) -> int:
    """How many tasks of this kind are being worked on, of all accounts."""
    running = select(func.count()).where(tasks.c.state == "running", tasks.c.kind == kind)
    with database.read() as connection:
        return int(connection.scalar(running) or 0)


def usual_seconds(database: Database, kind: str) -> float | None:
    """How long the latest tasks of this kind took on the average, of all accounts; None where none was done today."""
    took = (tasks.c.finished_at - tasks.c.started_at).label("took")
    done = select(took).where(tasks.c.finished_at > Now() - _DAY_S, tasks.c.kind == kind, tasks.c.state == "completed")
    latest_done = done.order_by(tasks.c.finished_at.desc()).limit(_LATEST_DONE).subquery()
    with database.read() as connection:
        seconds = connection.scalar(select(func.avg(latest_done.c.took)))
    return None if seconds is None else max(float(seconds), 0.0)


def counts(database: Database) -> dict[tuple[str, str], int]:
    """How many tasks there are of each (kind, state), of all accounts."""
    counted = select(tasks.c.kind, tasks.c.state, func.count()).group_by(tasks.c.kind, tasks.c.state)
    with database.read() as connection:
        return {(kind, state): number for kind, state, number in connection.execute(counted)}


def oldest_wait_s(database: Database) -> float:
    """How long the task that waits longest has waited, in seconds; 0 where none waits."""
    with database.read() as connection:
        waited = connection.scalar(select(Now() - func.min(tasks.c.created_at)).where(tasks.c.state == "queued"))
    return max(waited or 0.0, 0.0)


# ---- rows and values


def _task(row: Row[Any]) -> Task:
    return Task(**{**row._mapping, "cancel_requested": bool(row.cancel_requested)})


def _plain(value: Any) -> Any:
    """`value` as JSON can hold it: a score that could not be measured is null, as JSON has no NaN."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _storable(text: str) -> str:
    """Text of any origin as both databases take it: without NUL, and without what is no character."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
