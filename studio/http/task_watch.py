"""Wait for tasks in the name of calls: workers write into the database, which tells nobody, so one loop of the server
asks it for all watched tasks at once, for as long as there are any."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from engine.texts import tr
from studio.errors import StudioError, TooMany
from studio.store.database import Database
from studio.store.reading import read_soon
from studio.store.task_status import TaskStatus, statuses_of_tasks

MOST_WAITING, MOST_OF_ACCOUNT = 1000, 100  # calls at a time
_LOOK_S = 0.25
_RETRY_S = 5.0
_FULL = tr("Too many of your calls are waiting for tasks. Try again when some have been answered.")

Known = TaskStatus | None


class TaskWatch:
    """Watches the tasks that calls of one server wait for. For its event loop alone."""

    def __init__(
        self, database: Database, ends: Callable[[], bool], pause: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Watch tasks of this database. ends: whether the server shuts down. pause: waits between two looks."""
        self._database, self._ends, self._pause = database, ends, pause or partial(asyncio.sleep, _LOOK_S)
        self._waiting: dict[asyncio.Future[Known], tuple[str, Known]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._places: Counter[str] = Counter()

    @contextmanager
    def place(self, account_id: str) -> Iterator[None]:
        """Reserve a place for a call that waits. Raises TooMany."""
        if self._places.total() >= MOST_WAITING or self._places[account_id] >= MOST_OF_ACCOUNT:
            raise TooMany(_FULL, _RETRY_S, "too_many_waiting")
        self._places[account_id] += 1
        try:
            yield
        finally:
            self._places[account_id] -= 1
            self._places += Counter()  # removes the accounts without any

    async def changed(self, task_id: str, known: Known) -> Known:
        """Return the signs of a task as soon as they are not `known`, or the server ends; None if it is deleted."""
        with suppress(StudioError):
            signs = (await self._signs({task_id})).get(task_id)
            if signs is None or signs != known or self._ends():
                return signs
        waiter: asyncio.Future[Known] = asyncio.get_running_loop().create_future()
        self._waiting[waiter] = (task_id, known)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        try:
            return await waiter
        finally:
            self._waiting.pop(waiter, None)

    async def ended(self, task_id: str) -> bool:
        """Wait until a task has ended, or the server does; return whether the task has."""
        signs = await self.changed(task_id, None)
        while signs is not None and not signs.has_ended and not self._ends():
            signs = await self.changed(task_id, signs)
        return signs is None or signs.has_ended

    async def _look(self) -> None:
        try:
            while self._waiting:
                await self._pause()
                with suppress(StudioError):  # a busy database is asked again
                    await self._notify()
        except Exception as error:  # noqa: BLE001 - those who wait receive it
            for waiter in self._undone():
                waiter.set_exception(error)
        finally:
            self._looking = None

    async def _notify(self) -> None:
        if not (wanted := {task_id for task_id, _ in self._waiting.values()}):
            return  # they have left
        found = await self._signs(wanted)
        for waiter in self._undone():
            task_id, known = self._waiting[waiter]
            if task_id not in wanted:  # it has come meanwhile
                continue
            signs = found.get(task_id)
            if signs is None or signs != known or self._ends():
                waiter.set_result(signs)

    async def _signs(self, wanted: set[str]) -> dict[str, TaskStatus]:
        return await read_soon(self._database, statuses_of_tasks, self._database, wanted)

    def _undone(self) -> list[asyncio.Future[Known]]:
        return [waiter for waiter in self._waiting if not waiter.done()]
