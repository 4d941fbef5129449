"""Lengths of time as they are told to people."""

import math

_LONG_S = 120.0


def in_words(seconds: float) -> str:
    """A length in seconds, or from two minutes on in minutes, rounded up: what is longer than a minute is never told
    as a minute.

    >>> in_words(60), in_words(60.04), in_words(3600)
    ('60 seconds', '60.1 seconds', '60 minutes')
    """
    value, unit = (seconds, "seconds") if seconds < _LONG_S else (seconds / 60, "minutes")
    return f"{math.ceil(round(10 * value, 3)) / 10:g} {unit}"
