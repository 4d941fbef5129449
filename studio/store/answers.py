"""What a POST with an Idempotency-Key was answered, so that repeating it starts nothing twice.

`recall` and `remember` belong into the transaction that carries the call out: then after a crash either its work and
its answer are both there, or neither is. Keys are an account's own, and each of the POST calls has its own.
"""

from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, select

from studio.errors import Invalid
from studio.store.database import Database, Now
from studio.store.tables import answers

KEPT_S = 24 * 3600.0
LONGEST_KEY = 255
FIELD = "Idempotency-Key"


def recall(connection: Connection, account_id: str, call: str, key: str, fingerprint: str) -> dict[str, Any] | None:
    """What this call was answered in the last 24 hours; None if it is new.

    In a transaction that writes, the key is the caller's until its end: whoever comes with the same key waits here, and
    then gets the answer. fingerprint: SHA-256 of the call's fields and files. Raises Invalid for a key that was used
    with others, or that is none.
    """
    if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
        raise Invalid([(FIELD, f"The {FIELD} must have 1 to {LONGEST_KEY} printable characters.")])
    _hold(connection, account_id, call, key)
    known = select(answers.c.fingerprint, answers.c.answer).where(
        _named(account_id, call, key), answers.c.created_at > Now() - KEPT_S
    )
    row = connection.execute(known).one_or_none()
    if row is None:
        return None
    if row.fingerprint != fingerprint:
        text = f"This {FIELD} was used for a call with another content: take a new one for each call."
        raise Invalid([(FIELD, text)], "idempotency_key_reused")
    answer: dict[str, Any] = row.answer
    return answer


def remember(
    connection: Connection, account_id: str, call: str, key: str, fingerprint: str, answer: dict[str, Any]
) -> None:  # fmt: skip
    """Keep what the call is answered, in place of what was answered more than 24 hours ago."""
    connection.execute(delete(answers).where(_named(account_id, call, key), answers.c.created_at <= Now() - KEPT_S))
    named = {"account_id": account_id, "call": call, "key": key}
    connection.execute(insert(answers).values(**named, fingerprint=fingerprint, answer=answer, created_at=Now()))


def sweep(database: Database) -> int:
    """Forget the answers that are too old to be given again; tells how many they were."""
    with database.write() as connection:
        return connection.execute(delete(answers).where(answers.c.created_at <= Now() - KEPT_S)).rowcount


def _hold(connection: Connection, account_id: str, call: str, key: str) -> None:
    """Wait for another transaction that carries this call out; on SQLite only one writes at a time anyway."""
    writes = connection.get_execution_options().get("writes", False)
    if writes and connection.dialect.name != "sqlite":
        name = func.hashtextextended("\n".join((account_id, call, key)), 0)
        connection.execute(select(func.pg_advisory_xact_lock(name)))


def _named(account_id: str, call: str, key: str) -> ColumnElement[bool]:
    return and_(answers.c.account_id == account_id, answers.c.call == call, answers.c.key == key)
