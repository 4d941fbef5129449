"""The database: SQLite in the data folder, or PostgreSQL by URL; the same statements run on both.
On SQLite a write takes the lock at once (BEGIN IMMEDIATE), so that no transaction fails half-way for want of it."""

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import URL, Column, Connection, Engine, Row, Table, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, NoSuchModuleError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.base import ReadOnlyColumnCollection
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import Float

from engine.errors import SettingsError
from engine.files import close_to_others
from engine.installed import add_extra
from engine.provenance.installation import HOME_VARIABLE
from engine.texts import tr
from studio.errors import DiskFull, Unavailable
from studio.settings.environment import READ_ONLY, VANISHED, make_folder

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

BUSY_S = 5.0  # a writer waits this long for others
SHORTLY_S = 0.05  # the same of what an answer must not wait for
RETRY_S = 2.0
PATIENCE = "patience_s"
_BUSY_PAUSE_S = 0.01
DATABASE_FILE = "studio.sqlite"
# of libpq: otherwise a server that has vanished from the network blocks for a quarter of an hour
_AWAY = {
    "connect_timeout": 10,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
_SQLITE_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)  # the latter if the disk is too full for its shared memory
_SQLITE_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
_SQLITE_READ_ONLY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)
_SQLITE_GONE = (sqlite3.SQLITE_CANTOPEN,)
_SQLITE_MOVED = 1032  # SQLITE_READONLY_DBMOVED: another file has its name, or none
_SQLITE_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_POSTGRESQL_FULL = ("53100",)
_POSTGRESQL_BUSY = ("40001", "40P01", "53300", "55P03", "57P03")  # conflict, deadlock, connections, lock, starting


AnyTable = Table[ReadOnlyColumnCollection[str, Column[object]]]
AnyRow = Row[*tuple[object, ...]]  # of whichever columns were selected
Columns = Mapping[str, object]  # their new values: plain ones, or what the database computes


class Now(FunctionElement[float]):
    """Seconds since 1970 by the database's clock, which all workers share even if their own clocks are wrong."""

    type = Float()
    inherit_cache = True


@compiles(Now, "sqlite")
def _now_on_sqlite(element: Now, compiler: SQLCompiler, **options: object) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"  # to the millisecond


@compiles(Now, "postgresql")
def _now_on_postgresql(element: Now, compiler: SQLCompiler, **options: object) -> str:
    return "extract(epoch from clock_timestamp())::double precision"


@dataclass(frozen=True)
class Database:
    """An open database. Thread-safe; must not be passed to another process.
    writers: a pool of its own for writers that wait for each other, so that a reader gets a connection at once."""

    engine: Engine
    writers: Engine | None = None

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file, which only processes of this machine can share."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a read-only transaction. Raises Unavailable if the database is busy or unreachable."""
        with _understood(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self, patience_s: float | None = None) -> Iterator[Connection]:
        """Open a transaction that is rolled back on any exception. Raises Unavailable and DiskFull.
        patience_s: how long to wait for other writers, if not BUSY_S."""
        engine = self.writers or self.engine
        options = {"writes": True, PATIENCE: patience_s}
        with _understood(), engine.connect().execution_options(**options) as connection, connection.begin():
            if patience_s is not None and not self.is_sqlite:
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {_milliseconds(patience_s)}")
            yield connection

    def close(self) -> None:
        self.engine.dispose()
        if self.writers is not None:
            self.writers.dispose()


def insert_into(connection: Connection, table: AnyTable) -> "postgresql.Insert | sqlite.Insert":
    """Return an INSERT of the database's own dialect, which supports ON CONFLICT."""
    if connection.dialect.name == "sqlite":  # the other dialect is not loaded
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)


def insert_or_keep(connection: Connection, table: AnyTable) -> "postgresql.Insert | sqlite.Insert":
    """Return an INSERT that keeps an existing row, even one inserted at the same time."""
    return insert_into(connection, table).on_conflict_do_nothing()


def database_url(url: str, data: Path) -> str:
    """Return `url` or, if it is empty, that of the file in the data folder."""
    return url or URL.create("sqlite", database=str(data / DATABASE_FILE)).render_as_string()


def open_database(url: str, busy_s: float = BUSY_S, create: bool = True) -> Database:
    """Open the database at `url`, whose tables must exist (see `studio.store.migration`). Raises SettingsError.
    create: whether a file is made where there is none."""
    try:
        parsed = make_url(url)
        if parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        if parsed.get_backend_name() not in ("sqlite", "postgresql"):
            raise SettingsError(
                tr("The database must be sqlite:///FILE or postgresql://..., not {name}.", name=parsed.drivername)
            )
        if parsed.get_backend_name() == "sqlite":
            if create:
                _create_sqlite(parsed.database)
            return Database(_open_sqlite(parsed, busy_s), writers=_open_sqlite(parsed, busy_s))
        engine = create_engine(
            parsed,
            pool_pre_ping=True,
            pool_size=10,
            max_overflow=30,
            pool_timeout=busy_s,
            hide_parameters=True,  # in errors, which may be logged
            connect_args={name: value for name, value in _AWAY.items() if name not in parsed.query},
        )
    except (ArgumentError, NoSuchModuleError) as cause:
        raise SettingsError(
            tr("The database's address is not valid. Write it as sqlite:///FILE or postgresql://...")
        ) from cause
    except ImportError as cause:
        raise SettingsError(
            tr("PostgreSQL requires another package: {install}.", install=add_extra("postgres"))
        ) from cause
    return Database(engine)


def _create_sqlite(file: str | None) -> None:
    if not file or file == ":memory:":
        raise SettingsError(tr("The database must be a file that all processes of the studio can open."))
    make_folder(Path(file).parent)
    _keep_private(Path(file))
    if Path(file).exists() and not os.access(file, os.R_OK | os.W_OK):
        raise SettingsError(
            tr(
                'The database "{file}" belongs to another user, or cannot be written to: set {home_variable} to '
                "another folder.",
                file=file,
                home_variable=HOME_VARIABLE,
            )
        )


def _open_sqlite(url: URL, busy_s: float) -> Engine:
    # an existing file: a new one in the place of a data folder that vanished would be empty
    address = f"{Path(url.database or '').absolute().as_uri()}?mode=rw"
    engine = create_engine(
        url,
        creator=lambda: sqlite3.connect(address, uri=True, timeout=busy_s, check_same_thread=False),
        pool_size=10,
        max_overflow=30,
        pool_timeout=busy_s,
        hide_parameters=True,  # in errors, which may be logged
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, record: object) -> None:
        connection.isolation_level = None  # transactions begin below, not in the driver
        _use_write_ahead_log(connection, busy_s)
        connection.execute("PRAGMA synchronous=FULL")  # committed answers survive a power cut
        connection.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        if options.get("writes", False):
            patience_s = options.get(PATIENCE)
            with nullcontext() if patience_s is None else _patient(connection, patience_s, busy_s):
                connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:  # takes no lock, so it cannot fail; through SQLAlchemy it would cost a fifth of a lookup
            connection.connection.cursor().execute("BEGIN")

    return engine


@contextmanager
def _patient(connection: Connection, patience_s: float, usual_s: float) -> Iterator[None]:
    """Let a connection to SQLite wait less, or more, for others until the block ends."""
    cursor = connection.connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_milliseconds(patience_s)}")
    try:
        yield
    finally:
        cursor.execute(f"PRAGMA busy_timeout = {_milliseconds(usual_s)}")


def _milliseconds(seconds: float) -> int:
    return max(1, round(1000 * seconds))


def _use_write_ahead_log(connection: sqlite3.Connection, busy_s: float) -> None:
    """Switch to the write-ahead log, trying again while others do: SQLite itself does not wait for this lock."""
    give_up_at = time.monotonic() + busy_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as cause:
            if cause.sqlite_errorcode & 0xFF not in _SQLITE_BUSY or time.monotonic() > give_up_at:
                raise
            time.sleep(_BUSY_PAUSE_S)
        else:
            return


def _keep_private(file: Path) -> None:
    """Let only this user read a database that lies here, and create a missing one.
    A file that is there is not opened: closing it would drop all of SQLite's locks of this process, and another one
    would then take away the write-ahead log (sqlite.org/howtocorrupt.html, 2.2)."""
    with suppress(OSError):  # it is there, or cannot be made: opening it says so
        os.close(os.open(file, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o600))
    close_to_others(file, file.parent)


@contextmanager
def _understood() -> Iterator[None]:
    """Translate a database's failures to the studio's errors; errors in statements stay unchanged."""
    try:
        yield
    except (DBAPIError, PoolTimeout, sqlite3.Error) as cause:
        if (trouble := _trouble(cause)) is None:
            raise
        raise trouble from cause


def _trouble(cause: Exception) -> Exception | None:
    """Return the error to raise; None if the statement itself is wrong."""
    said = getattr(cause, "orig", None) or cause
    if isinstance(said, sqlite3.Error):
        code = getattr(said, "sqlite_errorcode", None)  # an extended code, whose low byte is the kind
        kind = None if code is None else code & 0xFF
        full, busy = kind in _SQLITE_FULL, kind in _SQLITE_BUSY
        if kind in _SQLITE_GONE or code == _SQLITE_MOVED:
            return Unavailable(VANISHED, 60.0, "database_unreachable")
        if kind in _SQLITE_READ_ONLY:
            return Unavailable(READ_ONLY, 60.0, "database_unreachable")
        if kind in _SQLITE_DAMAGED:
            text = tr("The database file is not a database, or is damaged. Choose another, or restore it.")
            return Unavailable(text, 60.0, "database_damaged")
        away = isinstance(said, sqlite3.OperationalError) and kind != sqlite3.SQLITE_ERROR
    else:
        state = getattr(said, "sqlstate", None)
        full, busy = state in _POSTGRESQL_FULL, state in _POSTGRESQL_BUSY or isinstance(cause, PoolTimeout)
        lost = isinstance(cause, DBAPIError) and cause.connection_invalidated
        away = lost or isinstance(cause, OperationalError | InterfaceError)
    if full:
        return DiskFull(tr("The disk of the database is full. Free some space and try again."))
    if busy:
        return Unavailable(tr("The database is busy. Try again in a moment."), RETRY_S, "database_busy")
    if away:
        return Unavailable(
            tr("The database cannot be reached. Try again in a moment."), RETRY_S, "database_unreachable"
        )
    return None
