"""Timer threads of a server, which keep what calls were promised for later; the whole state is in the database."""

import threading
from collections.abc import Callable

from structlog.typing import FilteringBoundLogger

from studio.executors.lasting_failure import LastingFailure

_LOOK_S = 1.0


class TimerThread:
    """A thread that looks, between `start` and `stop`, whether something is due, and does it."""

    def __init__(
        self, name: str, due: Callable[[], int], log: FilteringBoundLogger, close: Callable[[], None] | None = None
    ) -> None:
        """Watch over `name`. due: does what is due, or begins it, and returns how much it was; close: ends that."""
        self._name, self._due, self._log, self._close = name, due, log, close
        self._trouble = LastingFailure(log, f"{name}_not_looked_after")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Let the thread end; what it has begun is finished, or done again by another."""
        self._stopping.set()
        self._thread.join()
        if self._close is not None:
            self._close()

    def look(self) -> None:
        """Do what is due; after a failure, which is logged once, the next look tries again."""
        try:
            number = self._due()
        except Exception as trouble:  # noqa: BLE001 - the thread must live on
            self._trouble.met(trouble)
            return
        self._trouble.over()
        if number:
            self._log.info("attended", to=self._name, number=number)

    def _watch(self) -> None:
        while not self._stopping.wait(_LOOK_S):
            self.look()
