"""How much a database does for an operation, by its own count, which does not depend on what else the machine does."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, event

from studio.store.database import Database

Given = Any  # parameters of a statement, as its driver takes them
_EVERY_STEPS = 10  # as often SQLite tells of its steps
_PASSED_OVER = ("Rows Removed by Filter", "Rows Removed by Index Recheck", "Rows Removed by Join Filter")


@dataclass(frozen=True)
class Work:
    """Statements, and how much they are: instructions of SQLite's machine, or rows that PostgreSQL takes in hand."""

    statements: int
    steps: int


def work_of(database: Database, act: Callable[[], object]) -> Work:
    """Count what the database does for `act`."""
    statements, steps = 0, 0

    def count(connection: Connection, statement: str, parameters: Given) -> None:
        nonlocal statements, steps
        statements += 1
        if not database.is_sqlite and _has_plan(statement):
            with connection.begin_nested() as trial:  # it is carried out to be counted, and then once more
                asked = f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}"
                [explained] = connection.exec_driver_sql(asked, parameters).scalar_one()
                trial.rollback()
            steps += _rows(explained["Plan"])

    def step() -> None:
        nonlocal steps
        steps += _EVERY_STEPS

    with _noted(database, count):
        if database.is_sqlite:
            with _stepping(database, step):
                act()
        else:
            act()
    return Work(statements, steps)


def plans(database: Database, act: Callable[[], object]) -> list[str]:
    """How the database carries out each statement of `act`, in its own words. For tests, and for eyes."""
    explained: list[str] = []
    word = "EXPLAIN QUERY PLAN" if database.is_sqlite else "EXPLAIN"

    def explain(connection: Connection, statement: str, parameters: Given) -> None:
        if _has_plan(statement):
            rows = connection.exec_driver_sql(f"{word} {statement}", parameters).all()
            explained.append("\n".join(str(row[-1]) for row in rows))

    with _noted(database, explain):
        act()
    return explained


def _has_plan(statement: str) -> bool:
    return statement.lstrip().upper().startswith(("SELECT", "UPDATE", "INSERT", "DELETE", "WITH"))


def _rows(plan: Mapping[str, Any]) -> int:
    """Rows that a step of a plan and those below it gave and passed over."""
    own = plan["Actual Rows"] + sum(plan.get(name, 0) for name in _PASSED_OVER)
    return round(own * plan["Actual Loops"]) + sum(_rows(one) for one in plan.get("Plans", ()))


def _engines(database: Database) -> list[Engine]:
    return [one for one in (database.engine, database.writers) if one is not None]


@contextmanager
def _noted(database: Database, note: Callable[[Connection, str, Given], None]) -> Iterator[None]:
    """Call `note` before each statement, but not for those that it makes itself."""
    is_noting = False

    def before(connection: Connection, cursor: object, statement: str, parameters: Given, *rest: object) -> None:
        nonlocal is_noting
        if is_noting:
            return
        is_noting = True
        try:
            note(connection, statement, parameters)
        finally:
            is_noting = False

    with _listening(database, "before_cursor_execute", before):
        yield


@contextmanager
def _stepping(database: Database, step: Callable[[], None]) -> Iterator[None]:
    """Call `step` after every `_EVERY_STEPS` steps of SQLite."""

    def begin(connection: sqlite3.Connection, *rest: object) -> None:
        connection.set_progress_handler(step, _EVERY_STEPS)

    def end(connection: sqlite3.Connection | None, *rest: object) -> None:
        if connection is not None:  # it was closed instead
            connection.set_progress_handler(None, 0)

    with _listening(database, "checkout", begin), _listening(database, "checkin", end):
        yield


@contextmanager
def _listening(database: Database, name: str, handler: Callable[..., None]) -> Iterator[None]:
    engines = _engines(database)
    for engine in engines:
        event.listen(engine, name, handler)
    try:
        yield
    finally:
        for engine in engines:
            event.remove(engine, name, handler)
