"""What a worker has in its hands while it does a task, and how it publishes what came of it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, select
from structlog.typing import FilteringBoundLogger

from studio.errors import DiskFull, LeaseLost, NotFound, Unavailable
from studio.executors.heartbeat import Heartbeat, Stopping
from studio.executors.voice_cache import VoiceCache
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store import tasks
from studio.store.accounts import Account, account_of_id, account_prefix
from studio.store.catalogue import Model, find_model
from studio.store.database import Database
from studio.store.storage import Storage
from studio.store.tables import tasks as rows

T = TypeVar("T")
SHORT_PATIENCE_S = 3.0  # with a storage that fails; after it the task goes back to the queue
LONG_PATIENCE_S = 60.0  # with a database that fails, when the work is done and only has to be written down
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0


@dataclass(frozen=True)
class Workbench:
    """What a worker process works with, whatever the task."""

    settings: Settings
    service: ServiceSettings
    database: Database
    storage: Storage
    voices: VoiceCache
    stopping: Stopping
    log: FilteringBoundLogger
    number: int = 0  # which of several workers of its kind on this machine, so that each may have a GPU of its own

    @property
    def device(self) -> str:
        """What this worker computes on, as the engine calls it. Raises SettingsError for one that does not work."""
        from engine.devices import working_device

        return working_device(self.service.device).of_several(self.number).called


@dataclass(frozen=True)
class Job:
    """A task in work. `place`: a folder of its own, gone when the work ends."""

    bench: Workbench
    task: tasks.Task
    heart: Heartbeat
    place: Path
    log: FilteringBoundLogger

    @cached_property
    def account(self) -> Account:
        """Whose task it is."""
        return account_of_id(self.bench.database, self.task.account_id)

    @property
    def output_prefix(self) -> str:
        """Where in the storage this attempt's results lie; no other attempt has the same."""
        return f"{account_prefix(self.account)}tasks/{self.task.id}/{self.task.fence}"

    def publish(
        self,
        result: dict[str, Any] | Callable[[Connection], dict[str, Any]],
        also: Callable[[Connection], None] = lambda connection: None,
    ) -> None:
        """End the task with its result, and do `also` in the same transaction: both or neither.

        result: or what gives it within that transaction. Raises LeaseLost where the task is another's by now,
        Unavailable where the database stays away.
        """

        def write() -> None:
            with self.bench.database.write() as connection:
                values = result(connection) if callable(result) else result
                tasks.complete(connection, self.task, values)
                also(connection)

        try:
            insist(write, LONG_PATIENCE_S)
        except LeaseLost:
            if not insist(
                self.is_published, LONG_PATIENCE_S
            ):  # else an earlier try was written, and only its answer lost
                raise

    def write_held(self, change: Callable[[Connection], None]) -> None:
        """Make a change while the task is still this worker's, in one transaction. Raises LeaseLost."""
        held = select(rows.c.id).where(
            rows.c.id == self.task.id, rows.c.fence == self.task.fence, rows.c.state == "running"
        )
        with self.bench.database.write() as connection:
            if connection.scalar(held.with_for_update()) is None:
                raise LeaseLost("The task has another worker by now.")
            change(connection)

    def model(self) -> Model:
        """The voice the task is about, as its row is now. Raises NotFound."""
        bench = self.bench
        return insist(lambda: find_model(bench.database, self.account, self.task.model_id or ""), SHORT_PATIENCE_S)

    def is_published(self) -> bool:
        """Whether the task has ended with the result of this very attempt."""
        try:
            now = tasks.find(self.bench.database, self.task.account_id, self.task.id)
        except NotFound:
            return False
        return now.state == "completed" and now.fence == self.task.fence


def insist(action: Callable[[], T], patience_s: float) -> T:
    """What `action` gives; tried again while the database or the storage is busy, out of reach or full.

    Raises what it raises after `patience_s` seconds of that, and everything else at once.
    """
    deadline = time.monotonic() + patience_s
    for pause_s in _pauses():
        try:
            return action()
        except (Unavailable, DiskFull):
            if time.monotonic() + pause_s > deadline:
                raise
        time.sleep(pause_s)
    raise AssertionError("unreachable")


def _pauses() -> Iterator[float]:
    pause_s = _FIRST_PAUSE_S
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
