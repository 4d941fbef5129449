"""The studio, assembled: settings, database and storage, all that its actions need; each process opens its own."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from typing import Concatenate, Generic, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection

from engine.provenance.installation import Installation
from studio.settings.environment import Settings, installation_of, make_folder
from studio.settings.service import ServiceSettings
from studio.store.accounts import Account, local_account
from studio.store.database import Database, database_url, open_database
from studio.store.folder_import import import_folders
from studio.store.migration import upgrade
from studio.store.signed_links import secret_of, sign
from studio.store.storage import Storage, open_storage

P = ParamSpec("P")
T = TypeVar("T")


class Cost(Enum):
    """What an action costs, by which the server chooses where to do it.
    ROW: reads a row or two. QUICK: a few milliseconds. START: queues a task. DELETE: deletes files. APART: takes a
    while, or loads what a server does without. WARM: likewise, in one process that keeps what it loaded."""

    ROW = 1
    QUICK = 2
    START = 3
    DELETE = 4
    APART = 5
    WARM = 6


def costs(cost: Cost) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Say what an action costs; those that say nothing are QUICK."""

    def marked(action: Callable[P, T]) -> Callable[P, T]:
        vars(action)["cost"] = cost
        return action

    return marked


def cost_of(action: Callable[..., object]) -> Cost:
    return getattr(action, "cost", Cost.QUICK)


@dataclass(frozen=True)
class Action(Generic[T]):
    """A call of an action: `function(studio, *arguments, **options)`."""

    function: Callable[..., T]
    arguments: tuple[object, ...]
    options: Mapping[str, object]

    @property
    def name(self) -> str:
        return str(self.function.__name__)

    def done(self, studio: "Studio") -> T:
        """Do it now; return its answer."""
        return self.function(studio, *self.arguments, **self.options)


class Submit(Protocol):
    """Lets an action of an account be done; at_most: of the account's actions at a time, else TooMany is raised."""

    def __call__(
        self, studio: "Studio", account: Account, action: Action[T], at_most: int | None = None
    ) -> Future[T]: ...


def done_here(studio: "Studio", account: Account, action: Action[T], at_most: int | None = None) -> Future[T]:
    """Do an action at once, in this thread; return it ended."""
    future: Future[T] = Future()
    try:
        future.set_result(action.done(studio))
    except Exception as error:  # noqa: BLE001 - whoever asked receives it
        future.set_exception(error)
    return future


@dataclass(frozen=True)
class Studio:
    """The context of all actions. wake: notifies the workers of a queued task. submit: does what takes a while.
    submitted: receives each task that an action queues, in the same transaction, so that the caller can claim it."""

    settings: Settings
    service: ServiceSettings
    database: Database
    storage: Storage
    link_secret: bytes
    local: Account
    wake: Callable[[], None] = lambda: None
    submitted: Callable[[Connection, str], None] = lambda connection, task_id: None
    submit: Submit = done_here

    def apart(
        self, account: Account, function: "Callable[Concatenate[Studio, P], T]", *given: P.args, **options: P.kwargs
    ) -> Future[T]:
        """Let `function(studio, *given, **options)` be done where this studio does what takes a while, or loads what a
        server does without, in the account's turn. Raises TooMany if too many actions of the account wait."""
        return self.submit(self, account, Action(function, given, options))

    @property
    def installation(self) -> Installation:
        """What signs results, and knows those made here."""
        return installation_of(self.settings, self.service)

    def link(self, key: str, base_url: str, now_s: float) -> str:
        """Return an absolute URL that opens the stored file until it expires; base_url: as the client called it."""
        begin = self.service.cdn_url or f"{self.base_url(base_url)}/files"
        return f"{begin.rstrip('/')}/{sign(self.link_secret, key, now_s + self.service.link_hours * 3600)}"

    def base_url(self, of_request: str) -> str:
        """Return the service's address from the settings, else as the client called it."""
        return self.service.base_url.rstrip("/") or of_request.rstrip("/") + self.service.path_prefix

    def close(self) -> None:
        self.database.close()


def open_studio(settings: Settings, service: ServiceSettings) -> Studio:
    """Open everything: migrate the database, create the local account, load the link secret. Raises SettingsError."""
    make_folder(settings.data)
    database = open_database(database_url(service.database_url, settings.data))
    try:
        upgrade(database)
        storage = open_storage(service.storage_url, settings.data)
        storage.check()
        local = local_account(database)
        import_folders(database, storage, local)
        return Studio(settings, service, database, storage, secret_of(database), local)
    except BaseException:
        database.close()
        raise
