"""A progress bar with a line of text, and times as text."""

from engine.texts import tr
from studio.page.parts.markup import markup

_LONG_S = 90.0
_LEAST_TAKEN_S = 10.0
_STEP_S = 5  # steps of the remaining seconds, so that the line does not flicker


def progress_bar(fraction: float, text: str) -> str:
    """Return a bar of 0..1 with the text below it, as HTML."""
    said = markup(text)
    share = min(max(fraction, 0.0), 1.0)
    bar = f'<progress max="1" value="{share:.3f}" aria-label="{said}"></progress>'
    return f'<div class="progress-bar">{bar}<p>{said}</p></div>'


def time_left(seconds: float | None) -> str:
    """Return the remaining time as text; nothing while unknown."""
    return "" if seconds is None else tr("about {seconds} left", seconds=_rounded(seconds))


def time_taken(seconds: float | None) -> str:
    """Return the time so far as text, once there is some to speak of."""
    return "" if seconds is None or seconds < _LEAST_TAKEN_S else tr("{seconds} so far", seconds=_rounded(seconds))


def time_until(seconds: float | None) -> str:
    """Return the time until the start as text; nothing while unknown."""
    if seconds is None:
        return ""
    return (
        tr("starts in about {seconds}", seconds=_rounded(seconds))
        if seconds > _STEP_S / 2
        else tr("starts in a moment")
    )


def _rounded(seconds: float) -> str:
    if seconds > _LONG_S:
        return tr("{seconds} min", seconds=round(seconds / 60) or 1)
    return tr("{seconds} s", seconds=max(_STEP_S, _STEP_S * round(seconds / _STEP_S)))
