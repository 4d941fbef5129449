"""Calls are counted for each account by the minute, by all servers together."""

import pytest
from sqlalchemy import func, select, update

from studio.errors import TooMany, Unavailable
from studio.store import rate_limits as rates
from studio.store.accounts import create_account
from studio.store.database import open_database
from studio.store.tables import rates as table
from tests.waiting import in_threads

LIMIT = 5


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


def test_count_call_refuses_calls_beyond_the_limit(database, account):
    assert calls_taken(database, account, 2 * LIMIT) == LIMIT
    with pytest.raises(TooMany, match="More than 5 calls") as refused:
        rates.count_call(database, account, LIMIT)
    assert refused.value.code == "rate_limit"
    assert 1 <= refused.value.retry_after_s <= rates.MINUTE_S


def test_count_call_starts_anew_in_the_next_minute(database, account):
    calls_taken(database, account, 2 * LIMIT)
    pass_minutes(database, 1)
    assert calls_taken(database, account, 2 * LIMIT) == LIMIT
    assert rows(database) == 1  # the old one is gone


def test_count_call_counts_each_account_separately(database, account):
    calls_taken(database, account, 2 * LIMIT)
    assert calls_taken(database, create_account(database, "anna").id, 2 * LIMIT) == LIMIT


def test_count_call_shares_the_limit_between_servers(database, database_url, account):
    other = open_database(database_url)
    taken = in_threads(6, lambda index: calls_taken((database, other)[index % 2], account, 3))
    other.close()
    assert sum(taken) == LIMIT


def test_sweep_deletes_old_counts(database, account):
    rates.count_call(database, account, LIMIT)
    assert rates.sweep(database) == 0
    pass_minutes(database, 2)
    assert rates.sweep(database) == 1
    assert rows(database) == 0


# ---- reads, of which several are taken at a time


def reads_taken(reads, account, number) -> int:
    taken = 0
    for _ in range(number):
        try:
            if not reads.take_reserved(account, 0.0):
                reads.take(account, 0.0)
        except TooMany:
            continue
        taken += 1
    return taken


def test_shared_reads_count_one_limit_for_all_servers(database, account):
    one, other = (rates.SharedReads(database, 200) for _ in range(2))
    assert reads_taken(one, account, 3) == 3
    with database.read() as connection:
        assert connection.scalar(select(table.c.calls)) == 4  # a hundredth at a time
    assert reads_taken(one, account, 100) == 100
    assert reads_taken(other, account, 100) == 96  # one that the first took and has not used is nobody else's
    assert reads_taken(one, account, 5) == 1


def test_shared_reads_refuse_again_without_a_database_query(database, account, monkeypatch):
    reads = rates.SharedReads(database, 1)
    assert reads_taken(reads, account, 2) == 1
    monkeypatch.setattr(rates, "_take", None)
    with pytest.raises(TooMany):
        reads.take_reserved(account, 1.0)
    assert not reads.take_reserved(account, 2 * rates.MINUTE_S)


def test_shared_reads_use_up_a_small_limit_across_servers(database, account):
    one, other = (rates.SharedReads(database, LIMIT) for _ in range(2))
    assert reads_taken(one, account, 3) + reads_taken(other, account, 3) + reads_taken(one, account, 3) == LIMIT
    assert calls_taken(database, account, LIMIT) == LIMIT  # submissions are counted apart


def test_shared_reads_expire_in_the_next_minute(database, account):
    reads = rates.SharedReads(database, 1000)
    reads.take(account, 0.0)
    assert reads.take_reserved(account, 1.0)
    assert not reads.take_reserved(account, 2 * rates.MINUTE_S)


def test_shared_reads_allow_calls_while_the_database_is_unavailable(database, account, monkeypatch):
    def away(*_):
        raise Unavailable("The database is busy. Try again in a moment.", 2.0)

    monkeypatch.setattr(rates, "_take", away)
    rates.SharedReads(database, 1).take(account, 0.0)


def test_bucket_refills_over_time():
    bucket = rates.Bucket(60, 0.0)
    for _ in range(60):
        bucket.take(0.0)
    with pytest.raises(TooMany) as full:
        bucket.take(0.5)
    assert full.value.retry_after_s == pytest.approx(0.5)
    bucket.take(1.01)
    with pytest.raises(TooMany):
        bucket.take(1.02)
