"""What a call is promised beside a task: a deadline, and a report of its end. Kept in the transaction that queues the
task, so that none is queued without them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Concatenate, Generic, ParamSpec, TypeVar

from sqlalchemy import Connection, select

from studio.store.deadlines import set_deadline
from studio.store.deliveries import promise_delivery
from studio.store.studio import Cost, Studio, cost_of
from studio.store.tables import deadlines, deliveries

P = ParamSpec("P")
T = TypeVar("T")


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
        """What the action costs."""
        return cost_of(self.action)

    def __call__(self, studio: Studio, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.action(replace(studio, submitted=self.promised.keep), *args, **kwargs)
