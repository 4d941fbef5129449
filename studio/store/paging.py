"""Cursors: the start of the next page of a list, as text that a client sends back."""

import base64
import json
import math
from typing import TypeVar

from engine.texts import tr
from studio.errors import Invalid

First = TypeVar("First", str, float)
Second = TypeVar("Second", str, float)


def cursor_after(*place: str | float) -> str:
    """Return the cursor after an entry with these sort values."""
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def sort_values(cursor: str, kind: type[First], other_kind: type[Second]) -> tuple[First, Second]:
    """Parse the two sort values of a cursor, each of its kind. Raises Invalid unless `cursor_after` made it."""
    try:
        first, second = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if (type(first), type(second)) != (kind, other_kind) or not (_is_storable(first) and _is_storable(second)):
            raise ValueError(cursor)
    except (ValueError, TypeError, RecursionError) as cause:
        text = tr("The cursor is not valid: send `next_cursor` unchanged, or leave it out.")
        raise Invalid([("cursor", text)]) from cause
    return first, second


def _is_storable(value: str | float) -> bool:
    """Return whether a database can compare the value. Raises ValueError for lone surrogates."""
    return math.isfinite(value) if isinstance(value, float) else "\0" not in value.encode().decode()
