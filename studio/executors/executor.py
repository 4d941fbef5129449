"""What a server expects of an executor, whichever it is."""

from collections.abc import Mapping
from typing import Protocol


class Executor(Protocol):
    """Sees to it that tasks are done, between `start` and `stop`."""

    def start(self) -> None:
        """Begin."""

    def wake(self) -> None:
        """There is something to do: it is begun at once rather than at the next look."""

    def alive(self) -> Mapping[str, float]:
        """The state of the workers, by name; `workers` is among them."""

    def stop(self) -> None:
        """End; what is being worked on finishes within the time of grace, or goes back into the queue."""
