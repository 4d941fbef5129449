"""Store answers to POST calls with an Idempotency-Key; each account and each of the calls has its own keys."""

from pydantic import JsonValue
from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, select

from engine.texts import ntr, tr
from studio.errors import Invalid
from studio.store.database import Database, Now
from studio.store.tables import answers

KEPT_S = 24 * 3600.0
LONGEST_KEY = 255
Answer = dict[str, JsonValue]
FIELD = "Idempotency-Key"


def recall(connection: Connection, account_id: str, call: str, key: str, fingerprint: str) -> Answer | None:
    """Return the answer given to this call in the last 24 hours; None if the call is new. Raises Invalid.
    In a write transaction this locks the key until the end: concurrent calls with it wait, and then get the answer."""
    if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
        raise Invalid(
            [
                (
                    FIELD,
                    ntr(
                        "The {field} must have 1 to {longest_key} printable character.",
                        "The {field} must have 1 to {longest_key} printable characters.",
                        longest_key=LONGEST_KEY,
                        field=FIELD,
                    ),
                )
            ]
        )
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
