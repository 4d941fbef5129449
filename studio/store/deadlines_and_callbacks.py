"""What a call is promised beside a task: a deadline, and a report of its end. Kept in the transaction that queues the
task, so that none is queued without them."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Concatenate, Generic, ParamSpec, TypeVar

from sqlalchemy import Connection, and_, delete, select, update

from engine.texts import tr
from studio.errors import NotFound, WrongState
from studio.store.database import Database, Now, insert_or_keep
from studio.store.deliveries import promise_delivery
from studio.store.studio import Cost, Studio, cost_of
from studio.store.tables import deadlines, deliveries, tasks
from studio.store.tasks import Also, request_cancel

P = ParamSpec("P")
T = TypeVar("T")
NOT_BEGUN, RUNNING = "deadline_before_start", "deadline"  # error codes of tasks
_REASONS = {
    NOT_BEGUN: tr("The task did not begin before its deadline (Cancel-After)."),
    RUNNING: tr("The task did not finish before its deadline (Cancel-After)."),
}
_AT_ONCE = 100


@dataclass(frozen=True)
class Promised:
    """cancel_after_s: the deadline of a task; callback_url: where its end is reported, with links to `base_url`."""

    account_id: str
    base_url: str
    cancel_after_s: float | None = None
    callback_url: str | None = None

    def around(self, action: Callable[Concatenate[Studio, P], T]) -> Callable[Concatenate[Studio, P], T]:
        """Return an action that keeps them for each task that it queues, or queues none."""
        return _Promising(self, action)

    def keep(self, connection: Connection, task_id: str) -> None:
        """Store them for a task, in the caller's transaction; those that are stored already stay."""
        if self.cancel_after_s is not None:
            set_deadline(connection, self.account_id, task_id, self.cancel_after_s)
        if self.callback_url is not None:
            promise_delivery(connection, self.account_id, task_id, self.callback_url, self.base_url)

    def keep_for(self, studio: Studio, task_id: str) -> None:
        """Store them for a task that an earlier call has queued; nothing is written for one of this call."""
        with studio.database.read() as connection:
            if self._is_kept(connection, task_id):
                return
        with studio.database.write() as connection:
            self.keep(connection, task_id)

    def _is_kept(self, connection: Connection, task_id: str) -> bool:
        has_deadline = self.cancel_after_s is None or connection.scalar(
            select(deadlines.c.task_id).where(deadlines.c.task_id == task_id)
        )
        has_delivery = self.callback_url is None or connection.scalar(
            select(deliveries.c.id).where(deliveries.c.task_id == task_id, deliveries.c.url == self.callback_url)
        )
        return bool(has_deadline and has_delivery)


@dataclass(frozen=True)
class _Promising(Generic[P, T]):
    """An action that keeps promises; it can be passed to another process."""

    promised: Promised
    action: Callable[Concatenate[Studio, P], T]

    @property
    def __name__(self) -> str:
        return self.action.__name__

    @property
    def cost(self) -> Cost:
        return cost_of(self.action)

    def __call__(self, studio: Studio, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.action(replace(studio, submitted=self.promised.keep), *args, **kwargs)


def set_deadline(connection: Connection, account_id: str, task_id: str, after_s: float) -> None:
    """Cancel a task of the account in `after_s` seconds, unless it has ended by then. An earlier deadline stays."""
    row = {"task_id": task_id, "account_id": account_id, "at": Now() + after_s}
    connection.execute(insert_or_keep(connection, deadlines).values(row))


def cancel_overdue(database: Database, also: Also) -> int:
    """Cancel tasks whose deadline has passed, with the reason; return how many, not all at once if there are many.
    also: runs with each in the transaction that cancels it."""
    late = select(deadlines.c.task_id, deadlines.c.account_id).where(deadlines.c.at <= Now()).order_by(deadlines.c.at)
    with database.read() as connection:
        found = connection.execute(late.limit(_AT_ONCE)).all()
    cancelled = 0
    for task_id, account_id in found:
        with suppress(NotFound, WrongState):  # it has ended
            _state_reason(database, task_id)
            request_cancel(database, account_id, task_id, also)
            cancelled += 1
        with database.write() as connection:  # last: after a crash it is done again
            connection.execute(delete(deadlines).where(deadlines.c.task_id == task_id))
    return cancelled


def _state_reason(database: Database, task_id: str) -> None:
    with database.write() as connection:
        for state, code in (("queued", NOT_BEGUN), ("running", RUNNING)):
            of_state = and_(tasks.c.id == task_id, tasks.c.state == state)
            connection.execute(update(tasks).where(of_state).values(error=_REASONS[code], error_code=code))
