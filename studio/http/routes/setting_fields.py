"""Settings of the engine as fields of a form: what the document says of them, and their values."""

from collections.abc import Collection
from dataclasses import fields
from typing import Any

from studio.http.routes.fields import Fields


def setting_properties(settings: type[Any], without: Collection[str]) -> dict[str, Any]:
    """A property for each field of a settings dataclass, with its range and its meaning."""
    return {
        one.name: {
            "type": "integer" if isinstance(one.metadata["minimum"], int) else "number",
            "minimum": one.metadata["minimum"],
            "maximum": one.metadata["maximum"],
            "description": one.metadata["meaning"],
        }
        for one in fields(settings)
        if one.name not in without
    }


def given_settings(form: Fields, settings: type[Any], without: Collection[str]) -> dict[str, int | float]:
    """The settings that a form holds; what is wrong with them `form.check` tells."""
    given: dict[str, int | float] = {}
    for one in fields(settings):
        if one.name in without or not form.has(one.name):
            continue
        lowest, highest = one.metadata["minimum"], one.metadata["maximum"]
        read = form.whole if isinstance(lowest, int) else form.number
        given[one.name] = read(one.name, lowest, highest)
    return given
