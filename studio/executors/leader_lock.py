"""Duties: what only one process of an installation does at a time, however many could.

Whoever has a duty renews it again and again; once he has not been heard of for as long as he said, another takes it.
What he says beside it can be read by all.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import and_, delete, or_, select

from studio.store.database import Database, Now, insert_into
from studio.store.tables import duties


def take(database: Database, name: str, owner: str, held_s: float, said: Mapping[str, Any]) -> bool:
    """Take a duty, or renew it, for `held_s` seconds; tells whether it is the owner's now. Raises Unavailable."""
    values = {"owner": owner, "until": Now() + held_s, "said": dict(said)}
    with database.write() as connection:
        taking = (
            insert_into(connection, duties)
            .values(name=name, **values)
            .on_conflict_do_update(
                index_elements=[duties.c.name],
                set_=values,
                where=or_(duties.c.owner == owner, duties.c.until < Now()),
            )
            .returning(duties.c.owner)
        )
        return connection.execute(taking).scalar_one_or_none() == owner


def lay_down(database: Database, name: str, owner: str) -> None:
    """Leave a duty to whoever comes first, if it is the owner's. Raises Unavailable."""
    with database.write() as connection:
        connection.execute(delete(duties).where(and_(duties.c.name == name, duties.c.owner == owner)))


def last_said(database: Database, name: str) -> dict[str, Any]:
    """What is said by who has the duty; nothing where nobody has. Raises Unavailable."""
    spoken = select(duties.c.said).where(duties.c.name == name, duties.c.until >= Now())
    with database.read() as connection:
        said: dict[str, Any] | None = connection.scalar(spoken)
    return said or {}
