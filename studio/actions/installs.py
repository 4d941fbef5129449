"""Additions installed from the page: fetched by a thread of the server, which the page looks at and may stop.

One fetch of each at a time, whoever asks. What a stopped one has received stays, and the next one goes on there.
"""

import threading
from dataclasses import dataclass, field

import structlog

from engine.errors import Cancelled, EngineError
from engine.texts import tr
from studio.actions.fetches import Addition, fetch
from studio.settings.service import ServiceSettings, is_for_this_machine
from studio.store.studio import Studio

_OURS = tr("Something went wrong in the studio. See its log for details.")


@dataclass
class _Fetch:
    """A fetch, running or ended. error: why it failed, else empty."""

    stop: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None
    progress: float = 0.0
    message: str = ""
    error: str = ""


@dataclass(frozen=True)
class InstallView:
    """How far an addition is. is_stopped: whether the last try was stopped; progress: 0..1; error: why it failed, else
    empty."""

    is_installed: bool
    is_running: bool
    is_stopped: bool
    progress: float
    message: str
    error: str


class Installs:
    """The fetches of a server."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._fetches: dict[str, _Fetch] = {}
        self._lock = threading.Lock()

    def begin(self, addition: Addition) -> None:
        """Fetch and install, unless that is being done."""
        with self._lock:
            if self._is_running(addition):
                return
            one = self._fetches[addition.file.sha256] = _Fetch(progress=addition.received)
            one.thread = threading.Thread(target=self._carry_out, args=(addition, one), name="install", daemon=True)
            one.thread.start()

    def stop(self, addition: Addition) -> None:
        """Let a fetch stop, if there is one, as soon as the network answers."""
        if (one := self._fetches.get(addition.file.sha256)) is not None:
            one.stop.set()

    def view(self, addition: Addition) -> InstallView:
        """Return how far an addition is."""
        one = self._fetches.get(addition.file.sha256) or _Fetch(progress=addition.received)
        running = self._is_running(addition)
        installed = addition.found() is not None and not running
        return InstallView(installed, running, one.stop.is_set(), one.progress, one.message, one.error)

    def _is_running(self, addition: Addition) -> bool:
        one = self._fetches.get(addition.file.sha256)
        return one is not None and one.thread is not None and one.thread.is_alive()

    def _carry_out(self, addition: Addition, one: _Fetch) -> None:
        def report(fraction: float, message: str) -> None:
            one.progress, one.message = fraction, message
            if one.stop.is_set():
                raise Cancelled

        try:
            fetch(self._studio, addition, report)
        except Cancelled:
            pass
        except EngineError as error:
            one.error = "" if one.stop.is_set() else str(error)
        except Exception:  # noqa: BLE001 - a bug, or a disk that fails: the log gets the reason
            structlog.get_logger("studio.installs").exception("failed", file=addition.file.name)
            one.error = _OURS


def can_install(service: ServiceSettings) -> bool:
    """Whether the page may install: it is this machine's own, and its workers are on this machine."""
    return is_for_this_machine(service) and not service.is_demo and service.executor == "local"
