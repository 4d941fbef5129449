"""Tokens: whose a token is, until when, and that it is kept nowhere."""

import hashlib
from dataclasses import asdict
from pathlib import Path

import pytest
from sqlalchemy import event, select, update

from studio.errors import Invalid, NotFound, Unavailable
from studio.store.accounts import create_account, local_account
from studio.store.database import Now, open_database
from studio.store.tables import tokens
from studio.store.tokens import TOKEN_PREFIX, account_of_token, create_token, list_tokens, revoke_token

LIKE_A_TOKEN = TOKEN_PREFIX + "A" * 43


def test_account_of_token_returns_the_owner(database):
    anna, leo = create_account(database, "anna"), create_account(database, "leo")
    made, secret = create_token(database, anna, "laptop")
    _, other = create_token(database, leo, "laptop")
    assert len(secret) == 46
    assert secret.startswith("ts_")
    assert secret != other
    assert account_of_token(database, secret) == anna
    assert account_of_token(database, other) == leo
    assert (made.account, made.name, made.expires_at, made.is_valid) == ("anna", "laptop", None, True)


def test_create_token_never_stores_the_secret(sqlite_database):
    made, secret = create_token(sqlite_database, local_account(sqlite_database), "laptop")
    account_of_token(sqlite_database, secret)
    digest = hashlib.sha256(secret.encode()).hexdigest()
    with sqlite_database.read() as connection:
        assert connection.scalar(select(tokens.c.digest)) == digest
    folder = Path(sqlite_database.engine.url.database).parent
    assert all(secret.encode() not in file.read_bytes() for file in folder.iterdir())
    told = repr([asdict(made), *map(asdict, list_tokens(sqlite_database))])
    assert secret not in told
    assert digest not in told


@pytest.mark.parametrize(
    "secret", ["", "ts_", LIKE_A_TOKEN, LIKE_A_TOKEN + "A", "x" * 46, "ts_" + "ä" * 43, "ts_" + "\0" * 43, "ts_\ud800"]
)
def test_account_of_token_is_none_for_an_invalid_token(database, secret):
    create_token(database, local_account(database), "laptop")
    assert account_of_token(database, secret) is None


def test_account_of_token_is_case_sensitive(database):
    _, secret = create_token(database, local_account(database), "laptop")
    assert account_of_token(database, secret.swapcase()) is None
    assert account_of_token(database, "ts_" + secret[3:].swapcase()) is None


def test_account_of_token_is_none_for_an_expired_token(database):
    made, secret = create_token(database, local_account(database), "laptop", expires_s=1000.0)
    assert made.expires_at - made.created_at == pytest.approx(1000, abs=60)
    assert account_of_token(database, secret) is not None
    with database.write() as connection:
        connection.execute(update(tokens).values(expires_at=Now() - 0.001))
    assert account_of_token(database, secret) is None
    assert [token.is_valid for token in list_tokens(database)] == [False]


@pytest.mark.parametrize("expires_s", [0.0, -1.0, float("nan"), float("inf"), 1e300])
def test_create_token_refuses_an_invalid_lifetime(database, expires_s):
    with pytest.raises(Invalid, match="lifetime"):
        create_token(database, local_account(database), "laptop", expires_s)
    assert list_tokens(database) == []


def test_revoke_token_accepts_an_id_or_an_unambiguous_name(database):
    local, anna = local_account(database), create_account(database, "anna")
    first, first_secret = create_token(database, local, "laptop")
    second, second_secret = create_token(database, local, "laptop")
    with pytest.raises(Invalid, match="2 tokens"):
        revoke_token(database, "laptop")
    with pytest.raises(NotFound):
        revoke_token(database, first.id, anna)
    gone = revoke_token(database, first.id)
    assert (gone.id, gone.is_valid) == (first.id, False)
    assert gone.revoked_at is not None
    assert account_of_token(database, first_secret) is None
    assert account_of_token(database, second_secret) == local
    assert revoke_token(database, "laptop").id == second.id  # the only one left of this name
    assert account_of_token(database, second_secret) is None
    with pytest.raises(NotFound, match="no valid token"):
        revoke_token(database, "laptop")


def test_list_tokens_lists_one_account_or_all(database):
    local, anna = local_account(database), create_account(database, "anna")
    ids = [create_token(database, account, "x")[0].id for account in (local, anna, local)]
    assert sorted(token.id for token in list_tokens(database)) == sorted(ids)
    assert [token.id for token in list_tokens(database, anna)] == [ids[1]]


def test_account_of_token_records_the_last_use_once_an_hour(database):
    _, secret = create_token(database, local_account(database), "laptop")
    assert list_tokens(database)[0].used_at is None
    account_of_token(database, secret)
    first = list_tokens(database)[0].used_at
    account_of_token(database, secret)
    assert list_tokens(database)[0].used_at == first is not None
    with database.write() as connection:
        connection.execute(update(tokens).values(used_at=first - 3700))
    account_of_token(database, secret)
    assert list_tokens(database)[0].used_at >= first


def test_account_of_token_works_while_the_database_is_locked_for_writing(sqlite_database):
    """Whose a token is can be read while others write; when it was used need not be noted just then."""
    _, secret = create_token(sqlite_database, local_account(sqlite_database), "laptop")
    impatient = open_database(str(sqlite_database.engine.url), busy_s=0.05)
    with sqlite_database.write():
        assert account_of_token(impatient, secret) is not None
        with pytest.raises(Unavailable):
            create_token(impatient, local_account(impatient), "other")
    impatient.close()


def test_account_of_token_takes_one_indexed_query(sqlite_database):
    local = local_account(sqlite_database)
    secrets = [create_token(sqlite_database, local, f"token {number}")[1] for number in range(50)]
    account_of_token(sqlite_database, secrets[0])
    asked = []
    event.listen(sqlite_database.engine, "before_cursor_execute", lambda *call: asked.append(call[2:4]))
    account_of_token(sqlite_database, secrets[0])
    [(statement, parameters)] = [call for call in asked if call[0].startswith("SELECT")]
    with sqlite_database.read() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    assert not [row for row in plan if "SCAN" in row[-1]]
