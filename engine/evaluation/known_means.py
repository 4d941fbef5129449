"""Means of measures, some of which do not apply to every recording."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any


def known_means(kind: type, rows: Iterable[Any]) -> dict[str, float | None]:
    """Mean of each field of the dataclass `kind` over those rows of it that have it; None where none has."""
    held = list(rows)
    means: dict[str, float | None] = {}
    for name in (field.name for field in fields(kind)):
        known = [value for row in held if (value := getattr(row, name)) is not None]
        means[name] = sum(known) / len(known) if known else None
    return means
