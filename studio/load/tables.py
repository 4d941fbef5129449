"""What the tables cost when they are large, beside when they are small: `python -m studio.load.tables`.

    python -m studio.load.tables          10,000 voices and 1,000,000 tasks on SQLite, in a temporary folder
    python -m studio.load.tables --database-url postgresql://...   on an empty database there, which it fills
    python -m studio.load.tables --json   as JSON

Each operation of the service is timed on small tables first, then on large ones, and what the database does for it is
counted; exit status 1 where one of those that are done for every call or task becomes more than three times as much
work. Nothing but the database is measured.
"""

import argparse
import base64
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from sqlalchemy import text

from engine.errors import EngineError, SettingsError
from engine.voices.card_rules import FORMAT
from studio.executors.recovery import recover
from studio.load.database_work import Work, work_of
from studio.store import tasks
from studio.store.accounts import Account, create_account
from studio.store.catalogue import find_model, list_models
from studio.store.database import Database, database_url, open_database
from studio.store.kinds import QUEUES
from studio.store.migration import upgrade
from studio.store.records.cards import Voice
from studio.store.storage import Storage, open_storage
from studio.store.tokens import create_token, holder_of_token

SMALL_VOICES, SMALL_TASKS = 100, 1000
TIMES_MORE, UNNOTICED = 3.0, 5000  # steps: so many are a page or two, of whatever there are enough
PAGE = 50
REPETITIONS = 30
_QUEUED, _RUNNING = 500, 50

# one in so many tasks is of another kind, has another end, and belongs to somebody else
_TASKS = """
INSERT INTO tasks (id, account_id, kind, queue, model_id, parameters, state, turn, not_before, attempt, fence, owner,
                   lease_until, cancel_requested, progress, message, result, error, created_at, started_at, finished_at)
SELECT {id}, CASE WHEN i % 3 = 0 THEN :other ELSE :account END,
       CASE WHEN i % 100 = 1 THEN 'training' WHEN i % 100 = 2 THEN 'report' ELSE 'conversion' END,
       CASE WHEN i % 100 = 1 THEN 'training' WHEN i % 100 = 2 THEN 'report' ELSE 'conversion' END,
       'voice-' || (i % 100),
       '{{"input_key": "accounts/somebody/tasks/0123456789abcdef01234567/input.wav", "settings": {{"transpose": 3}}}}',
       CASE WHEN i >= :last - :queued THEN 'queued' WHEN i >= :last - :queued - :running THEN 'running'
            WHEN i % 1000 = 7 THEN 'failed' WHEN i % 500 = 8 THEN 'cancelled' ELSE 'completed' END,
       i, 0, 0, 1, 'somebody', CASE WHEN i >= :last - :queued - :running THEN :now + 100000.0 END, 0, 1.0, '',
       '{{"outputs": ["accounts/somebody/tasks/0123456789abcdef01234567/1/take-1.wav"], "seconds": 2.5}}', NULL,
       :now - 1000000.0 + i, :now, CASE WHEN i < :last - :queued - :running THEN :now - 1000000.0 + i END
FROM {numbers}
"""
_VOICES = """
INSERT INTO models (account_id, id, name, folded_name, texts, state, gender, genre, card, voice_key, epoch, epochs,
                    failure_told, created_at, updated_at)
SELECT :account, 'voice-' || i, 'Voice ' || i, 'voice ' || i, 'voice-' || i || ' warm and bright',
       CASE WHEN i % 10 = 3 THEN 'pending' ELSE 'completed' END, CASE WHEN i % 2 = 0 THEN 'female' ELSE 'male' END,
       CASE WHEN i % 50 = 4 THEN 'jazz' ELSE 'pop' END,
       ('{{"id": "voice-' || i || '", "name": "Voice ' || i || '", "description": "warm and bright", "traits": [],'
       || ' "gender": "female", "genre": "pop", "format": {format}}}'){as_json}, 'accounts/somebody/voices/voice-' || i,
       10, 10, 0, :now, :now
FROM {numbers}
"""
_NUMBERS = {
    "sqlite": "(WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :last)"
    " SELECT i FROM n)",
    "postgresql": "generate_series(CAST(:first AS bigint), :last - 1) AS n(i)",
}
_AS_JSON = {"sqlite": "", "postgresql": "::json"}
# spread over the whole index, as ids are that are drawn by lot
_IDS = {
    "sqlite": "printf('%08x%016x', (i * 2654435761) % 4294967296, i)",
    "postgresql": "lpad(to_hex((i * 2654435761) % 4294967296), 8, '0') || lpad(to_hex(i), 16, '0')",
}


@dataclass(frozen=True)
class Cost:
    """What an operation costs on small and on large tables: the database's steps, and milliseconds (median).

    often: whether it is done for every call or task, and so must not become more work.
    """

    name: str
    often: bool
    statements: int
    small_steps: int
    large_steps: int
    small_ms: float
    large_ms: float

    @property
    def keeps_bounds(self) -> bool:
        """Whether it does not grow with the tables, if it must not."""
        return not self.often or self.large_steps <= max(TIMES_MORE * self.small_steps, UNNOTICED)


@dataclass(frozen=True)
class _Operation:
    name: str
    often: bool
    act: Callable[[], object]


def measure_tables(
    database: Database, storage: Storage, voices: int, most_tasks: int, say: Callable[[str], None]
) -> list[Cost]:
    """Fill an empty database, in two steps, and time everything after each. Raises SettingsError for one that is not
    empty, Unavailable."""
    upgrade(database)
    with database.read() as connection:
        if connection.scalar(text("SELECT count(*) FROM tasks")):
            raise SettingsError("The load test fills the database: give it an empty one.")
    account, other = create_account(database, "loadtest"), create_account(database, "loadtest-other")
    _, secret = create_token(database, account, "loadtest")
    operations = _operations(database, storage, account, secret)
    _fill(database, account, other, 0, SMALL_VOICES, SMALL_TASKS)
    say("small tables ...")
    small = _timed(database, operations)
    say(f"making {voices} voices and {most_tasks} tasks ...")
    _fill(database, account, other, SMALL_TASKS, voices, most_tasks)
    say("large tables ...")
    large = _timed(database, operations)
    return [
        Cost(one.name, one.often, before.statements, before.steps, after.steps, round(before_ms, 3), round(after_ms, 3))
        for one, (before, before_ms), (after, after_ms) in zip(operations, small, large, strict=True)
    ]


def _operations(database: Database, storage: Storage, account: Account, secret: str) -> list[_Operation]:
    def page(**given: Any) -> tuple[list[Voice], str | None]:
        return list_models(database, account, limit=PAGE, **given)

    def some_task() -> tasks.Task:
        return tasks.find(database, account.id, _some_id())

    def claim_and_give_back() -> None:
        task = tasks.claim(database, "loadtest", QUEUES["conversions"], 60.0)
        assert task is not None
        tasks.renew(database, task, 60.0, 0.5, "half")
        tasks.requeue(database, task, counts=False)

    def active() -> int:
        with database.read() as connection:
            return tasks.waiting_and_running(connection, account.id, "conversion")

    return [
        _Operation("who has a token", True, lambda: holder_of_token(database, secret)),
        _Operation("GET /models, first page", True, page),
        _Operation("GET /models, a later page", True, lambda: page(cursor=_place_in_the_middle())),
        _Operation("GET /models, of a gender", True, lambda: page(gender="female")),
        _Operation("GET /models, of a rare genre", False, lambda: page(genre="jazz")),  # passes over the others
        _Operation("GET /models, by a word", False, lambda: page(q="bright")),
        _Operation("GET /models, by a word of one", False, lambda: page(q="voice-77")),
        _Operation("GET /models, all", False, lambda: list_models(database, account)),
        _Operation("GET /models/{id}", True, lambda: find_model(database, account, "voice-77")),
        _Operation("GET /check-task/{id}", True, some_task),
        _Operation("GET /tasks, first page", True, lambda: tasks.list_tasks(database, account.id)),
        _Operation("GET /tasks, failed", True, lambda: tasks.list_tasks(database, account.id, state="failed")),
        _Operation("GET /tasks, trainings", True, lambda: tasks.list_tasks(database, account.id, kind="training")),
        _Operation("limits of an account", True, active),
        _Operation("claim, renew, give back", True, claim_and_give_back),
        _Operation("look for lost tasks", True, lambda: recover(database, 3)),
        _Operation("GET /metrics", False, lambda: tasks.counts(database)),
    ]


def _timed(database: Database, operations: Sequence[_Operation]) -> list[tuple[Work, float]]:
    """Of each what the database does for it, and how long it takes in the median."""
    found = []
    for one in operations:
        work = work_of(database, one.act)
        times = []
        for _ in range(REPETITIONS):
            begun_s = time.perf_counter()
            one.act()
            times.append((time.perf_counter() - begun_s) * 1000)
        found.append((work, statistics.median(times)))
    return found


def _place_in_the_middle() -> str:
    """The cursor behind the voice in the middle of those there are."""
    return base64.urlsafe_b64encode(b'["voice 5", "voice-5"]').decode().rstrip("=")


def _some_id() -> str:
    """An id that there is, made as those in the tables are."""
    number = 100  # not one of every third, which are the other account's
    return f"{(number * 2654435761) % 4294967296:08x}{number:016x}"


def _fill(database: Database, account: Account, other: Account, first: int, voices: int, last: int) -> None:
    """Have so many voices and tasks; `first`: how many tasks there are already, and at least so many voices."""
    dialect = database.engine.dialect.name
    given = {"account": account.id, "other": other.id, "queued": _QUEUED, "running": _RUNNING, "now": time.time()}
    with database.write() as connection:
        numbers = {"first": min(first, SMALL_VOICES), "last": voices}
        statement = _VOICES.format(numbers=_NUMBERS[dialect], as_json=_AS_JSON[dialect], format=FORMAT)
        connection.execute(text(statement), {"account": account.id, "now": given["now"], **numbers})
    with database.write() as connection:
        if first:  # those of the small tables that waited have ended by now
            connection.execute(text("UPDATE tasks SET state = 'completed', finished_at = created_at"))
        statement = _TASKS.format(id=_IDS[dialect], numbers=_NUMBERS[dialect])
        connection.execute(text(statement), given | {"first": first, "last": last})
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE" if database.is_sqlite else "VACUUM ANALYZE")


# ---- the command


def as_table(costs: Sequence[Cost]) -> Table:
    """The figures for eyes."""
    columns = ("", "statements", "small, steps", "large, steps", "small, ms", "large, ms")
    table = Table(*columns, show_edge=False, pad_edge=False)
    for one in costs:
        mark = "" if one.often else " (not for every call)"
        counts = (f"{number}" for number in (one.statements, one.small_steps, one.large_steps))
        table.add_row(one.name + mark, *counts, f"{one.small_ms:.2f}", f"{one.large_ms:.2f}")
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and say by the exit status whether the bounds are kept."""
    options = _parser().parse_args(arguments)
    say = Console(stderr=True).print
    try:
        with tempfile.TemporaryDirectory(prefix="studio-loadtest-") as folder:
            database = open_database(database_url(options.database_url, Path(folder)))
            try:
                storage = open_storage("", Path(folder))
                costs = measure_tables(database, storage, options.voices, options.tasks, say)
            finally:
                database.close()
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1
    if options.json:
        figures = [asdict(one) | {"keeps_bounds": one.keeps_bounds} for one in costs]
        print(json.dumps({"voices": options.voices, "tasks": options.tasks, "operations": figures}, indent=2))
    else:
        Console().print(as_table(costs))
    return 0 if all(one.keeps_bounds for one in costs) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m studio.load.tables", description=__doc__.split("\n")[0])
    parser.add_argument("--database-url", default="", help="an empty database; left out, SQLite in a temporary folder")
    parser.add_argument("--voices", type=int, default=10_000)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true", help="as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
