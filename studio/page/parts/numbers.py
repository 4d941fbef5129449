"""Figures as the whole page writes them."""

from engine.texts import Numeral, numeral, tr


def signed(number: float, digits: int = 1) -> Numeral:
    """Return a number with a proper minus sign."""
    return Numeral(f"{number:.{digits}f}".replace("-", "\N{MINUS SIGN}"))


def duration_text(seconds: float) -> str:
    """Return how long a recording is: 5.3 s, 12:00 min."""
    whole = round(seconds)
    return (
        tr("{seconds} s", seconds=numeral(seconds, ".1f"))
        if seconds < 60
        else tr("{minutes}:{seconds} min", minutes=whole // 60, seconds=numeral(whole % 60, "02d"))
    )
