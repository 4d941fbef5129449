"""Tokens of accounts. A token is shown once; only its digest is stored.
That is a plain SHA-256: a token holds 256 random bits, so that guessing is hopeless, and every call is quick."""

import functools
import hashlib
import secrets
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Select, and_, bindparam, case, insert, or_, select, update

from engine.texts import ntr, tr
from studio.errors import Invalid, NotFound, StudioError
from studio.store.accounts import Account, checked_name
from studio.store.database import SHORTLY_S, Database, Now
from studio.store.tables import accounts, tokens

TOKEN_PREFIX = "ts_"  # noqa: S105
TOKEN_LENGTH = len(TOKEN_PREFIX) + 43  # 32 random bytes as URL-safe text
_HOUR_S = 3600.0  # resolution of a token's last use


@dataclass(frozen=True)
class Token:
    """A token without its secret. Times are seconds since 1970."""

    id: str
    account_id: str
    account: str
    name: str
    created_at: float
    expires_at: float | None
    revoked_at: float | None
    used_at: float | None  # to the hour
    is_valid: bool


def create_token(database: Database, account: Account, name: str, expires_s: float | None = None) -> tuple[Token, str]:
    """Create a token of an account, for `expires_s` or until it is revoked; return it and its secret."""
    if expires_s is not None and not 0 < expires_s < 1e11:
        raise Invalid([("expires", tr("The lifetime of a token must be above 0."))])
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    token_id = secrets.token_hex(12)
    with database.write() as connection:
        connection.execute(
            insert(tokens).values(
                id=token_id,
                account_id=account.id,
                name=checked_name(name, tr("A token")),
                digest=digest_of(secret),
                created_at=Now(),
                expires_at=None if expires_s is None else Now() + expires_s,
            )
        )
        return Token(**connection.execute(_described().where(tokens.c.id == token_id)).one()._mapping), secret


def list_tokens(database: Database, account: Account | None = None) -> list[Token]:
    """Return the past and present tokens of one account, or of all, oldest first."""
    found = _described().order_by(tokens.c.created_at, tokens.c.id)
    if account is not None:
        found = found.where(tokens.c.account_id == account.id)
    with database.read() as connection:
        return [Token(**row._mapping) for row in connection.execute(found)]


def revoke_token(database: Database, id_or_name: str, account: Account | None = None) -> Token:
    """Revoke a token for good; `account` narrows the search for a name.
    Raises NotFound if no valid token has this id or name, Invalid if several have the name."""
    valid = [token for token in list_tokens(database, account) if token.is_valid]
    meant = [one for one in valid if one.id == id_or_name] or [one for one in valid if one.name == id_or_name]
    if not meant:
        raise NotFound(
            tr("There is no valid token '{id_or_name}': `token list` shows all tokens.", id_or_name=id_or_name)
        )
    if len(meant) > 1:
        raise Invalid(
            [
                (
                    "token",
                    ntr(
                        "{meant} token is called '{id_or_name}'. Give the id of one.",
                        "{meant} tokens are called '{id_or_name}'. Give the id of one.",
                        meant=len(meant),
                        id_or_name=id_or_name,
                    ),
                )
            ]
        )
    [token] = meant
    with database.write() as connection:
        connection.execute(
            update(tokens).where(tokens.c.id == token.id, tokens.c.revoked_at.is_(None)).values(revoked_at=Now())
        )
        return Token(**connection.execute(_described().where(tokens.c.id == token.id)).one()._mapping)


@dataclass(frozen=True)
class Holder:
    """The account of a token, and whether its use in the last hour is recorded."""

    account: Account
    token_id: str
    is_noted: bool


def account_of_token(database: Database, secret: str) -> Account | None:
    """Return the account of a token; None if it is unknown, expired or revoked. Raises Unavailable."""
    holder = holder_of_token(database, secret)
    if holder is None:
        return None
    if not holder.is_noted:
        note_use(database, holder)
    return holder.account


def holder_of_token(database: Database, secret: str) -> Holder | None:
    """Return the same without recording the use, so that nothing is written. Raises Unavailable."""
    if len(secret) != TOKEN_LENGTH or not secret.startswith(TOKEN_PREFIX):
        return None
    return holder_of_digest(database, digest_of(secret))


def holder_of_digest(database: Database, digest: str) -> Holder | None:
    """Return the same by the digest of a token. Raises Unavailable."""
    with database.read() as connection:
        row = connection.execute(_who_has_token(), {"asked_digest": digest}).one_or_none()
    return None if row is None else Holder(Account(row.id, row.name), row.token_id, bool(row.noted))


def valid_among(database: Database, holders: Collection[str]) -> set[str]:
    """Return those of these ids of tokens and accounts that are valid, or there, now. Raises Unavailable."""
    of_tokens = select(tokens.c.id).where(tokens.c.id.in_(holders), _is_valid())
    of_accounts = select(accounts.c.id).where(accounts.c.id.in_(holders))
    with database.read() as connection:
        return set(connection.scalars(of_tokens.union_all(of_accounts)))


def note_use(database: Database, holder: Holder) -> None:
    """Record that the token was used just now, unless the database is busy."""
    with suppress(StudioError), database.write(SHORTLY_S) as connection:
        connection.execute(update(tokens).where(tokens.c.id == holder.token_id).values(used_at=Now()))


@functools.cache
def _who_has_token() -> Select[str, str, str, bool]:
    """Select the account of the valid token with digest `asked_digest`; built once, as every call uses it."""
    noted = and_(tokens.c.used_at.is_not(None), tokens.c.used_at > Now() - _HOUR_S)
    return (
        select(accounts.c.id, accounts.c.name, tokens.c.id.label("token_id"), noted.label("noted"))
        .join(tokens, tokens.c.account_id == accounts.c.id)
        .where(tokens.c.digest == bindparam("asked_digest"), _is_valid())
    )


def digest_of(secret: str) -> str:
    """Return what is stored of a token."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _is_valid() -> ColumnElement[bool]:
    return and_(tokens.c.revoked_at.is_(None), or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > Now()))


def _described() -> Select[*tuple[object, ...]]:
    """Select tokens as `Token` has them, without the digest."""
    kept = (tokens.c.id, tokens.c.account_id, tokens.c.name, tokens.c.created_at, tokens.c.expires_at)
    return select(
        *kept,
        tokens.c.revoked_at,
        tokens.c.used_at,
        accounts.c.name.label("account"),
        case((_is_valid(), True), else_=False).label("is_valid"),
    ).join(accounts, accounts.c.id == tokens.c.account_id)
