"""Deadlines: a task that has not ended by then is cancelled, whether it has begun or not."""

from contextlib import suppress

from sqlalchemy import Connection, and_, delete, select, update

from engine.texts import tr
from studio.errors import NotFound, WrongState
from studio.store.database import Database, Now, insert_or_keep
from studio.store.tables import deadlines, tasks
from studio.store.tasks import Also, request_cancel

NOT_BEGUN, RUNNING = "deadline_before_start", "deadline"  # error codes of tasks
_REASONS = {
    NOT_BEGUN: tr("The task did not begin before its deadline (Cancel-After)."),
    RUNNING: tr("The task did not finish before its deadline (Cancel-After)."),
}
_AT_ONCE = 100


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
