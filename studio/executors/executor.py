"""The interface of executors."""

from collections.abc import Mapping
from typing import Protocol


class Executor(Protocol):
    """Runs tasks between `start` and `stop`."""

    def start(self) -> None:
        """Begin."""

    def wake(self) -> None:
        """Look for tasks now rather than at the next interval."""

    def alive(self) -> Mapping[str, float]:
        """Return the state of the workers by name, including `workers`."""

    def stop(self) -> None:
        """Stop; running tasks finish within the grace period, or are requeued."""
