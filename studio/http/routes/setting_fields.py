"""Settings of the engine as fields of a form: their documentation, and their values."""

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any

from studio.actions.calls import published_default, published_metadata
from studio.http.routes.documentation import also_named
from studio.http.routes.fields import Fields


def setting_named(settings: type[Any], name: str) -> "Field[Any]":
    """Return the field of a settings dataclass with this name."""
    return next(one for one in fields(settings) if one.name == name)


def setting_property(one: "Field[Any]", is_published: bool = False) -> dict[str, Any]:
    """Return the documentation of a setting: its range, and words accepted instead of a number, or its only words."""
    if "minimum" not in one.metadata:
        return {"type": "string", "enum": list(one.metadata["words"]), "description": one.metadata["meaning"]}
    metadata = published_metadata(one) if is_published else one.metadata
    number = {
        "type": "integer" if isinstance(metadata["minimum"], int) else "number",
        "minimum": metadata["minimum"],
        "maximum": metadata["maximum"],
    }
    words = list(metadata["words"])
    value = {"oneOf": [number, {"type": "string", "enum": words}]} if words else number
    return {"description": metadata["meaning"], **value}


def setting_properties(settings: type[Any], published: Mapping[str, str]) -> dict[str, Any]:
    """Return a property for each field of a settings dataclass.

    published: by field, the names of those with a default of their own; the others default to the preset. The fields'
    own names mean the same.
    """
    properties = {}
    for one in fields(settings):
        name, described = published.get(one.name, one.name), setting_property(one, one.name in published)
        if one.name in published:
            described["default"] = published_default(one)
        properties[name] = described if name == one.name else also_named(described, one.name)
    return properties


def parse_settings(form: Fields, settings: type[Any], published: Mapping[str, str]) -> dict[str, int | float | str]:
    """Return the settings in a form; `form.check` reports their problems. published: as above."""
    given: dict[str, int | float | str] = {}
    for one in fields(settings):
        name = published.get(one.name, one.name)
        metadata = published_metadata(one) if one.name in published else one.metadata
        default: Any = published_default(one) if one.name in published else None
        name = form.either(name, one.name)
        if default is not None or form.has(name):
            given[one.name] = form.setting(name, metadata, default)
    return given


def parse_changes(form: Fields, settings: type[Any]) -> dict[str, int | float | str]:
    """Return the settings that a form has; `form.check` reports their problems."""
    return {one.name: form.setting(one.name, one.metadata) for one in fields(settings) if form.has(one.name)}
