"""Carry out a call only once, even if it is repeated with its Idempotency-Key.
The key and its answer are written in the transaction that does the work: after a crash both exist or neither does."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from studio.store.accounts import Account
from studio.store.idempotent_answers import Answer, recall, remember
from studio.store.studio import Studio


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
