"""The attendant of a server's tasks: keeps what calls were promised for later, whichever process does the work.

Its whole state is in the database, so that a server that starts again, or another beside it, goes on with it.
"""

import threading

from structlog.typing import FilteringBoundLogger

from studio.errors import StudioError
from studio.executors.recovery import settle
from studio.store.deadlines import cancel_overdue
from studio.store.studio import Studio

_LOOK_S = 1.0


class Attendant:
    """A thread of the server that cancels tasks whose deadline has passed, between `start` and `stop`."""

    def __init__(self, studio: Studio, log: FilteringBoundLogger) -> None:
        self._studio, self._log = studio, log
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="attendant", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        self._thread.join()

    def look(self) -> None:
        """Do what is due; a failure is logged, and the next look tries again."""
        try:
            if number := cancel_overdue(self._studio.database, settle):
                self._log.info("overdue_cancelled", tasks=number)
        except StudioError as trouble:
            self._log.warning("attendant_waits", reason=str(trouble))
        except Exception:  # noqa: BLE001 - the thread must live on
            self._log.exception("attendant_failed")

    def _watch(self) -> None:
        while not self._stopping.wait(_LOOK_S):
            self.look()
