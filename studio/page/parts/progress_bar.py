"""How far something is: a bar and a line of text."""

import html

_LONG_S = 90.0
_STEP_S = 5  # seconds that are left are told in such steps, so that the line does not flicker


def progress_bar(fraction: float, text: str) -> str:
    """A bar of 0..1 with what is going on, as HTML."""
    said = html.escape(text)
    share = min(max(fraction, 0.0), 1.0)
    bar = f'<progress max="1" value="{share:.3f}" aria-label="{said}"></progress>'
    return f'<div class="progress-bar">{bar}<p>{said}</p></div>'


def time_left(seconds: float | None) -> str:
    """About how long it still takes, for people; nothing while that is unknown."""
    return "" if seconds is None else f"about {_rounded(seconds)} left"


def time_until(seconds: float | None) -> str:
    """About when it begins, for people; nothing while that is unknown."""
    return "" if seconds is None else f"begins in about {_rounded(seconds)}"


def _rounded(seconds: float) -> str:
    if seconds > _LONG_S:
        return f"{round(seconds / 60) or 1} min"
    return f"{max(_STEP_S, _STEP_S * round(seconds / _STEP_S))} s"
