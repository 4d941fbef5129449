"""Migrate a database to `studio.store.tables`, through the steps in `migrations/versions`."""

import threading
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, select

from engine.errors import SettingsError
from engine.texts import tr
from studio.store.database import Database
from studio.store.tables import METADATA

MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 0x71B5  # PostgreSQL advisory lock: any number, equal in all processes
_ONE_AT_A_TIME = threading.Lock()  # alembic keeps the current migration in a global


def upgrade(database: Database) -> None:
    """Create the tables, or migrate those of an older version.

    All steps happen or none, however many processes start at once. Raises SettingsError for a database written by a
    later version of the studio, Unavailable, DiskFull.
    """
    config = _configuration()
    known = ScriptDirectory.from_config(config)
    with database.read() as connection:
        if _versions(connection) == set(known.get_heads()):
            return
    with _ONE_AT_A_TIME, database.write() as connection:
        if not database.is_sqlite:
            connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        versions = _versions(connection)
        if not versions <= {script.revision for script in known.walk_revisions()}:
            raise SettingsError(tr("The database was written by a later version of Timbre Studio. Use that version."))
        config.attributes["connection"] = connection
        if versions:
            command.upgrade(config, "head")
        else:
            METADATA.create_all(connection, checkfirst=False)
            command.stamp(config, "head")


def _configuration() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def _versions(connection: Connection) -> set[str]:
    return set(MigrationContext.configure(connection).get_current_heads())
