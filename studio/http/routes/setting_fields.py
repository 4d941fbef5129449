"""Settings of the engine as fields of a form: their documentation, and their values."""

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any

from studio.http.routes.fields import Fields


def setting_named(settings: type[Any], name: str) -> "Field[Any]":
    """Return the field of a settings dataclass with this name."""
    return next(one for one in fields(settings) if one.name == name)


def setting_property(one: "Field[Any]") -> dict[str, Any]:
    """Return the documentation of a setting: its range, and words accepted instead of a number."""
    number = {
        "type": "integer" if isinstance(one.metadata["minimum"], int) else "number",
        "minimum": one.metadata["minimum"],
        "maximum": one.metadata["maximum"],
    }
    words = list(one.metadata["words"])
    value = {"oneOf": [number, {"type": "string", "enum": words}]} if words else number
    return {"description": one.metadata["meaning"], **value}


def setting_properties(settings: type[Any], published: Mapping[str, str]) -> dict[str, Any]:
    """Return a property for each field of a settings dataclass.

    published: by field, the names of those with a default of their own; the others default to the preset.
    """
    return {
        published.get(one.name, one.name): setting_property(one)
        | ({"default": one.default} if one.name in published else {})
        for one in fields(settings)
    }


def given_settings(form: Fields, settings: type[Any], published: Mapping[str, str]) -> dict[str, int | float | str]:
    """Return the settings in a form; `form.check` reports their problems. published: as above."""
    given: dict[str, int | float | str] = {}
    for one in fields(settings):
        name = published.get(one.name, one.name)
        default: Any = one.default if one.name in published else None
        if default is not None or form.has(name):
            given[one.name] = form.setting(name, one.metadata, default)
    return given
