"""Accounts: the owners of voices and tasks, and what belongs to them in the storage."""

import secrets
from dataclasses import dataclass

from sqlalchemy import ColumnElement, insert, select
from sqlalchemy.exc import IntegrityError

from engine.texts import ntr, tr
from studio.errors import Invalid, NotFound
from studio.store.database import Columns, Database, Now, insert_or_keep
from studio.store.tables import accounts

LOCAL = "local"
LONGEST_NAME = 200


@dataclass(frozen=True)
class Account:
    """The owner of voices and tasks."""

    id: str
    name: str

    @property
    def is_local(self) -> bool:
        """Whether it is the account of this machine, which the command line shares."""
        return self.name == LOCAL


def local_account(database: Database) -> Account:
    """Return the account of this machine's own user, created on the first call."""
    with database.write() as connection:
        connection.execute(insert_or_keep(connection, accounts).values(_row_of(_new_account(LOCAL))))
    return find_account(database, LOCAL)


def find_account(database: Database, name: str) -> Account:
    """Return the account called `name`. Raises NotFound."""
    return _select_account(
        database,
        accounts.c.name == checked_name(name, tr("An account")),
        tr("There is no account '{name}' here.", name=name),
    )


def account_of_id(database: Database, account_id: str) -> Account:
    """Return the account with this id. Raises NotFound."""
    return _select_account(database, accounts.c.id == account_id, tr("There is no such account here."))


def has_others(database: Database) -> bool:
    """Return whether anybody besides this machine's own user has an account here."""
    with database.read() as connection:
        return connection.scalar(select(accounts.c.id).where(accounts.c.name != LOCAL).limit(1)) is not None


def create_account(database: Database, name: str) -> Account:
    """Create an account called `name`. Raises Invalid for a name that is empty, too long or taken."""
    account = _new_account(checked_name(name, tr("An account")))
    try:
        with database.write() as connection:
            connection.execute(insert(accounts).values(_row_of(account)))
    except IntegrityError as cause:
        raise Invalid(
            [("name", tr("There is already an account '{name}': choose another name.", name=name))]
        ) from cause
    return account


def _select_account(database: Database, condition: ColumnElement[bool], otherwise: str) -> Account:
    with database.read() as connection:
        row = connection.execute(select(accounts.c.id, accounts.c.name).where(condition)).one_or_none()
    if row is None:
        raise NotFound(otherwise)
    return Account(row.id, row.name)


def _new_account(name: str) -> Account:
    return Account(secrets.token_hex(12), name)


def _row_of(account: Account) -> Columns:
    return {"id": account.id, "name": account.name, "created_at": Now()}


def checked_name(name: str, what: str) -> str:
    """Return the name of an account or a token. Raises Invalid."""
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise Invalid(
            [
                (
                    "name",
                    ntr(
                        "{what} needs a name of 1 to {longest_name} printable character.",
                        "{what} needs a name of 1 to {longest_name} printable characters.",
                        longest_name=LONGEST_NAME,
                        what=what,
                    ),
                )
            ]
        )
    return name


def owner_of_key(key: str) -> str | None:
    """Return the id of the account that a stored file belongs to; None for the local one."""
    area, _, rest = key.partition("/")
    return rest.partition("/")[0] if area == "accounts" else None


def account_prefix(account: Account) -> str:
    """Return the prefix of an account's files in the storage; the local one shares the command line's folders."""
    return "" if account.is_local else f"accounts/{account.id}/"
