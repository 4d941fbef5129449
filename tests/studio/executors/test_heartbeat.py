"""The heartbeat on real databases: what it writes, what it hears, and what it takes."""

import os
import threading

import pytest
import structlog

from engine.errors import Cancelled
from studio.errors import LeaseLost
from studio.executors.heartbeat import STALLED, Heartbeat, Stopping
from studio.store import tasks
from studio.store.accounts import local_account
from tests.waiting import PATIENCE_S, OwnClock, wait_until

LEASE_S = 3600.0


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    """Beats follow one another quickly."""
    monkeypatch.setattr("studio.executors.heartbeat._BEAT_S", 0.02)


@pytest.fixture
def account(database):
    return local_account(database)


@pytest.fixture
def task(database, account):
    with database.write() as connection:
        tasks.submit(connection, account.id, "conversion", {})
    claimed = tasks.claim(database, "worker", ["conversion"], LEASE_S)
    assert claimed
    return claimed


def heartbeat(database, task, grace_s=0.0, may_finish=True, stopping=None):
    log = structlog.get_logger()
    return Heartbeat(database, task, LEASE_S, stopping or Stopping(grace_s), log, may_finish)


def row(database, task):
    return tasks.find(database, task.account_id, task.id)


def end_lease(database):
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE tasks SET lease_until = 1.0")


def wait_for_a_beat(database, task):
    """Let the lease end, and wait until it has been renewed."""
    end_lease(database)
    wait_until(lambda: row(database, task).lease_until > 1.0)


def test_heartbeat_holds_the_lease_until_it_ends(database, task):
    with heartbeat(database, task):
        for _ in range(3):
            wait_for_a_beat(database, task)
        assert tasks.recover(database, 3) == []
        assert row(database, task).state == "running"
    end_lease(database)
    tasks.recover(database, 3)
    assert row(database, task).state == "queued"


def test_heartbeat_writes_the_progress_clipped_to_1(database, task):
    with heartbeat(database, task) as beating:
        beating.report(0.25, "converting")
        wait_until(lambda: row(database, task).progress == 0.25)
        assert row(database, task).message == "converting"
        beating.report(float("nan"), "odd")
        beating.report(7.0, "more than all")
        wait_until(lambda: row(database, task).progress == 1.0)


def test_heartbeat_report_raises_cancelled_and_keeps_the_lease(database, task):
    with heartbeat(database, task) as beating:
        beating.report(0.1, "")
        tasks.request_cancel(database, task.account_id, task.id)
        wait_until(lambda: beating.is_cancelled)
        with pytest.raises(Cancelled):
            beating.report(0.2, "")
        wait_for_a_beat(database, task)
        assert row(database, task).state == "running"
        with database.write() as connection:
            tasks.cancelled(connection, task)


def test_heartbeat_report_raises_after_the_lease_is_lost(database, task):
    with heartbeat(database, task) as beating:
        tasks.recover(database, 3, [task.owner])
        wait_until(lambda: beating.is_lost)
        with pytest.raises(LeaseLost):
            beating.report(0.5, "")


def test_heartbeat_resets_the_attempt_after_a_new_checkpoint(database, task, tmp_path):
    with database.write() as connection:
        tasks.give_up(connection, task, 3, "", "")
    second = wait_until(lambda: tasks.claim(database, "worker", ["conversion"], LEASE_S))
    assert second.attempt == 2
    checkpoint = tmp_path / "checkpoint.pt"
    checkpoint.write_bytes(b"of an earlier attempt")
    with heartbeat(database, second) as beating:
        beating.watch(checkpoint)
        wait_for_a_beat(database, second)
        assert row(database, second).attempt == 2
        os.utime(checkpoint, ns=(1, 1))
        wait_until(lambda: row(database, second).attempt == 1)


def test_heartbeat_report_resets_the_attempt_before_the_next_beat(database, task, tmp_path):
    """A worker that was killed within the same second had advanced, and it counted as an attempt all the same."""
    checkpoint = tmp_path / "checkpoint.pt"
    beating = Heartbeat(database, task, 1000.0, Stopping(0.0), structlog.get_logger())  # which does not beat by itself
    beating.watch(checkpoint)
    for number in range(2):
        with database.write() as connection:
            connection.exec_driver_sql("UPDATE tasks SET attempt = 3")
        beating.report(0.5, "trains")
        assert row(database, task).attempt == 3
        checkpoint.write_bytes(b"of this one")
        os.utime(checkpoint, ns=(number, number))
        beating.report(0.5, "trains")
        assert row(database, task).attempt == 1


def test_heartbeat_survives_a_locked_database(sqlite_database):
    account = local_account(sqlite_database)
    with sqlite_database.write() as connection:
        tasks.submit(connection, account.id, "conversion", {})
    task = tasks.claim(sqlite_database, "worker", ["conversion"], 60.0)
    released, held = threading.Event(), threading.Event()

    def hold():
        with sqlite_database.write():
            held.set()
            released.wait(PATIENCE_S)

    holder = threading.Thread(target=hold)
    with Heartbeat(sqlite_database, task, LEASE_S, Stopping(0.0), structlog.get_logger()) as beating:
        holder.start()
        assert held.wait(PATIENCE_S)
        beating.report(0.5, "while nobody could write")
        wait_until(beating._beating.locked)  # a beat waits for the others
        released.set()
        wait_until(lambda: row(sqlite_database, task).progress == 0.5)
        beating.report(0.6, "")  # and it is still ours
    holder.join()


@pytest.mark.parametrize(("grace_s", "may_finish"), [(0.0, True), (60.0, False)])
def test_heartbeat_cancels_work_that_cannot_finish_when_the_process_stops(database, task, grace_s, may_finish):
    stopping = Stopping(grace_s)
    with heartbeat(database, task, may_finish=may_finish, stopping=stopping) as beating:
        beating.report(0.1, "")
        stopping.ask()
        with pytest.raises(Cancelled):
            beating.report(0.2, "")
        assert not beating.is_cancelled


@pytest.fixture
def clock(monkeypatch):
    own = OwnClock()
    monkeypatch.setattr("studio.executors.heartbeat.time", own)
    return own


def test_stopping_is_over_only_after_its_grace_period(clock):
    stopping = Stopping(20.0)
    assert not stopping.is_over()
    stopping.ask()
    assert stopping.asked
    assert not stopping.is_over()
    clock.sleep(20.0)
    stopping.ask()  # again changes nothing
    assert stopping.is_over()
    assert not stopping.is_over(extra_s=60.0)


def test_heartbeat_ends_the_process_when_work_stalls(sqlite_database, clock):
    database, account = sqlite_database, local_account(sqlite_database)
    with database.write() as connection:
        tasks.submit(connection, account.id, "conversion", {})
    task = tasks.claim(database, "worker", ["conversion"], LEASE_S)
    ended = []
    log = structlog.get_logger()
    with Heartbeat(database, task, LEASE_S, Stopping(0.0), log, True, 50.0, ended.append) as beating:
        for _ in range(8):  # as long as it reports, it may take its time
            clock.sleep(40.0)
            beating.report(0.5, "converting")
            wait_for_a_beat(database, task)
        assert not ended
        clock.sleep(60.0)
        wait_until(lambda: ended)
    assert ended == [STALLED]
