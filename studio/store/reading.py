"""Read the database while a client waits: SQLite returns a row sooner than a thread wakes up."""

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from anyio import to_thread

from studio.store.database import Database

P = ParamSpec("P")
T = TypeVar("T")


async def read_soon(database: Database, action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `action`, which reads a row or two; it must not write and must not block."""
    if database.is_sqlite:
        return action(*args, **kwargs)
    return await to_thread.run_sync(partial(action, *args, **kwargs))
