"""Deliveries: that a task has ended, reported to the address that its call named (`callback_url`).

    waiting --sent, accepted----> delivered
      ^  `----not, too often----> failed
      `-------repeat------------- either

A row waits for its task to end, then for its next attempt. A server that sends it first takes it for a while and counts
the attempt, so that two servers do not send it at once, and a crash delays it but does not lose it. Only where a server
dies between the receiver's answer and its record does it come twice, under one id.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from sqlalchemy import ColumnElement, Connection, and_, delete, func, or_, select, update
from sqlalchemy import tuple_ as row_of

from engine.texts import tr
from studio.errors import NotFound
from studio.store.database import AnyRow, Database, Now, insert_or_keep
from studio.store.paging import cursor_after, sort_values
from studio.store.tables import deliveries, tasks
from studio.store.tasks import ENDED

State = Literal["waiting", "delivered", "failed"]
PAUSES_S = (5.0, 30.0, 120.0, 600.0, 3600.0, 14_400.0, 43_200.0)  # before the second and each later attempt
KEPT_S = 30 * 86_400.0
_LOOKED_AT = 1000  # after they have taken turns
_LONGEST_REASON = 300
_NONE: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class Delivery:
    """A delivery as it was when read. Times are seconds since 1970; status: of the last answer, if there was one.
    base_url: the address of the service that the client used, for links. attempts: those that have begun."""

    id: str
    account_id: str
    task_id: str
    url: str
    base_url: str
    state: State
    attempts: int
    next_at: float
    status: int | None
    error: str | None
    created_at: float
    finished_at: float | None


def promise_delivery(connection: Connection, account_id: str, task_id: str, url: str, base_url: str) -> str:
    """Report the end of a task to this address, once, however often that is asked for; return the delivery's id."""
    delivery_id = hashlib.sha256(f"{task_id}\n{url}".encode()).hexdigest()[:24]
    wanted = {"id": delivery_id, "account_id": account_id, "task_id": task_id, "url": url, "base_url": base_url}
    waiting = {"state": "waiting", "attempts": 0, "next_at": Now(), "created_at": Now()}
    connection.execute(insert_or_keep(connection, deliveries).values(wanted | waiting))
    return delivery_id


def take_due(
    database: Database, most: int, most_of_account: int, for_s: float, under_way: Mapping[str, int] = _NONE
) -> list[Delivery]:
    """Take deliveries that are due, whose task has ended or is gone, for `for_s` seconds, and count the attempt.
    Accounts take turns. under_way: how many of each account are being sent, which count as its own."""
    ended = or_(tasks.c.state.in_(ENDED), tasks.c.id.is_(None))
    due = and_(deliveries.c.state == "waiting", deliveries.c.next_at <= Now())
    full = [account_id for account_id, number in under_way.items() if number >= most_of_account]
    its_turn = func.row_number().over(
        partition_by=deliveries.c.account_id, order_by=(deliveries.c.next_at, deliveries.c.id)
    )
    in_turn = (
        select(deliveries.c.id, deliveries.c.account_id, deliveries.c.next_at, its_turn.label("turn"))
        .join(tasks, tasks.c.id == deliveries.c.task_id, isouter=True)
        .where(due, ended, deliveries.c.account_id.not_in(full))
        .subquery()
    )
    found = (
        select(in_turn.c.id, in_turn.c.account_id)
        .where(in_turn.c.turn <= most_of_account)
        .order_by(in_turn.c.turn, in_turn.c.next_at, in_turn.c.id)
        .limit(_LOOKED_AT)
    )
    with database.read() as connection:  # usually nothing to do, so no write lock
        rows = [(one.id, one.account_id) for one in connection.execute(found)]
    if not (chosen := _fair(rows, most_of_account, under_way)[:most]):
        return []
    taken = update(deliveries).where(deliveries.c.id.in_(chosen), due)
    taken = taken.values(next_at=Now() + for_s, attempts=deliveries.c.attempts + 1)
    with database.write() as connection:
        return [_delivery(row) for row in connection.execute(taken.returning(deliveries))]


def was_delivered(database: Database, delivery: Delivery, status: int) -> None:
    """Record that the address has accepted it."""
    _change(database, delivery, state="delivered", status=status, error=None, finished_at=Now())


def was_not_delivered(
    database: Database, delivery: Delivery, reason: str, status: int | None = None, for_good: bool = False
) -> None:
    """Record a failed attempt; the next comes after a pause, unless there were enough, or it failed for good."""
    over = for_good or delivery.attempts > len(PAUSES_S)
    then = {"state": "failed", "finished_at": Now()} if over else {"next_at": Now() + PAUSES_S[delivery.attempts - 1]}
    _change(database, delivery, status=status, error=reason[:_LONGEST_REASON], **then)


def repeat(database: Database, account_id: str, delivery_id: str, url: str | None = None) -> Delivery:
    """Deliver it again from the start, now, whatever has become of it; url: to another address. Raises NotFound."""
    changed = {} if url is None else {"url": url}
    anew = {"state": "waiting", "attempts": 0, "next_at": Now(), "finished_at": None, **changed}
    with database.write() as connection:
        repeated = update(deliveries).where(_own(account_id, delivery_id)).values(anew).returning(deliveries)
        row = connection.execute(repeated).one_or_none()
    return _one_of(row)


def find_delivery(database: Database, account_id: str, delivery_id: str) -> Delivery:
    """Return a delivery of the account. Raises NotFound."""
    with database.read() as connection:
        return _one_of(connection.execute(select(deliveries).where(_own(account_id, delivery_id))).one_or_none())


def list_deliveries(
    database: Database,
    account_id: str,
    *,
    task_id: str | None = None,
    state: State | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> tuple[list[Delivery], str | None]:
    """Return the account's deliveries, the newest first, and the cursor of the next page. Raises Invalid."""
    selected = select(deliveries).where(deliveries.c.account_id == account_id)
    for column, wanted in ((deliveries.c.task_id, task_id), (deliveries.c.state, state)):
        selected = selected if wanted is None else selected.where(column == wanted)
    if cursor is not None:
        place = row_of(deliveries.c.created_at, deliveries.c.id)
        selected = selected.where(place < row_of(*sort_values(cursor, float, str)))
    newest = selected.order_by(deliveries.c.created_at.desc(), deliveries.c.id.desc()).limit(limit + 1)
    with database.read() as connection:
        found = [_delivery(row) for row in connection.execute(newest)]
    following = cursor_after(found[limit - 1].created_at, found[limit - 1].id) if len(found) > limit else None
    return found[:limit], following


def sweep(database: Database) -> int:
    """Forget deliveries that ended long ago; return how many."""
    with database.write() as connection:
        return connection.execute(delete(deliveries).where(deliveries.c.finished_at < Now() - KEPT_S)).rowcount


def _change(database: Database, delivery: Delivery, **values: object) -> None:
    """Record how an attempt ended, unless the delivery has been asked for anew or taken by another meanwhile."""
    held = and_(deliveries.c.id == delivery.id, deliveries.c.next_at == delivery.next_at)
    with database.write() as connection:
        connection.execute(update(deliveries).where(held).values(**values))


def _fair(rows: Iterable[tuple[str, str]], most_of_account: int, under_way: Mapping[str, int]) -> list[str]:
    """Return the ids of those, in turn, with which no account has too many under way."""
    chosen: list[str] = []
    of_account = dict(under_way)
    for delivery_id, account_id in rows:
        of_account[account_id] = of_account.get(account_id, 0) + 1
        if of_account[account_id] <= most_of_account:
            chosen.append(delivery_id)
    return chosen


def _own(account_id: str, delivery_id: str) -> ColumnElement[bool]:
    return and_(deliveries.c.id == delivery_id, deliveries.c.account_id == account_id)


def _one_of(row: AnyRow | None) -> Delivery:
    if row is None:
        raise NotFound(tr("There is no such callback. GET /callbacks lists all callbacks."), "callback_not_found")
    return _delivery(row)


def _delivery(row: AnyRow) -> Delivery:
    return Delivery(**row._mapping)
