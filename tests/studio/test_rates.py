"""Calls are counted for each account by the minute, by all servers together."""

import threading

import pytest
from sqlalchemy import func, select, update

from studio import rates
from studio.accounts import create_account, local_account
from studio.database import open_database
from studio.errors import TooMany
from studio.tables import rates as table

LIMIT = 5


@pytest.fixture
def account(database) -> str:
    return local_account(database).id


def calls_taken(database, account, number) -> int:
    taken = 0
    for _ in range(number):
        try:
            rates.count_call(database, account, LIMIT)
        except TooMany:
            continue
        taken += 1
    return taken


def pass_minutes(database, minutes) -> None:
    """Let all that was counted be so many minutes older."""
    with database.write() as connection:
        connection.execute(update(table).values(minute=table.c.minute - minutes))


def rows(database) -> int:
    with database.read() as connection:
        return connection.scalar(select(func.count()).select_from(table))


@pytest.fixture(autouse=True)
def same_minute(database, monkeypatch):
    """A minute that does not end while a test runs."""
    monkeypatch.setattr(rates, "MINUTE_S", 1e7)


def test_no_more_than_the_limit(database, account):
    assert calls_taken(database, account, 2 * LIMIT) == LIMIT
    with pytest.raises(TooMany, match="More than 5 calls") as refused:
        rates.count_call(database, account, LIMIT)
    assert refused.value.code == "rate_limit"
    assert 1 <= refused.value.retry_after_s <= rates.MINUTE_S


def test_the_next_minute_is_a_new_one(database, account):
    calls_taken(database, account, 2 * LIMIT)
    pass_minutes(database, 1)
    assert calls_taken(database, account, 2 * LIMIT) == LIMIT
    assert rows(database) == 1  # the old one is gone


def test_accounts_are_counted_apart(database, account):
    calls_taken(database, account, 2 * LIMIT)
    assert calls_taken(database, create_account(database, "anna").id, 2 * LIMIT) == LIMIT


def test_servers_count_together(database, database_url, account):
    other = open_database(database_url)
    taken, begin = [], threading.Barrier(6)

    def call(index):
        begin.wait(30)
        taken.append(calls_taken((database, other)[index % 2], account, 3))

    threads = [threading.Thread(target=call, args=(index,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    other.close()
    assert len(taken) == 6
    assert sum(taken) == LIMIT


def test_old_counts_are_swept(database, account):
    rates.count_call(database, account, LIMIT)
    assert rates.sweep(database) == 0
    pass_minutes(database, 2)
    assert rates.sweep(database) == 1
    assert rows(database) == 0
