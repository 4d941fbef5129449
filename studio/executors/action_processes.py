"""Actions of the server that take a while, each in a process of its own: imports, exports, checks of files, previews.
So the server never loads a network or what reads other people's files. A process does whole actions, one after
another: where the server dies, the action is finished; where the process dies, nothing of it is there.
What is quick once it is loaded (`Cost.WARM`) has one process more, which keeps what it loads and uses all cores."""

import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar, cast

import structlog

from engine.cores import usable_cores
from engine.errors import EngineError, is_full_disk
from engine.texts import tr
from studio.errors import DiskFull, StudioError, Unavailable
from studio.executors.child import Child
from studio.executors.housekeeping import delete_received
from studio.executors.process import environment_of
from studio.executors.turns import Turns
from studio.settings.environment import Settings, installation_of
from studio.settings.logs import start_logs
from studio.settings.service import ServiceSettings
from studio.store.accounts import Account
from studio.store.database import database_url, open_database
from studio.store.storage import open_storage
from studio.store.studio import Action, Cost, Studio, cost_of
from studio.tracing import send_spans, span, start_tracing

T = TypeVar("T")
MOST_WAITING = 100  # actions of an account
_NICENESS = 10  # as conversions: the server comes first
_WARM_NICENESS = 5  # somebody waits for each of what is quick: before conversions
_WARM_S = 600.0  # without an action, until what is kept warm ends
LONG_S = 3.0  # an action that takes longer leaves its place to those of others
_END_S = 5.0  # for a process to end by itself
_RETRY_S = 5.0
_GONE = tr("This has ended unexpectedly. Try again; if it happens again, the file may need more memory than there is.")
_TOO_LONG = tr("This took too long and was stopped. Try again with less at once.")
_LOWEST = 19


class ApartActions:
    """Carries out the actions of a server in `service.action_processes` processes and a warm one, until `close`."""

    def __init__(self, studio: Studio) -> None:
        self._studio, self._thread = studio, _Thread()
        self._turns = Turns(studio.service.action_processes, MOST_WAITING, self._process, long_s=LONG_S)
        self._warm = Turns(1, MOST_WAITING, partial(self._process, is_warm=True), idle_s=_WARM_S)

    def submit(self, studio: Studio, account: Account, action: Action[T], at_most: int | None = None) -> Future[T]:
        """Let a process do an action when the account's turn comes; the future raises what the action does. See
        `Turns.submit`."""
        turns = self._warm if cost_of(action.function) is Cost.WARM else self._turns
        return turns.submit(account.id, lambda: self._done(action), at_most)

    def close(self) -> None:
        """Do no more; what is still being done ends with this process, and nothing of it is left."""
        self._turns.close()
        self._warm.close()

    def _done(self, action: Action[T]) -> T:
        try:
            return self._thread.process.ask(action)
        finally:
            self._studio.wake()  # what was queued by another process

    @contextmanager
    def _process(self, is_warm: bool = False) -> Iterator[None]:
        """Give this thread a process, which starts when it is needed."""
        self._thread.process = _Process(self._studio, is_warm)
        try:
            yield
        finally:
            self._thread.process.end()


class _Thread(threading.local):
    """What each thread has of its own."""

    process: "_Process"


class _Process:
    """A process, started when it is needed and again when it has died."""

    def __init__(self, studio: Studio, is_warm: bool) -> None:
        self._studio, self._is_warm = studio, is_warm
        self._patience_s = 60 * studio.service.stalled_minutes
        self._child: Child | None = None
        self._is_lowered = False
        self._log = structlog.get_logger("studio.apart")

    def ask(self, action: Action[T]) -> T:
        """Have an action done. Raises what it raises, and Unavailable if the process dies or takes too long."""
        with span(f"apart {action.name}") as traced:
            try:
                answered = self._ready().ask((action, traced.traceparent), self._patience_s)
                kind, answer, self._is_lowered = cast(tuple[str, T, bool], answered)
            except BaseException as cause:
                self._log.warning("action_ended", action=action.name, reason=repr(cause))
                self.end(at_once=True)
                delete_received(self._studio.settings.work)  # that it has left
                if isinstance(cause, TimeoutError):
                    raise Unavailable(_TOO_LONG, _RETRY_S, "took_too_long") from cause
                if isinstance(cause, EOFError | OSError):
                    raise Unavailable(_GONE, _RETRY_S, "interrupted") from cause
                raise
        if kind == "done":
            return answer
        raise answer if isinstance(answer, Exception) else RuntimeError(answer)

    def _ready(self) -> Child:
        """Return a process with the priority of a new one: none can raise its own again."""
        if self._is_lowered:
            self.end()
        if self._child is None:
            studio = self._studio
            given = (studio.settings, studio.service, studio.link_secret, studio.local, self._is_warm)
            self._child = Child("actions", _serve, *given)
        return self._child

    def end(self, at_once: bool = False) -> None:
        """End the process; it may finish what it does unless `at_once`."""
        if self._child is not None:
            self._child.end(0.0 if at_once else _END_S)
        self._child, self._is_lowered = None, False


def _serve(
    pipe: Connection, settings: Settings, service: ServiceSettings, link_secret: bytes, local: Account, is_warm: bool
) -> None:  # pragma: no cover - in a process of its own
    """Do what comes through the pipe until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal; the server decides
    threads = service.threads or max(1, usable_cores() // (1 if is_warm else service.action_processes))
    os.environ.update(environment_of(threads) | installation_of(settings, service).as_environment())
    with suppress(OSError, AttributeError):
        os.nice(_WARM_NICENESS if is_warm else _NICENESS)
    start_logs(level=service.log_level)
    start_tracing()
    database = open_database(database_url(service.database_url, settings.data))
    storage = open_storage(service.storage_url, settings.data)
    studio = Studio(settings, service, database, storage, link_secret, local)
    with suppress(EOFError, OSError):  # the server has ended
        while True:
            action, traceparent = pipe.recv()
            with _yielding(threading.TIMEOUT_MAX if is_warm else LONG_S) as is_lowered:
                answer = _answered(studio, action, traceparent)
            pipe.send((*answer, is_lowered()))


@contextmanager
def _yielding(long_s: float) -> Iterator[Callable[[], bool]]:  # pragma: no cover - in a process of its own
    """Lower the priority of this process, for good, if this takes long; yields what says whether that has happened."""
    lowered = threading.Event()

    def lower() -> None:
        lowered.set()
        lower_priority(os.getpid())

    timer = threading.Timer(long_s, lower)
    timer.daemon = True
    timer.start()
    try:
        yield lowered.is_set
    finally:
        timer.cancel()


def _answered(studio: Studio, action: Action[T], traceparent: str | None) -> tuple[str, T | Exception | str]:
    """Return what became of an action: ("done", its answer) or ("failed", an error for the user, or the trace)."""
    try:
        with span(action.name, parent=traceparent):
            return "done", action.done(studio)
    except Exception as error:  # noqa: BLE001 - the server answers it
        if is_full_disk(error) and not isinstance(error, StudioError):
            return "failed", DiskFull()
        return "failed", error if isinstance(error, EngineError) else traceback.format_exc()
    finally:
        send_spans()


def lower_priority(process: int) -> None:
    """Give a process, and all that it has started, the lowest priority; for good, where its user is not root."""
    for one in (process, *_threads_of(process)):
        with suppress(OSError, AttributeError):  # it has ended; Windows has no such call
            os.setpriority(os.PRIO_PROCESS, one, _LOWEST)


def _threads_of(process: int) -> Iterator[int]:
    """Yield the numbers of a process's threads, and of those of all processes that it has started."""
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            yield int(thread.name)
            with suppress(OSError):
                for child in (thread / "children").read_text().split():
                    yield from _threads_of(int(child))
