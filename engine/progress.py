"""Progress of long work, as its caller receives it."""

from collections.abc import Callable

Report = Callable[[float, str], None]  # fraction 0..1 and a message; may raise Cancelled


def no_report(fraction: float, message: str) -> None:
    """Report to nobody."""
