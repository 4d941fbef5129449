"""Fixtures for databases, storage and services. Tests never touch the data of this machine's user."""

import logging
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psycopg
import pytest

from studio.load.trial_service import TrialService, trial_service
from studio.settings.environment import HOME_VARIABLE
from studio.store.database import Database, open_database
from studio.store.migration import upgrade
from studio.store.storage import Storage, open_storage
from studio.store.tables import METADATA
from tests.waiting import PATIENCE_S, wait_until

VOCAL_RATE = 44_100
POSTGRES_USER = "postgres"
POSTGRES_FOLDERS = Path("/usr/lib/postgresql")  # Debian keeps its programs out of PATH
Vocal = Callable[[float, float], np.ndarray]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests of the service that they share as system tests."""
    for item in items:
        if "service" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.system)


def vocal(seconds: float, hertz: float) -> np.ndarray:
    """Notes with vibrato and rests between them, float64 (samples,) at VOCAL_RATE."""
    time_s = np.arange(round(seconds * VOCAL_RATE)) / VOCAL_RATE
    melody = (np.floor(time_s / 0.6) % 5) + 0.3 * np.sin(2 * np.pi * 5.5 * time_s)
    cycles = np.cumsum(hertz * 2 ** (melody / 12)) / VOCAL_RATE
    buzz = sum(np.cos(2 * np.pi * number * cycles) / number for number in range(1, 20))
    noise = np.random.default_rng(0).standard_normal(len(time_s))
    return 0.1 * buzz * (time_s % 2.4 < 2.0) + 1e-4 * noise


@pytest.fixture(scope="session", name="vocal")
def vocal_fixture() -> Vocal:
    """A performance to convert, or to make a voice of: `vocal(seconds, hertz)`, at 44.1 kHz."""
    return vocal


@pytest.fixture(scope="session")
def installations(tmp_path_factory) -> Path:
    """Where the data folders of all tests are; pytest itself would count thousands of them before it makes one more."""
    return tmp_path_factory.mktemp("installations")


@pytest.fixture(autouse=True)
def home(installations, monkeypatch) -> Path:
    """The data folder of this test's own installation, not created yet."""
    folder = Path(tempfile.mkdtemp(dir=installations)) / "home"
    monkeypatch.setenv(HOME_VARIABLE, str(folder))
    return folder


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """A real PostgreSQL on loopback in a temporary folder; skips where it cannot run."""
    initdb, postgres = _program("initdb"), _program("postgres")
    if initdb is None or postgres is None:
        pytest.skip("PostgreSQL is not installed.")
    as_whom = {"user": POSTGRES_USER, "group": POSTGRES_USER, "extra_groups": []} if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="studio-postgresql-"))
    try:
        try:
            if as_whom:  # PostgreSQL refuses to run as root
                shutil.chown(folder, POSTGRES_USER, POSTGRES_USER)
            _make_cluster(initdb, folder, as_whom)
        except (OSError, LookupError, subprocess.SubprocessError) as cause:
            pytest.skip(f"PostgreSQL cannot be set up: {cause}")
        with _server(postgres, folder, as_whom) as url:
            yield url
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgresql_tables(postgresql_url) -> str:
    """The address of a database with all tables; each test empties it."""
    url = _address(postgresql_url, _create_database(postgresql_url))
    database = open_database(url)
    upgrade(database)
    database.close()
    return url


@pytest.fixture(scope="session")
def postgresql_of_the_service(postgresql_url) -> str:
    """The address of an empty database for the service that all tests share."""
    return _address(postgresql_url, _create_database(postgresql_url))


@pytest.fixture
def postgresql_of_its_own(postgresql_url) -> Iterator[str]:
    """The address of an empty database for the services of one test."""
    name = _create_database(postgresql_url)
    yield _address(postgresql_url, name)
    _drop_database(postgresql_url, name)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory) -> Path:
    """A database file with empty tables, to be copied."""
    file = tmp_path_factory.mktemp("sqlite") / "template.sqlite"
    database = open_database(f"sqlite:///{file}")
    upgrade(database)
    database.close()  # moves the write-ahead log into the file
    return file


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database_url(request, tmp_path) -> Iterator[str]:
    """The address of a database without tables, on SQLite and PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'studio.sqlite'}"
        return
    url = request.getfixturevalue("postgresql_url")
    name = _create_database(url)
    yield _address(url, name)
    _drop_database(url, name)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request, tmp_path) -> Iterator[str]:
    """The address of a database with empty tables, on SQLite and PostgreSQL."""
    if request.param == "sqlite":
        file = tmp_path / "studio.sqlite"
        shutil.copy(request.getfixturevalue("sqlite_template"), file)
        yield f"sqlite:///{file}"
        return
    yield request.getfixturevalue("postgresql_tables")
    _empty(request.getfixturevalue("postgresql_tables"))


@pytest.fixture
def database(database_url) -> Iterator[Database]:
    """A fresh database, open."""
    database = open_database(database_url, busy_s=PATIENCE_S)
    yield database
    database.close()


@pytest.fixture
def sqlite_database(sqlite_template, tmp_path) -> Iterator[Database]:
    """A fresh database on SQLite, open."""
    file = tmp_path / "studio.sqlite"
    shutil.copy(sqlite_template, file)
    database = open_database(f"sqlite:///{file}", busy_s=PATIENCE_S)
    yield database
    database.close()


# ---- storages


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of a simulated S3 that stores in memory."""
    from moto.server import ThreadedMotoServer  # takes a second to import

    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # otherwise it logs every call
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3_bucket(s3_server, monkeypatch) -> str:
    """The name of a new bucket there."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    name = f"bucket-{secrets.token_hex(6)}"
    httpx.put(f"{s3_server}/{name}", timeout=PATIENCE_S).raise_for_status()
    return name


@pytest.fixture
def s3_storage(s3_server, s3_bucket, tmp_path) -> Storage:
    """A new, empty storage on S3."""
    return open_storage(f"s3://{s3_bucket}/some/prefix?endpoint={s3_server}&region=us-east-1", tmp_path / "data")


@pytest.fixture
def folder_storage(tmp_path) -> Storage:
    """A new, empty storage in a folder."""
    return open_storage("", tmp_path / "data")


@pytest.fixture(params=["folder", "s3"])
def storage(request) -> Storage:
    """A new, empty storage of each kind."""
    return request.getfixturevalue(f"{request.param}_storage")


# ---- PostgreSQL


@pytest.fixture(scope="session")
def service(tmp_path_factory) -> Iterator[TrialService]:
    """One real service with its workers for all tests, each with an account of its own; the page has the local one."""
    home = tmp_path_factory.mktemp("service") / "home"
    with trial_service(home, submissions_per_minute=1_000_000, grace_s=1) as running:
        yield running


def _program(name: str) -> str | None:
    found = shutil.which(name)
    return found or next((str(one) for one in sorted(POSTGRES_FOLDERS.glob(f"*/bin/{name}"), reverse=True)), None)


def _make_cluster(initdb: str, folder: Path, as_whom: dict[str, Any]) -> None:
    command = [initdb, "--pgdata", str(folder / "data"), "--username", POSTGRES_USER, "--auth", "trust"]
    command += ["--encoding", "UTF8", "--locale", "C", "--no-sync"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=PATIENCE_S, **as_whom)


@contextmanager
def _server(postgres: str, folder: Path, as_whom: dict[str, Any]) -> Iterator[str]:
    """Run a server; yield the address of its first database."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [postgres, "-D", str(folder / "data"), "-p", str(port), "-k", str(folder), "-h", "127.0.0.1"]
    command += ["-c", "fsync=off", "-c", "max_connections=200", "-c", "shared_buffers=32MB"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **as_whom)
    try:
        url = f"postgresql://{POSTGRES_USER}@127.0.0.1:{port}/postgres"
        if not _answers(url, server):
            pytest.skip(f"PostgreSQL did not start: {(folder / 'log').read_text(errors='replace')[-500:]}")
        yield url
    finally:
        server.send_signal(signal.SIGINT)  # PostgreSQL's fast shutdown
        server.wait(PATIENCE_S)


def _answers(url: str, server: subprocess.Popen[bytes]) -> bool:
    def accepts() -> bool:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            return False
        return True

    wait_until(lambda: server.poll() is not None or accepts())
    return server.poll() is None


def _create_database(url: str) -> str:
    name = f"studio_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    return name


def _empty(url: str) -> None:
    """Empty the tables and close other connections; much faster than TRUNCATE, which makes new files for each."""
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"{others} AND pid <> pg_backend_pid()")
        connection.execute("; ".join(f"DELETE FROM {table.name}" for table in reversed(METADATA.sorted_tables)))


def _drop_database(url: str, name: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _address(url: str, name: str) -> str:
    return f"{url.rpartition('/')[0]}/{name}"
