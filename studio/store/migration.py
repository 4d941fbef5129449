"""Migrate a database to `studio.store.tables`, through the steps in `migrations/versions`."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, column, func, inspect, select, table

from engine.errors import SettingsError
from engine.texts import tr
from studio.store.database import Database
from studio.store.tables import METADATA

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 0x71B5  # PostgreSQL advisory lock: any number, equal in all processes
_ONE_AT_A_TIME = threading.Lock()  # alembic keeps the current migration in a global
_REACHED = table("alembic_version", column("version_num"))  # as alembic writes it


def upgrade(database: Database) -> None:
    """Create the tables, or migrate those of an older version: all steps or none, however many processes start at once.
    Raises SettingsError for a database written by a later version of the studio."""
    with database.read() as connection:
        if _versions(connection) == {latest_version()}:
            return  # without alembic, which takes as long to load as the rest of the database
    from alembic import command
    from alembic.script import ScriptDirectory

    config = _configuration()
    known = ScriptDirectory.from_config(config)
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


def latest_version() -> str:
    """Return the version of the last step, which is in the name of its file: v0013_durations.py."""
    last = max(path.name for path in (MIGRATIONS / "versions").glob("v[0-9]*_*.py"))
    return last.removeprefix("v").partition("_")[0]


def _configuration() -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def _versions(connection: Connection) -> set[str]:
    if not inspect(connection).has_table(_REACHED.name):
        return set()
    return set(connection.scalars(select(_REACHED.c.version_num)))
