"""`token`: create, list and revoke the tokens of the service's clients."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from engine.texts import tr
from studio.commands.arguments import AsJson
from studio.commands.failures import in_one_sentence
from studio.commands.parsing import command_group
from studio.commands.tables import print_table
from studio.commands.wording import complain, say, translated
from studio.settings.options import option

if TYPE_CHECKING:  # the database takes a moment to load
    from studio.store.accounts import Account
    from studio.store.database import Database
    from studio.store.tokens import Token

_DAY_S = 86400.0
_COLUMNS = (tr("id"), tr("account"), tr("name"), tr("state"), tr("valid until"), tr("last used"))

token = command_group(tr("Create, list and revoke the tokens that clients of the service need."), no_args_is_help=True)


@token.command()
@in_one_sentence
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help=tr("What the token is for."))] = "unnamed",
    account: Annotated[str, option("NAME", tr("Its account, created if it does not exist."))] = "local",
    expires_days: Annotated[float | None, option("DAYS", tr("How long it is valid. Default: until revoked."))] = None,
) -> None:
    """Create a token and print it once; only its digest is stored."""
    from studio.store.tokens import create_token

    expires_s = None if expires_days is None else expires_days * _DAY_S
    with token_database() as database:
        made, secret = create_token(database, _account(database, account, make=True), name, expires_s)
    if made.expires_at is None:
        say(
            tr(
                "Token '{name}' ({id}) of account '{account}' is valid until it is revoked.",
                name=made.name,
                id=made.id,
                account=made.account,
            )
        )
    else:
        until = _written(made.expires_at)
        say(
            tr(
                "Token '{name}' ({id}) of account '{account}' is valid until {until}.",
                name=made.name,
                id=made.id,
                account=made.account,
                until=until,
            )
        )
    complain(tr("The token is shown only once. Keep it like a password:"))
    typer.echo(secret)


@token.command("list")
@in_one_sentence
def list_all(
    account: Annotated[str | None, option("NAME", tr("Only the tokens of this account."))] = None,
    as_json: AsJson = False,
) -> None:
    """List all tokens, valid or not; their secrets are not stored."""
    from studio.store.tokens import list_tokens

    with token_database() as database:
        found = list_tokens(database, None if account is None else _account(database, account))
    rows = [_described(one) for one in found]
    if as_json:
        typer.echo(json.dumps({"tokens": rows}, indent=2, ensure_ascii=False))
        return
    print_table(_COLUMNS, map(_row, rows))


@token.command()
@in_one_sentence
def revoke(
    which: Annotated[
        str, typer.Argument(metavar="TOKEN", help=tr("The token's id, or its name if no other token has it."))
    ],
    account: Annotated[str | None, option("NAME", tr("Only a token of this account."))] = None,
) -> None:
    """Revoke a token immediately and permanently."""
    from studio.store.tokens import revoke_token

    with token_database() as database:
        gone = revoke_token(database, which, None if account is None else _account(database, account))
    say(
        tr("Token '{name}' ({id}) of account '{account}' is revoked.", name=gone.name, id=gone.id, account=gone.account)
    )


@contextmanager
def token_database() -> Iterator["Database"]:
    from studio.settings.environment import load_service_settings, load_settings
    from studio.store.database import database_url, open_database
    from studio.store.migration import upgrade

    database = open_database(database_url(load_service_settings().database_url, load_settings().data))
    try:
        upgrade(database)
        yield database
    finally:
        database.close()


def _account(database: "Database", name: str, make: bool = False) -> "Account":
    from studio.errors import NotFound
    from studio.store.accounts import LOCAL, create_account, find_account, local_account

    if name == LOCAL:
        return local_account(database)
    try:
        return find_account(database, name)
    except NotFound:
        if not make:
            raise
    made = create_account(database, name)
    say(tr("Created account '{name}'.", name=name))
    return made


def _described(one: "Token") -> dict[str, str | None]:
    valid, expired, revoked = (tr("valid"), tr("expired"), tr("revoked"))
    state = valid if one.is_valid else expired if one.revoked_at is None else revoked
    times = (one.created_at, one.expires_at, one.used_at)
    created, expires, used = (None if time_s is None else _written(time_s) for time_s in times)
    named = {"id": one.id, "account": one.account, "name": one.name, "state": state}
    return named | {"created_at": created, "expires_at": expires, "used_at": used}


def _row(token: dict[str, str | None]) -> list[str]:
    named = [token[name] or "" for name in ("id", "account", "name")]
    return [*named, translated(token["state"] or ""), _day(token, "expires_at"), _day(token, "used_at")]


def _day(row: dict[str, str | None], name: str) -> str:
    return (row[name] or "").partition("T")[0]


def _written(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="minutes")
