"""Figures as the whole page writes them."""

from engine.texts import numeral, tr


def signed(number: float, digits: int = 1) -> str:
    """Return a number with a proper minus sign."""
    return f"{number:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def duration_text(seconds: float) -> str:
    """Return how long a recording is: 5.3 s, 12:00 min."""
    whole = round(seconds)
    return f"{seconds:.1f} s" if seconds < 60 else tr(
        "{whole}:{whole2} min",
        whole=whole // 60, whole2=numeral(whole % 60, "02d"),
    )
