"""A call that is made twice with one Idempotency-Key is carried out once.

The key and its answer are written in the transaction that does the work, so that after a crash either both are there or
neither is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from studio.store.accounts import Account
from studio.store.answers import recall, remember
from studio.store.studio import Studio

Answer = dict[str, Any]


@dataclass(frozen=True)
class Idempotency:
    """What a client said to tell a repeated call from a new one; fingerprint: SHA-256 of the fields and files."""

    call: str
    key: str
    fingerprint: str


def answered(studio: Studio, account: Account, idempotency: Idempotency | None) -> Answer | None:
    """The answer this call was given before, if it was. Raises Invalid where the key came with another content."""
    if idempotency is None:
        return None
    with studio.database.read() as connection:
        return recall(connection, account.id, idempotency.call, idempotency.key, idempotency.fingerprint)


def once(
    studio: Studio, account: Account, idempotency: Idempotency | None, act: Callable[[Connection], Answer]
) -> tuple[Answer, bool]:
    """What `act` answers in a transaction, and whether it was carried out now rather than by an earlier call."""
    try:
        return _attempt(studio, account, idempotency, act)
    except IntegrityError:
        if idempotency is None:
            raise
        # the same call was carried out beside this one, and was first
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
