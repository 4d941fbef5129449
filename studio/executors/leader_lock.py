"""The leader lock: one process of an installation renews it; if it fails to for `held_s`, another takes over."""

from collections.abc import Mapping

from sqlalchemy import and_, delete, or_, select

from studio.store.database import Database, Now, insert_into
from studio.store.tables import leader_locks


def acquire(database: Database, name: str, owner: str, held_s: float, status: Mapping[str, float]) -> bool:
    """Acquire a lock, or renew it, for `held_s` seconds; returns whether `owner` holds it. Raises Unavailable."""
    values = {"owner": owner, "until": Now() + held_s, "said": dict(status)}
    with database.write() as connection:
        acquiring = (
            insert_into(connection, leader_locks)
            .values(name=name, **values)
            .on_conflict_do_update(
                index_elements=[leader_locks.c.name],
                set_=values,
                where=or_(leader_locks.c.owner == owner, leader_locks.c.until < Now()),
            )
            .returning(leader_locks.c.owner)
        )
        return connection.execute(acquiring).scalar_one_or_none() == owner


def release(database: Database, name: str, owner: str) -> None:
    """Release a lock, if `owner` holds it. Raises Unavailable."""
    with database.write() as connection:
        held = and_(leader_locks.c.name == name, leader_locks.c.owner == owner)
        connection.execute(delete(leader_locks).where(held))


def read_status(database: Database, name: str) -> dict[str, float]:
    """Return the leader's status; empty without a leader. Raises Unavailable."""
    written = select(leader_locks.c.said).where(leader_locks.c.name == name, leader_locks.c.until >= Now())
    with database.read() as connection:
        status: dict[str, float] | None = connection.scalar(written)
    return status or {}
