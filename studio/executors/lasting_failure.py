"""Trouble that lasts: it is logged once, again when it changes, and when it is over."""

from typing import TYPE_CHECKING

from studio.errors import StudioError

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger


class LastingFailure:
    """What keeps something from working that is tried again and again."""

    def __init__(self, log: "FilteringBoundLogger", event: str) -> None:
        self._log, self._event = log, event
        self._said = ""

    def met(self, trouble: Exception) -> None:
        """Log a failure, with a traceback unless it is foreseen, if it is not the one before."""
        said = f"{type(trouble).__name__}: {trouble}"
        if said == self._said:
            return
        self._said = said
        if isinstance(trouble, StudioError):
            self._log.warning(self._event, reason=str(trouble))
        else:
            self._log.error(self._event, exc_info=trouble)

    def over(self) -> None:
        if self._said:
            self._said = ""
            self._log.info(f"{self._event}_over")
