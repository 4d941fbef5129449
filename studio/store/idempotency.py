"""Carry out a call only once, even if it is repeated with its Idempotency-Key.
The key and its answer are written in the transaction that does the work: after a crash both exist or neither does."""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import JsonValue
from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from engine.texts import ntr, tr
from studio.errors import Invalid
from studio.store.accounts import Account
from studio.store.database import Database, Now
from studio.store.studio import Studio
from studio.store.tables import answers

KEPT_S = 24 * 3600.0
LONGEST_KEY = 255
Answer = dict[str, JsonValue]
FIELD = "Idempotency-Key"


def recall(connection: Connection, account_id: str, call: str, key: str, fingerprint: str) -> Answer | None:
    """Return the answer given to this call in the last 24 hours; None if the call is new. Raises Invalid.
    In a write transaction this locks the key until the end: concurrent calls with it wait, and then get the answer."""
    if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
        raise Invalid([(FIELD, ntr(
            "The {field} must have 1 to {longest_key} printable character.",
            "The {field} must have 1 to {longest_key} printable characters.",
            longest_key=LONGEST_KEY, field=FIELD,
        ))])
    _lock(connection, account_id, call, key)
    known = select(answers.c.fingerprint, answers.c.answer).where(
        _named(account_id, call, key), answers.c.created_at > Now() - KEPT_S
    )
    row = connection.execute(known).one_or_none()
    if row is None:
        return None
    if row.fingerprint != fingerprint:
        text = tr("This {field} was used for a call with different content: use a new one for each call.", field=FIELD)
        raise Invalid([(FIELD, text)], "idempotency_key_reused")
    answer: Answer = row.answer
    return answer


def remember(connection: Connection, account_id: str, call: str, key: str, fingerprint: str, answer: Answer) -> None:
    """Store the answer to a call, replacing one older than 24 hours."""
    connection.execute(delete(answers).where(_named(account_id, call, key), answers.c.created_at <= Now() - KEPT_S))
    named = {"account_id": account_id, "call": call, "key": key}
    connection.execute(insert(answers).values(**named, fingerprint=fingerprint, answer=answer, created_at=Now()))


def sweep(database: Database) -> int:
    """Delete answers older than 24 hours; return how many."""
    with database.write() as connection:
        return connection.execute(delete(answers).where(answers.c.created_at <= Now() - KEPT_S)).rowcount


def _lock(connection: Connection, account_id: str, call: str, key: str) -> None:
    """Wait for another transaction that carries out this call; SQLite allows only one writer anyway."""
    writes = connection.get_execution_options().get("writes", False)
    if writes and connection.dialect.name != "sqlite":
        name = func.hashtextextended("\n".join((account_id, call, key)), 0)
        connection.execute(select(func.pg_advisory_xact_lock(name)))


def _named(account_id: str, call: str, key: str) -> ColumnElement[bool]:
    return and_(answers.c.account_id == account_id, answers.c.call == call, answers.c.key == key)


@dataclass(frozen=True)
class Idempotency:
    """A client's key for a call; fingerprint: SHA-256 of the fields and files."""

    call: str
    key: str
    fingerprint: str


def answered(studio: Studio, account: Account, idempotency: Idempotency | None) -> Answer | None:
    """Return the earlier answer to this call, if any. Raises Invalid if the key was used with different content."""
    if idempotency is None:
        return None
    with studio.database.read() as connection:
        return recall(connection, account.id, idempotency.call, idempotency.key, idempotency.fingerprint)


def run_idempotently(
    studio: Studio, account: Account, idempotency: Idempotency | None, act: Callable[[Connection], Answer]
) -> tuple[Answer, bool]:
    """Run `act` in a transaction; return its answer, and whether it ran now rather than in an earlier call."""
    try:
        return _attempt(studio, account, idempotency, act)
    except IntegrityError:
        if idempotency is None:
            raise
        # a concurrent identical call finished first
        return _attempt(studio, account, idempotency, act)


def _attempt(
    studio: Studio, account: Account, idempotency: Idempotency | None, act: Callable[[Connection], Answer]
) -> tuple[Answer, bool]:
    with studio.database.write() as connection:
        if idempotency is None:
            return act(connection), True
        named = (account.id, idempotency.call, idempotency.key, idempotency.fingerprint)
        if (known := recall(connection, *named)) is not None:
            return known, False
        answer = act(connection)
        remember(connection, *named, answer)
        return answer, True
