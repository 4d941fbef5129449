"""Tables are brought up to date once, whoever comes first, and never taken back to an older version."""

import re
import subprocess
import sys

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from engine.errors import SettingsError
from studio.store.database import open_database
from studio.store.migration import MIGRATIONS, upgrade
from studio.store.tables import METADATA
from tests.waiting import PATIENCE_S, in_threads

TOGETHER = 4
UPGRADING = """
import sys
from studio.store.database import open_database
from studio.store.migration import upgrade
sys.stdin.readline()
database = open_database(sys.argv[1])
upgrade(database)
database.close()
"""


# from the present tables back to those of 0.4
TO_THE_FIRST = """
DROP TABLE duties
DROP INDEX ix_models_account_id_state_folded_name_id
ALTER TABLE models DROP COLUMN folded_name
ALTER TABLE models DROP COLUMN texts
CREATE INDEX ix_models_account_id_state_name_number ON models (account_id, state, name, number)
DROP INDEX ix_tasks_queue
ALTER TABLE tasks DROP COLUMN queue
ALTER TABLE tasks DROP COLUMN cost
ALTER TABLE tasks DROP COLUMN turn
ALTER TABLE tasks ADD COLUMN priority INTEGER
DROP INDEX ix_tasks_account_id_state_created_at_id
DROP INDEX ix_tasks_account_id_kind_created_at_id
DROP INDEX ix_tasks_finished_at
CREATE INDEX ix_tasks_state_kind_priority_created_at ON tasks (state, kind, priority, created_at)
ALTER TABLE tasks DROP COLUMN model_name
ALTER TABLE tasks DROP COLUMN traceparent
DROP INDEX ix_tasks_account_id_recording_created_at_id
ALTER TABLE tasks DROP COLUMN recording
ALTER TABLE tasks DROP COLUMN texts
ALTER TABLE tasks DROP COLUMN take_labels
ALTER TABLE accounts DROP COLUMN preferences
DROP TABLE deadlines
DROP TABLE durations
DROP TABLE deliveries
DROP TABLE projects
DROP TABLE presets
DROP TABLE rates
CREATE TABLE rates (account_id VARCHAR(32) NOT NULL, minute BIGINT NOT NULL, calls INTEGER NOT NULL)
INSERT INTO accounts (id, name, created_at) VALUES ('a', 'anna', 1)
INSERT INTO models (account_id, id, name, card, state, epoch, epochs, failure_told, created_at, updated_at) \
VALUES ('a', 'mia', 'Mia', '{}', 'pending', 40, 100, 0, 1, 1)
INSERT INTO tasks (id, account_id, kind, parameters, state, not_before, attempt, fence, cancel_requested, progress, \
message, created_at) VALUES ('c1', 'a', 'conversion', '{"file_name": "Größe.wav"}', 'completed', 0, 1, 1, 0, 1, '', 1)
INSERT INTO tasks (id, account_id, kind, parameters, state, not_before, attempt, fence, cancel_requested, progress, \
message, created_at) VALUES \
('c2', 'a', 'conversion', '{"edit": {"conversion": "c1"}}', 'completed', 0, 1, 1, 0, 1, '', 1)
UPDATE alembic_version SET version_num = '0001'
"""


def revisions() -> list[str]:
    """All revisions, the first one first: every release has been at one of them."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return sorted(script.revision for script in ScriptDirectory.from_config(config).walk_revisions())


@pytest.mark.parametrize("begun_at", ["", *revisions()])
def test_upgrade_gives_new_and_migrated_databases_the_current_tables(database, begun_at):
    if begun_at:
        with database.write() as connection:
            for statement in TO_THE_FIRST.strip().splitlines():
                connection.exec_driver_sql(statement)
            config = Config(attributes={"connection": connection})
            config.set_main_option("script_location", str(MIGRATIONS))
            command.upgrade(config, begun_at)
        upgrade(database)
        with database.read() as connection:
            # epochs were of another base; who the voices are stays
            expected = ("Mia", "mia", 0, 0)
            assert connection.execute(text("SELECT name, folded_name, epoch, epochs FROM models")).one() == expected
            # an earlier conversion is a project with its edits
            found = connection.execute(text("SELECT id, recording, texts FROM tasks ORDER BY id")).all()
            assert found == [("c1", "c1", "grosse.wav"), ("c2", "c1", "")]
    with database.read() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), METADATA) == []
        partial = [
            one for one in inspect(connection).get_indexes("tasks") if one["name"] == "uq_tasks_running_training"
        ]
    condition = " ".join(map(str, partial[0]["dialect_options"].values()))  # which alembic does not compare
    assert re.search(r"kind.*'training'.*AND.*state.*'running'", condition)


def test_upgrade_again_changes_nothing(database):
    with database.write() as connection:
        connection.execute(text("INSERT INTO accounts (id, name, created_at) VALUES ('a', 'anna', 1)"))
    upgrade(database)
    with database.read() as connection:
        assert connection.scalar(text("SELECT name FROM accounts")) == "anna"


@pytest.mark.system
def test_upgrade_succeeds_in_parallel_processes(empty_database_url):
    upgrading = [sys.executable, "-c", UPGRADING, empty_database_url]
    waiting = [
        subprocess.Popen(upgrading, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=MIGRATIONS.parents[1], text=True)
        for _ in range(TOGETHER)
    ]
    ended = [process.communicate("\n", timeout=PATIENCE_S) for process in waiting]
    assert [(process.returncode, said) for process, (_, said) in zip(waiting, ended, strict=True)] == [
        (0, "")
    ] * TOGETHER
    _assert_complete(empty_database_url)


def test_upgrade_succeeds_in_parallel_threads(empty_database_url):
    def start(_):
        database = open_database(empty_database_url)
        try:
            upgrade(database)
        finally:
            database.close()

    in_threads(TOGETHER, start)
    _assert_complete(empty_database_url)


def test_upgrade_refuses_a_database_of_a_later_version(empty_database_url):
    database = open_database(empty_database_url)
    upgrade(database)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(SettingsError, match="later version of Timbre Studio"):
        upgrade(database)
    with database.read() as connection:
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == "9999"
    database.close()


def test_upgrade_rolls_back_a_failed_migration(empty_database_url):
    database = open_database(empty_database_url)
    with database.write() as connection:
        connection.execute(text("CREATE TABLE tokens (x INTEGER)"))  # in the way of one of the later tables
    with pytest.raises(Exception, match="tokens"):
        upgrade(database)
    with database.read() as connection:
        assert inspect(connection).get_table_names() == ["tokens"]
    database.close()


def _assert_complete(url):
    database = open_database(url)
    with database.read() as connection:
        assert set(inspect(connection).get_table_names()) == {*METADATA.tables, "alembic_version"}
    database.close()
