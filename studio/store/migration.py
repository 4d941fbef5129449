"""Bring a database up to date: what `studio.store.tables` says, step by step as `migrations/versions` made it so."""

import threading
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, select

from engine.errors import SettingsError
from studio.store.database import Database

MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 0x71B5  # of PostgreSQL's advisory locks: any number, the same in every process
_ONE_AT_A_TIME = threading.Lock()  # alembic keeps the migration that it is at in its module, for all threads


def upgrade(database: Database) -> None:
    """Make the tables, or bring those of an older version up to date; what is up to date is left as it is.

    All of it or nothing, however many processes start at once. Raises SettingsError for a database that a later
    version of the studio has written, Unavailable, DiskFull.
    """
    config = _configuration()
    known = ScriptDirectory.from_config(config)
    with database.read() as connection:
        if _versions(connection) == set(known.get_heads()):
            return
    with _ONE_AT_A_TIME, database.write() as connection:
        if not database.is_sqlite:
            connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        if not _versions(connection) <= {script.revision for script in known.walk_revisions()}:
            raise SettingsError("The database was written by a later version of Timbre Studio. Use that version.")
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _configuration() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def _versions(connection: Connection) -> set[str]:
    return set(MigrationContext.configure(connection).get_current_heads())
