"""The queue: one table, which is also the record of all work.

    queued --claim--> running --complete--> completed
      ^                |  |-----fail------> failed
      |<---requeue-----|  |---cancelled---> cancelled
      `<---recover-----'  an expired lease or dead owner; without attempts left: failed

A worker that claims a task holds it until its lease expires, and renews the lease while it works. Every claim raises
the task's fence, and a running task is written only under the fence it was claimed with: a worker that was presumed
dead and returns cannot write. A task is `queued`, `running` or has ended for good.

Accounts are served in turn, by start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): a task gets as its turn
the time at which it would start if each account had a worker of its own, in a time that passes as tasks are served. So
whoever submits a hundred tasks waits for them alone, and long tasks count for more than short ones.

Functions that take a Connection join the caller's transaction, so that a task changes together with its subject.
"""

import functools
import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeVar, cast

from sqlalchemy import (
    Connection,
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

from engine.spelling import folded
from engine.texts import Text, as_data, tr
from studio.errors import Invalid, LeaseLost, NotFound, WrongState
from studio.languages.stored import read_text, stored_text
from studio.store.database import AnyRow, Columns, Database, Now
from studio.store.kinds import KIND_OF, KINDS, LANE_OF, QUEUES
from studio.store.paging import cursor_after, sort_values
from studio.store.records.codec import Json, read
from studio.store.tables import accounts, tasks
from studio.store.task_filter import TaskFilter
from studio.tracing import span

State = Literal["queued", "running", "completed", "failed", "cancelled"]
USUAL_COST = 60.0  # of tasks that do not depend on the length of a recording
ENDED = ("completed", "failed", "cancelled")
ACTIVE = ("queued", "running")
MOST_LISTED = 1000
WORKER_LOST = "worker_lost"
_NOT_ENDED = tr("This task has not ended. Cancel it first, or wait for it.")
_BACKOFF_S = (1.0, 4.0, 16.0)  # before the second, third and every later attempt
_CLAIMS_TRIED = 8
_DAY_S = 86_400.0
_LATEST_DONE = 20  # tasks to average the usual duration over
_LONGEST_ID = 32
_CANDIDATE = tasks.alias("candidate")
_RUNNING = tasks.alias("running_one")

T = TypeVar("T")
Also = Callable[[Connection, "Task"], None]


@dataclass(frozen=True)
class Task:
    """A row of the queue as it was when read. Times are seconds since 1970 by the database's clock."""

    id: str
    account_id: str
    kind: str
    model_id: str | None
    model_name: str | None  # of a voice deleted since
    parameters: Json
    state: str
    queue: str
    cost: float  # seconds x channels x takes of audio
    turn: float
    not_before: float
    attempt: int  # claims without headway, including this one
    fence: int
    owner: str | None
    lease_until: float | None
    cancel_requested: bool
    progress: float  # 0..1
    message: str
    result: Json | None
    error: str | None
    error_code: str | None
    request_id: str | None
    traceparent: str | None
    created_at: float
    started_at: float | None
    finished_at: float | None
    outputs_deleted_at: float | None
    recording: str | None  # of a conversion: the project it belongs to
    texts: str | None  # searchable
    take_labels: Mapping[str, Json] | None  # see studio.store.take_labels

    def asked_as(self, record: type[T]) -> T:
        """Return what is asked, as the record of its kind. Raises UnknownRecord."""
        return self._read("asked", record, self.parameters)

    def result_as(self, record: type[T]) -> T:
        """Return what resulted, as the record of its kind; empty before it is completed. Raises UnknownRecord."""
        return self._read("result", record, self.result or {})

    def _read(self, column: str, record: type[T], values: object) -> T:
        key = (column, record)
        if key not in self._records:
            self._records[key] = read(record, values)
        return cast(T, self._records[key])

    @functools.cached_property
    def _records(self) -> dict[object, object]:
        return {}

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED


# ---- queue and claim


def submit(
    connection: Connection,
    account_id: str,
    kind: str,
    parameters: Json,
    *,
    model_id: str | None = None,
    cost: float = USUAL_COST,
    task_id: str | None = None,
    request_id: str | None = None,
    result: Json | None = None,
) -> str:
    """Queue a task in the caller's transaction; return its id. cost: seconds x channels x takes of its audio.
    With a result, the work has been done elsewhere: it is completed from the start, and no worker sees it."""
    task_id = task_id or secrets.token_hex(12)
    queue = KINDS[kind].queue_of(cost)
    with span(f"submit {kind}", "producer") as traced:
        traced.set({"task.id": task_id})
        connection.execute(
            insert(tasks).values(
                id=task_id,
                account_id=account_id,
                kind=kind,
                model_id=model_id,
                parameters=_plain(parameters),
                queue=queue,
                cost=cost,
                turn=_turn(connection, account_id, queue),
                request_id=request_id,
                traceparent=traced.traceparent,
                created_at=Now(),
                recording=parameters.get("recording"),
                texts=folded(str(parameters.get("file_name") or "")),
                **({"state": "queued"} if result is None else _done(result)),
            )
        )
    return task_id


def _done(result: Json) -> Columns:
    return {"state": "completed", "progress": 1.0, "result": _plain(result), "started_at": Now(), "finished_at": Now()}


def _turn(connection: Connection, account_id: str, queue: str) -> float:
    """Return the turn of a new task: not before the account's others, and not before that of the tasks in service."""
    lane = QUEUES[LANE_OF[queue]]
    of_lane = tasks.c.queue.in_(lane)
    heads = [
        select(tasks.c.turn).where(tasks.c.state == "queued", tasks.c.queue == one).order_by(tasks.c.turn).limit(1)
        for one in lane
    ]  # each is answered by the index with one row
    served = select(func.max(tasks.c.turn)).where(tasks.c.state == "running", of_lane)
    own = select(func.max(tasks.c.turn + tasks.c.cost)).where(
        tasks.c.account_id == account_id, tasks.c.state.in_(ACTIVE), of_lane
    )
    *turns, after_own = connection.execute(select(*(one.scalar_subquery() for one in (*heads, served, own)))).one()
    now = min((turn for turn in turns if turn is not None), default=0.0)
    return float(now if KIND_OF[queue].urgent else max(now, after_own or 0.0))


def claim(database: Database, owner: str, queues: Sequence[str], lease_s: float) -> Task | None:
    """Claim the next task of these queues for `lease_s` seconds; None if there is none.
    Accounts take turns; of one account, the oldest comes first. Only one training per voice runs at a time."""
    for _ in range(_CLAIMS_TRIED):
        with database.read() as connection:  # idle workers take no write lock
            queue = _queue_of_next(connection, queues)
        if queue is None:
            return None
        try:
            with database.write() as connection:
                row = connection.execute(_taking_next(owner, queue, lease_s)).one_or_none()
        except IntegrityError:
            continue  # another worker has just claimed a training of this voice
        if row is not None:
            return _task(row)
    return None


def claim_one(connection: Connection, task_id: str, owner: str, lease_s: float) -> Task | None:
    """Claim this task for `lease_s` seconds; None unless it is queued."""
    waits = update(tasks).where(tasks.c.id == task_id, tasks.c.state == "queued")
    row = connection.execute(waits.values(_claim_values(owner, lease_s)).returning(tasks)).one_or_none()
    return None if row is None else _task(row)


def _queue_of_next(connection: Connection, queues: Sequence[str]) -> str | None:
    """Return the queue of the next task. Each has its own query, which the index answers with one row."""
    firsts = [_next_of(queue, locked=False).subquery() for queue in queues]
    each = union_all(*(select(one) for one in firsts)).subquery()
    next_one = select(each.c.queue).order_by(each.c.turn, each.c.created_at, each.c.id).limit(1)
    return connection.scalar(next_one)


def _taking_next(owner: str, queue: str, lease_s: float) -> ReturningUpdate[*tuple[object, ...]]:
    next_id = _next_of(queue, locked=True).with_only_columns(_CANDIDATE.c.id).scalar_subquery()
    return (
        update(tasks)
        .where(tasks.c.id == next_id, tasks.c.state == "queued")
        .values(_claim_values(owner, lease_s))
        .returning(tasks)
    )


def _claim_values(owner: str, lease_s: float) -> Columns:
    return {
        "state": "running",
        "owner": owner,
        "lease_until": Now() + lease_s,
        "fence": tasks.c.fence + 1,
        "attempt": tasks.c.attempt + 1,
        "started_at": func.coalesce(tasks.c.started_at, Now()),
    }


def _next_of(queue: str, locked: bool) -> Select[*tuple[object, ...]]:
    candidate, running = _CANDIDATE, _RUNNING
    in_training = exists().where(
        running.c.kind == "training",
        running.c.state == "running",
        running.c.account_id == candidate.c.account_id,
        running.c.model_id == candidate.c.model_id,
    )
    found = select(candidate.c.id, candidate.c.queue, candidate.c.turn, candidate.c.created_at).where(
        candidate.c.state == "queued", candidate.c.queue == queue, candidate.c.not_before <= Now()
    )
    if queue == "training":
        found = found.where(~in_training)
    found = found.order_by(candidate.c.turn, candidate.c.created_at, candidate.c.id).limit(1)
    return found.with_for_update(skip_locked=True, of=candidate) if locked else found


# ---- running: all writes under the fence


def renew(
    database: Database,
    task: Task,
    lease_s: float,
    progress: float | None = None,
    message: str | None = None,
    headway: bool = False,
) -> bool:
    """Renew a lease for `lease_s` seconds and record progress; return whether the task is to be cancelled.
    headway: a state was stored that the next attempt continues from, so attempts are counted anew. Raises LeaseLost."""
    values: dict[str, object] = {"lease_until": Now() + lease_s}
    if progress is not None and math.isfinite(progress):
        values["progress"] = min(max(progress, 0.0), 1.0)
    if message is not None:
        values["message"] = stored_text(message)
    if headway:
        values["attempt"] = 1
    with database.write() as connection:
        return _write(connection, task, values).cancel_requested


@contextmanager
def as_owner(database: Database, task: Task) -> Iterator[Connection]:
    """Write in one transaction if the task is still its worker's. Raises LeaseLost."""
    running = select(tasks.c.id).where(tasks.c.id == task.id, tasks.c.fence == task.fence, tasks.c.state == "running")
    with database.write() as connection:
        if connection.scalar(running.with_for_update()) is None:
            raise LeaseLost(tr("Another worker has taken over this task."))
        yield connection


def complete(connection: Connection, task: Task, result: Json) -> Task:
    """End a task with its result, as plain values; non-finite numbers become null. Raises LeaseLost."""
    done = {"progress": 1.0, "message": "", "error": None, "error_code": None}  # those of a deadline just missed
    return _end(connection, task, "completed", result=_plain(result), **done)


def fail(connection: Connection, task: Task, text: str, code: str) -> Task:
    """End a task with a sentence for the user and a code for programs. Raises LeaseLost."""
    return _end(connection, task, "failed", error=stored_text(text), error_code=code)


def cancelled(connection: Connection, task: Task) -> Task:
    """End a task that was cancelled. Raises LeaseLost."""
    return _end(connection, task, "cancelled")


def requeue(database: Database, task: Task, delay_s: float = 0.0, counts: bool = True) -> Task:
    """Requeue a task for another attempt after `delay_s`; if it is being cancelled, end it instead. Raises LeaseLost.
    counts: whether this was an attempt; it was not if the worker was only asked to stop."""
    attempt = tasks.c.attempt if counts else case((tasks.c.attempt > 0, tasks.c.attempt - 1), else_=0)
    with database.write() as connection:
        return _write(connection, task, _back({"not_before": Now() + delay_s, "attempt": attempt}))


def give_up(connection: Connection, task: Task, attempts: int, text: str, code: str) -> Task:
    """Requeue a task after a pause while fewer than `attempts` were made, then end it as failed. Raises LeaseLost."""
    return _write(connection, task, _back_or_failed(attempts, text, code))


def _end(connection: Connection, task: Task, state: State, **values: object) -> Task:
    return _write(connection, task, {"state": state, "lease_until": None, "finished_at": Now(), **values})


def _write(connection: Connection, task: Task, values: Columns) -> Task:
    """Change a running task under its fence."""
    held = and_(tasks.c.id == task.id, tasks.c.fence == task.fence, tasks.c.state == "running")
    row = connection.execute(update(tasks).where(held).values(values).returning(tasks)).one_or_none()
    if row is None:
        raise LeaseLost(tr("Task {id} is no longer held under fence {fence}.", id=task.id, fence=task.fence))
    return _task(row)


def _back(values: Columns) -> Columns:
    """Return values that requeue a task or, if it is being cancelled, end it."""
    unwanted = tasks.c.cancel_requested != 0
    return {
        "state": case((unwanted, "cancelled"), else_="queued"),
        "finished_at": case((unwanted, Now()), else_=None),
        "owner": None,
        "lease_until": None,
        **values,
    }


def _back_or_failed(attempts: int, text: str, code: str) -> Columns:
    """Return values that requeue a task after a pause, or end it as cancelled or failed."""
    unwanted = tasks.c.cancel_requested != 0
    used_up = and_(tasks.c.cancel_requested == 0, tasks.c.attempt >= attempts)
    first, second, later = _BACKOFF_S
    pause = case((tasks.c.attempt <= 1, first), (tasks.c.attempt == 2, second), else_=later)
    return {
        **_back({"not_before": Now() + pause}),
        "state": case((unwanted, "cancelled"), (used_up, "failed"), else_="queued"),
        "finished_at": case((or_(unwanted, used_up), Now()), else_=None),
        "error": case((used_up, stored_text(text)), else_=None),
        "error_code": case((used_up, code), else_=None),
    }


# ---- control


def request_cancel(database: Database, account_id: str, task_id: str, also: Also | None = None) -> Task:
    """Cancel a task: at once if it is queued, else its worker is asked to stop; return the task as it is now.
    also: further work in the same transaction. Raises NotFound, and WrongState for an ended task."""
    waits = tasks.c.state == "queued"
    own = and_(tasks.c.id == task_id, tasks.c.account_id == account_id, tasks.c.state.in_(ACTIVE))
    ended, at = case((waits, "cancelled"), else_=tasks.c.state), case((waits, Now()), else_=None)
    wanted = update(tasks).where(own).values(cancel_requested=1, state=ended, finished_at=at)
    find(database, account_id, task_id)
    with database.write() as connection:
        row = connection.execute(wanted.returning(tasks)).one_or_none()
        if row is not None and also is not None:
            also(connection, _task(row))
    if row is None:
        raise WrongState(tr("This task has ended and can no longer be cancelled."), "task_ended")
    return _task(row)


def remove(database: Database, account_id: str, task_id: str, also: Also | None = None) -> Task:
    """Delete an ended task and return it; also: further work, last in the same transaction. Raises WrongState."""
    ended = and_(tasks.c.id == task_id, tasks.c.account_id == account_id, tasks.c.state.in_(ENDED))
    find(database, account_id, task_id)
    with database.write() as connection:
        row = connection.execute(delete(tasks).where(ended).returning(tasks)).one_or_none()
        if row is not None and also is not None:
            also(connection, _task(row))
    if row is None:
        raise WrongState(_NOT_ENDED, "task_active")
    return _task(row)


def forget_outputs(connection: Connection, account_id: str, task_id: str) -> None:
    """Record that the files of an ended task are deleted. Raises WrongState for a queued or running one."""
    ended = and_(tasks.c.id == task_id, tasks.c.account_id == account_id, tasks.c.state.in_(ENDED))
    gone = {"outputs_deleted_at": func.coalesce(tasks.c.outputs_deleted_at, Now())}
    if connection.execute(update(tasks).where(ended).values(gone)).rowcount != 1:
        raise WrongState(_NOT_ENDED, "task_active")


def recover(database: Database, attempts: int, dead_owners: Sequence[str] = (), also: Also | None = None) -> list[Task]:
    """Take tasks from workers that are dead, or whose lease has expired; `also` runs with those that ended.
    Each is requeued after a pause, cancelled if requested, or failed after `attempts` attempts."""
    text = (
        tr(
            "The worker crashed {attempts} times during this task, so it will not be tried again. This machine may be "
            "short of memory: close other programs, or try a shorter recording.",
            attempts=attempts,
        )
        if attempts > 1
        else tr("The worker crashed during this task: try again.")
    )
    lost = or_(tasks.c.lease_until < Now(), tasks.c.owner.in_(dead_owners))
    with database.read() as connection:  # usually nothing to do, so no write lock
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


# ---- lookup


def find(database: Database, account_id: str, task_id: str, kind: str | None = None) -> Task:
    """Return a task of the account, optionally of one kind only. Raises NotFound, also for another account's."""
    row = None
    if len(task_id) <= _LONGEST_ID and task_id.isascii() and task_id.isalnum():
        with database.read() as connection:
            row = connection.execute(_select_task(), {"asked_id": task_id, "asked_account": account_id}).one_or_none()
    if row is None:
        raise NotFound(tr("There is no such task. GET /tasks lists all tasks."), "task_not_found")
    if kind not in (None, row.kind):
        raise NotFound(
            tr(
                "This task is a {kind}, not a {wanted}. GET /tasks/{id} reports its state.",
                kind=row.kind,
                wanted=kind,
                id=row.id,
            ),
            "task_not_found",
        )
    return _task(row)


@functools.cache
def _select_task() -> Select[*tuple[object, ...]]:
    """Select the task `asked_id` of `asked_account`; built once, since clients poll it."""
    return select(tasks).where(tasks.c.id == bindparam("asked_id"), tasks.c.account_id == bindparam("asked_account"))


def list_tasks(
    database: Database,
    account_id: str,
    *,
    state: str | None = None,
    kind: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
    wanted: TaskFilter | None = None,
) -> tuple[list[Task], str | None]:
    """Return the account's tasks, newest first, and the `cursor` of the next page. Raises Invalid.
    wanted: in place of state and kind. UNLISTED kinds are included only if requested."""
    if not 1 <= limit <= MOST_LISTED:
        raise Invalid(
            [("limit", tr("limit must be 1 to {most_listed}, not {limit}.", most_listed=MOST_LISTED, limit=limit))]
        )
    place = row_of(tasks.c.created_at, tasks.c.id)
    found_by = (wanted or TaskFilter(state, kind)).condition()
    selected = select(tasks).where(tasks.c.account_id == account_id, found_by)
    if cursor is not None:
        selected = selected.where(place < row_of(*sort_values(cursor, float, str)))
    newest = selected.order_by(tasks.c.created_at.desc(), tasks.c.id.desc()).limit(limit + 1)
    with database.read() as connection:
        found = [_task(row) for row in connection.execute(newest)]
    following = cursor_after(found[limit - 1].created_at, found[limit - 1].id) if len(found) > limit else None
    return found[:limit], following


def ids_of(database: Database, account_id: str, kind: str) -> set[str]:
    """Return the ids of the account's tasks of this kind."""
    wanted = select(tasks.c.id).where(tasks.c.account_id == account_id, tasks.c.kind == kind)
    with database.read() as connection:
        return set(connection.scalars(wanted))


def latest(database: Database, account_id: str, model_id: str, kind: str) -> Task | None:
    """Return the newest task of this kind for the voice."""
    with database.read() as connection:
        return latest_in(connection, account_id, model_id, kind)


def latest_in(connection: Connection, account_id: str, model_id: str, kind: str) -> Task | None:
    """Return the same within the caller's transaction."""
    about = and_(tasks.c.account_id == account_id, tasks.c.model_id == model_id, tasks.c.kind == kind)
    newest = select(tasks).where(about).order_by(tasks.c.created_at.desc(), tasks.c.id.desc()).limit(1)
    row = connection.execute(newest).one_or_none()
    return None if row is None else _task(row)


def waiting_and_running(connection: Connection, account_id: str, kind: str) -> int:
    """Count the account's active tasks of this kind; in a write transaction concurrent callers wait until its end."""
    # SQLite has one writer at a time and no FOR UPDATE
    if connection.get_execution_options().get("writes", False):
        connection.execute(select(accounts.c.id).where(accounts.c.id == account_id).with_for_update(key_share=True))
    active = and_(tasks.c.account_id == account_id, tasks.c.kind == kind, tasks.c.state.in_(ACTIVE))
    return connection.scalar(select(func.count()).select_from(tasks).where(active)) or 0


def under_way(connection: Connection, kind: str) -> int:
    """Count the active tasks of this kind of all accounts; concurrent callers may see the same number."""
    active = and_(tasks.c.kind == kind, tasks.c.state.in_(ACTIVE))
    return connection.scalar(select(func.count()).select_from(tasks).where(active)) or 0


def places(database: Database, kind: str) -> dict[str, int]:
    """Map each queued task of this kind to its place among all accounts, 1 for the next; the first MOST_LISTED only."""
    waiting = select(tasks.c.id).where(tasks.c.state == "queued", tasks.c.queue.in_(KINDS[kind].queues))
    in_turn = waiting.order_by(tasks.c.turn, tasks.c.created_at, tasks.c.id).limit(MOST_LISTED)
    with database.read() as connection:
        return {task_id: place for place, task_id in enumerate(connection.scalars(in_turn), 1)}


def running_now(database: Database, kind: str) -> list[tuple[float, float]]:
    """Return (start, progress) of the running tasks of this kind of all accounts."""
    running = select(tasks.c.started_at, tasks.c.progress).where(tasks.c.state == "running", tasks.c.kind == kind)
    with database.read() as connection:
        return [(started_at or 0.0, progress) for started_at, progress in connection.execute(running)]


def usual_seconds(database: Database, kind: str) -> float | None:
    """Return the average duration of the latest tasks of this kind of all accounts; None if none ended today."""
    took = (tasks.c.finished_at - tasks.c.started_at).label("took")
    done = select(took).where(tasks.c.finished_at > Now() - _DAY_S, tasks.c.kind == kind, tasks.c.state == "completed")
    latest_done = done.order_by(tasks.c.finished_at.desc()).limit(_LATEST_DONE).subquery()
    with database.read() as connection:
        seconds = connection.scalar(select(func.avg(latest_done.c.took)))
    return None if seconds is None else max(float(seconds), 0.0)


def counts(database: Database) -> dict[tuple[str, str], int]:
    """Count the tasks of all accounts by (kind, state)."""
    counted = select(tasks.c.kind, tasks.c.state, func.count()).group_by(tasks.c.kind, tasks.c.state)
    with database.read() as connection:
        return {(kind, state): number for kind, state, number in connection.execute(counted)}


def oldest_wait_s(database: Database) -> float:
    """Return for how many seconds the longest-queued task has waited; 0 if none is queued."""
    with database.read() as connection:
        waited = connection.scalar(select(Now() - func.min(tasks.c.created_at)).where(tasks.c.state == "queued"))
    return max(waited or 0.0, 0.0)


# ---- rows and values


# of columns that are held otherwise than they are read
_READ: dict[str, Callable[[object], object]] = {"cancel_requested": bool, "message": read_text, "error": read_text}
_PLACES = [([column.name for column in tasks.c].index(name), read_value) for name, read_value in _READ.items()]


def _task(row: AnyRow) -> Task:
    values = list(row._data)  # in the order of the columns, which is that of the fields
    for place, read_value in _PLACES:
        values[place] = read_value(values[place])
    return Task(*values)


def _plain(value: object) -> object:
    """Convert `value` to valid JSON: a score that could not be measured is null, as JSON has no NaN."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Text):
        return as_data(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
