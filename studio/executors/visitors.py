"""Visitors of a public demo: each browser has its own account, deleted after a while with all its files.
A cookie with 256 random bits identifies a browser; without one, each session of the page is a visitor."""

import hashlib
from contextlib import suppress

from sqlalchemy import Connection, delete, select

from studio.errors import Invalid, NotFound, StudioError, WrongState
from studio.executors.recovery import end_training
from studio.store.accounts import Account, create_account, find_account
from studio.store.database import Database, Now
from studio.store.storage import Storage
from studio.store.tables import METADATA, accounts, tasks
from studio.store.tasks import ACTIVE, request_cancel

PREFIX = "visitor:"
_DIGITS = 32  # of the digest, in an account's name
_AT_ONCE = 200


def account_of_visitor(database: Database, cookie: str | None, session: str) -> Account:
    """Return the account of this cookie, or else of this session of the page; create it if needed."""
    name = PREFIX + hashlib.sha256((cookie or session).encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    with suppress(NotFound):
        return find_account(database, name)
    try:
        return create_account(database, name)
    except Invalid:  # another event of the same page has just created it
        return find_account(database, name)


def delete_old_visitors(database: Database, storage: Storage, kept_s: float) -> int:
    """Delete visitors whose account is older than this, with all they have; return how many.
    One with active work has it cancelled, and is deleted next time."""
    old = accounts.c.name.startswith(PREFIX, autoescape=True) & (accounts.c.created_at < Now() - kept_s)
    with database.read() as connection:
        found = list(connection.scalars(select(accounts.c.id).where(old).order_by(accounts.c.id).limit(_AT_ONCE)))
    return sum(_deleted(database, storage, account_id) for account_id in found)


def _deleted(database: Database, storage: Storage, account_id: str) -> bool:
    for task_id in _active(database, account_id):
        with suppress(NotFound, WrongState):  # it ended meanwhile
            request_cancel(database, account_id, task_id, also=end_training)
    if _active(database, account_id):
        return False
    # files first: while the row exists, files left over now are found next time
    storage.delete_below(f"accounts/{account_id}")
    with database.write() as connection:
        if _active_in(connection, account_id):
            return False
        for table in METADATA.sorted_tables:
            if "account_id" in table.c:
                connection.execute(delete(table).where(table.c.account_id == account_id))
        connection.execute(delete(accounts).where(accounts.c.id == account_id))
    with suppress(StudioError):  # files stored since
        storage.delete_below(f"accounts/{account_id}")
    return True


def _active(database: Database, account_id: str) -> list[str]:
    with database.read() as connection:
        return _active_in(connection, account_id)


def _active_in(connection: Connection, account_id: str) -> list[str]:
    wanted = select(tasks.c.id).where(tasks.c.account_id == account_id, tasks.c.state.in_(ACTIVE))
    return list(connection.scalars(wanted))
