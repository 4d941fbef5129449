"""Reading the database for a call that is waited for.

SQLite answers a single row sooner than a thread can be woken, and no reader waits for a writer there; where all cores
compute, each thread that has to be woken costs milliseconds. Other databases answer over the network.
"""

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from anyio import to_thread

from studio.store.database import Database

P = ParamSpec("P")
T = TypeVar("T")


async def read_soon(database: Database, action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `action` reads, which is no more than a row or two; it must not write, and must not wait."""
    if database.is_sqlite:
        return action(*args, **kwargs)
    return await to_thread.run_sync(partial(action, *args, **kwargs))
