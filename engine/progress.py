"""Progress of long work, as its caller receives it."""

from collections.abc import Callable

Report = Callable[[float, str], None]  # fraction 0..1 and a message; may raise Cancelled


def within(report: Report, first: float, last: float) -> Report:
    """Return a report that covers this part of another's progress."""
    return lambda fraction, message: report(first + (last - first) * fraction, message)


def no_report(fraction: float, message: str) -> None:
    """Report to nobody."""
