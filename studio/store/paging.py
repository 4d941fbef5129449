"""Cursors: the start of the next page of a list, as text that a client sends back."""

import base64
import json
import math
from typing import Any

from studio.errors import Invalid


def cursor_after(*place: str | float) -> str:
    """Return the cursor after an entry with these sort values."""
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def sort_values(cursor: str, *kinds: type) -> tuple[Any, ...]:
    """Parse the sort values of a cursor, each of its kind. Raises Invalid unless `cursor_after` made it."""
    try:
        place = tuple(json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))))
        if tuple(map(type, place)) != kinds or not all(map(_is_storable, place)):
            raise ValueError(cursor)
    except (ValueError, TypeError, RecursionError) as cause:
        text = "The cursor is not valid: send `next_cursor` unchanged, or leave it out."
        raise Invalid([("cursor", text)]) from cause
    return place


def _is_storable(value: str | float) -> bool:
    """Return whether a database can compare the value. Raises ValueError for lone surrogates."""
    return math.isfinite(value) if isinstance(value, float) else "\0" not in value.encode().decode()
