"""Transactions, the clock they share, and what is said where the database cannot do what it should."""

import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import psycopg
import pytest
from sqlalchemy import func, insert, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from engine.errors import SettingsError
from studio.errors import DiskFull, Unavailable
from studio.store.database import Now, _use_write_ahead_log, database_url, insert_into, insert_or_keep, open_database
from studio.store.migration import upgrade
from studio.store.tables import accounts
from tests.waiting import PATIENCE_S, OwnClock, in_threads, wait_until


def add(connection, name):
    connection.execute(insert(accounts).values(id=name, name=name, created_at=Now()))


def names(database):
    with database.read() as connection:
        return sorted(connection.scalars(select(accounts.c.name)))


def test_now_advances_and_matches_the_system_clock(database):
    rounding_s = 0.002
    before_s = time.time()
    with database.read() as connection:
        first_s = connection.scalar(select(Now()))
        second_s = wait_until(lambda: (now_s := connection.scalar(select(Now()))) > first_s and now_s)
        later_s = connection.scalar(select(Now() + 60.5)) - 60.5
    assert before_s - rounding_s < first_s < second_s <= later_s + rounding_s < time.time() + 2 * rounding_s


def test_open_database_again_keeps_the_locks_of_open_connections(sqlite_database):
    """Another process that closes its own connection must not take away the write-ahead log."""
    url = str(sqlite_database.engine.url)
    file = sqlite_database.engine.url.database
    with sqlite_database.write() as connection:
        add(connection, "before")
    open_database(url).close()
    program = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); print(*c.execute('SELECT name FROM accounts'))"
    ask = [sys.executable, "-c", f"{program}; c.close()", file]
    subprocess.run(ask, check=True, capture_output=True)
    with sqlite_database.write() as connection:
        add(connection, "after")
    assert "after" in subprocess.run(ask, check=True, capture_output=True, text=True).stdout


def test_statements_with_now_have_a_cache_key():
    assert select(Now())._generate_cache_key() is not None  # without one each call would compile them anew


def test_database_write_rolls_back_a_failed_transaction(database):
    def add_and_break(connection):
        add(connection, "leo")
        raise ZeroDivisionError

    with database.write() as connection:
        add(connection, "anna")
    with pytest.raises(ZeroDivisionError), database.write() as connection:
        add_and_break(connection)
    assert names(database) == ["anna"]


def test_database_read_sees_one_snapshot_on_sqlite(sqlite_database):
    with sqlite_database.read() as reading:
        count = select(func.count()).select_from(accounts)
        assert reading.scalar(count) == 0
        with sqlite_database.write() as connection:  # a reader keeps no writer waiting
            add(connection, "anna")
        assert reading.scalar(count) == 0


def test_insert_or_keep_skips_and_insert_into_updates_existing_rows(database):
    with database.write() as connection:
        for _ in range(2):
            connection.execute(insert_or_keep(connection, accounts).values(id="a", name="anna", created_at=1.0))
        renamed = insert_into(connection, accounts).values(id="a", name="leo", created_at=2.0)
        connection.execute(renamed.on_conflict_do_update(index_elements=[accounts.c.id], set_={"name": "leo"}))
    assert names(database) == ["leo"]


def test_database_passes_on_statement_errors_unchanged(database):
    with pytest.raises(DBAPIError, match="nowhere"), database.read() as connection:
        connection.execute(text("SELECT 1 FROM nowhere"))
    with database.write() as connection:
        add(connection, "anna")
    with pytest.raises(IntegrityError), database.write() as connection:
        add(connection, "anna")


def test_database_write_reports_busy_while_another_program_holds_the_lock(sqlite_database):
    holder = sqlite3.connect(sqlite_database.engine.url.database, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    impatient = open_database(str(sqlite_database.engine.url), busy_s=0.1)
    with pytest.raises(Unavailable, match="busy") as refused, impatient.write() as connection:
        add(connection, "anna")
    assert refused.value.code == "database_busy"
    assert refused.value.retry_after_s > 0
    assert names(impatient) == []  # reading goes on
    holder.rollback()
    holder.close()
    with impatient.write() as connection:
        add(connection, "anna")
    assert names(impatient) == ["anna"]
    impatient.close()


def test_database_write_waits_for_other_writers(database):
    def work(index):
        for number in range(10):
            with database.write() as connection:
                add(connection, f"{index}-{number}")

    in_threads(6, work)
    assert len(names(database)) == 60


def test_database_write_waits_no_longer_than_it_is_told(database_url, database):
    """The rows of a busy PostgreSQL are locked, the whole file of SQLite is; both wait for long otherwise."""
    with database.write() as connection:
        add(connection, "mia")
    change = update(accounts).where(accounts.c.id == "mia").values(name="leo")
    other = open_database(database_url, busy_s=PATIENCE_S)
    with database.write() as connection:
        connection.execute(change)
        with pytest.raises(Unavailable) as refused, other.write(0.01) as impatient:
            impatient.execute(change)
    assert refused.value.code == "database_busy"
    with other.write() as connection:  # as patient as before
        connection.execute(change)
        if other.is_sqlite:
            assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 1000 * PATIENCE_S
    other.close()


def test_database_read_reports_busy_without_a_free_connection(sqlite_database):
    impatient = open_database(str(sqlite_database.engine.url), busy_s=0.1)
    with ExitStack() as held:

        def hold(number):
            for _ in range(number):
                held.enter_context(impatient.read())

        with pytest.raises(Unavailable) as refused:
            hold(100)
        assert refused.value.code == "database_busy"
    assert names(impatient) == []
    impatient.close()


def test_database_read_does_not_wait_for_writers(sqlite_database):
    """The service reads in the thread that answers everybody."""
    holder = sqlite3.connect(sqlite_database.engine.url.database, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    patient = open_database(str(sqlite_database.engine.url), busy_s=PATIENCE_S)

    def write(number):
        with patient.write() as connection:
            add(connection, str(number))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(60)]
    for thread in threads:
        thread.start()
    pool = patient.writers.pool
    wait_until(lambda: pool.checkedout() == pool.size() + pool._max_overflow)  # they hold all that writers have
    assert names(patient) == []
    assert all(thread.is_alive() for thread in threads)
    holder.rollback()
    holder.close()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(names(patient)) == 60
    patient.close()


def test_database_write_reports_a_full_disk(sqlite_database):
    def fill():
        with sqlite_database.write() as connection:
            connection.execute(text("PRAGMA max_page_count=1"))
            for number in range(2000):
                add(connection, f"{number:0200}")

    with pytest.raises(DiskFull, match="full"):
        fill()
    assert names(sqlite_database) == []


def test_open_database_lets_only_this_user_read_it(tmp_path):
    file = tmp_path / "studio.sqlite"
    for mode in (None, 0o644):  # new, and of an earlier version
        if mode:
            file.chmod(mode)
        database = open_database(f"sqlite:///{file}")
        upgrade(database)
        assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {
            name: 0o600 for name in ("studio.sqlite", "studio.sqlite-wal", "studio.sqlite-shm")
        }
        database.close()


def test_upgrade_reports_a_damaged_database(tmp_path, sqlite_template):
    content = bytearray(sqlite_template.read_bytes())
    content[100:3000] = b"\xff" * 2900  # in the first page, behind the header
    (tmp_path / "damaged.sqlite").write_bytes(content)
    database = open_database(f"sqlite:///{tmp_path / 'damaged.sqlite'}")
    with pytest.raises(Unavailable, match="is damaged"):
        upgrade(database)
    database.close()


def test_database_read_reports_a_file_that_is_not_a_database(tmp_path):
    (tmp_path / "holiday.sqlite").write_bytes(b"JFIF" * 5000)
    database = open_database(f"sqlite:///{tmp_path / 'holiday.sqlite'}")
    with pytest.raises(Unavailable, match="not a database"), database.read():
        pass
    database.close()


def test_database_read_reports_an_unreachable_server():
    database = open_database("postgresql://nobody@127.0.0.1:9/none?connect_timeout=2")
    with pytest.raises(Unavailable) as refused, database.read():
        pass
    assert refused.value.code == "database_unreachable"
    assert "nobody" not in str(refused.value)
    database.close()


def test_database_read_reports_a_lost_connection_and_reconnects(postgresql_tables):
    database = open_database(postgresql_tables)

    def read_while_it_goes():
        with database.read() as connection, psycopg.connect(postgresql_tables, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [connection.scalar(select(func.pg_backend_pid()))])
            wait_until(lambda: connection.scalar(select(0)))  # it takes a moment

    with pytest.raises(Unavailable) as refused:
        read_while_it_goes()
    assert refused.value.code == "database_unreachable"
    assert names(database) == []
    database.close()


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite://", "sqlite:///:memory:", "what", "", "oracle://x"])
def test_open_database_refuses_invalid_addresses(url):
    with pytest.raises(SettingsError, match=r"database"):
        open_database(url)


def test_database_url_defaults_to_a_sqlite_file_in_the_data_folder(tmp_path):
    assert database_url("", tmp_path) == f"sqlite:///{tmp_path}/studio.sqlite"
    assert database_url("postgresql://x/y", tmp_path) == "postgresql://x/y"
    deep = open_database(database_url("", tmp_path / "a" / "b"))
    with deep.read() as connection:
        assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
        assert connection.scalar(text("PRAGMA foreign_keys")) == 1
    assert deep.is_sqlite
    deep.close()


def test_database_errors_hide_parameter_values(database):
    with database.write() as connection:
        add(connection, "anna")
    with pytest.raises(IntegrityError) as error, database.write() as connection:
        add(connection, "anna")
    assert "parameters hidden" in str(error.value)


@pytest.fixture
def converting(tmp_path):
    """A connection that SQLite itself does not let wait, to a new file that another connection is reading."""
    file = tmp_path / "new.sqlite"
    reader = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    reader.execute("CREATE TABLE some (number)")
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM some").fetchall()
    connection = sqlite3.connect(file, timeout=0)
    yield connection, reader
    connection.close()
    reader.close()


@pytest.fixture
def clock(monkeypatch):
    """The clock of databases."""
    own = OwnClock()
    monkeypatch.setattr("studio.store.database.time", own)
    return own


def test_use_write_ahead_log_waits_for_a_reader_to_finish(converting, clock, monkeypatch):
    connection, reader = converting
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        connection.execute("PRAGMA journal_mode=WAL")
    monkeypatch.setattr(clock, "sleep", lambda seconds: reader.execute("COMMIT"))
    _use_write_ahead_log(connection, busy_s=30.0)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_use_write_ahead_log_gives_up_after_busy_s(converting, clock):
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        _use_write_ahead_log(converting[0], busy_s=10.0)
    assert sum(clock.slept) == pytest.approx(10.0, abs=0.1)


def test_database_says_that_it_is_read_only(sqlite_database):
    """It said "try again in a moment"."""

    def write() -> None:
        with sqlite_database.write() as writing:
            writing.exec_driver_sql("PRAGMA query_only=ON")
            writing.exec_driver_sql("CREATE TABLE new (id INTEGER)")

    with pytest.raises(Unavailable, match="cannot be written to"):
        write()


def test_database_puts_no_empty_one_in_the_place_of_one_that_is_gone(tmp_path):
    """A worker that began then made a new folder with a new database."""
    file = tmp_path / "home" / "studio.sqlite"
    open_database(f"sqlite:///{file}").close()
    database = open_database(f"sqlite:///{file}")
    shutil.rmtree(file.parent)
    for gone in (database, open_database(f"sqlite:///{file}", create=False)):
        with pytest.raises(Unavailable, match="The data folder is gone"), gone.read():
            pass
        gone.close()
    assert not file.parent.exists()


def test_database_opens_a_file_whose_name_has_signs_of_addresses(tmp_path):
    file = tmp_path / "a&b #1" / "studio.sqlite"
    database = open_database(f"sqlite:///{file}")
    with database.write() as writing:
        writing.exec_driver_sql("CREATE TABLE new (id INTEGER)")
    database.close()
    assert file.stat().st_size > 0
