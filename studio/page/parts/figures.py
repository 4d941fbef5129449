"""Figures as the whole page writes them."""


def signed(number: float, digits: int = 1) -> str:
    """Return a number with a proper minus sign."""
    return f"{number:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def duration_text(seconds: float) -> str:
    """Return how long a recording is: 5.3 s, 12:00 min."""
    whole = round(seconds)
    return f"{seconds:.1f} s" if seconds < 60 else f"{whole // 60}:{whole % 60:02d} min"
