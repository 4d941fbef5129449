"""Settings of the engine as fields of a form: their documentation, and their values."""

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import TYPE_CHECKING

from engine.settings import limits_of
from studio.actions.calls import published_default, published_limits
from studio.http.routes.documentation import Described, also_named
from studio.http.routes.fields import Fields

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def setting_named(settings: type["DataclassInstance"], name: str) -> Field[object]:
    """Return the field of a settings dataclass with this name."""
    return next(one for one in fields(settings) if one.name == name)


def setting_property(one: Field[object], is_published: bool = False) -> Described:
    """Return the documentation of a setting: its range, and words accepted instead of a number, or its only words."""
    if "minimum" not in one.metadata:
        return {"type": "string", "enum": list(one.metadata["words"]), "description": one.metadata["meaning"]}
    limits = published_limits(one) if is_published else limits_of(one)
    number = {
        "type": "integer" if isinstance(limits.minimum, int) else "number",
        "minimum": limits.minimum,
        "maximum": limits.maximum,
    }
    words = list(limits.words)
    value = {"oneOf": [number, {"type": "string", "enum": words}]} if words else number
    return {"description": one.metadata["meaning"], **value}


def setting_properties(settings: type["DataclassInstance"], published: Mapping[str, str]) -> Described:
    """Return a property for each field of a settings dataclass.
    published: by field, the names of those with a default of their own; the fields' own names mean the same."""
    properties: dict[str, Described] = {}
    for one in fields(settings):
        name, described = published.get(one.name, one.name), setting_property(one, one.name in published)
        if one.name in published:
            described = {**described, "default": published_default(one)}
        properties[name] = described if name == one.name else also_named(described, one.name)
    return properties


def parse_settings(
    form: Fields, settings: type["DataclassInstance"], published: Mapping[str, str]
) -> dict[str, int | float | str]:
    """Return the settings in a form; `form.check` reports their problems. published: as above."""
    given: dict[str, int | float | str] = {}
    for one in fields(settings):
        name = published.get(one.name, one.name)
        limits = published_limits(one) if one.name in published else limits_of(one)
        default = published_default(one) if one.name in published else None
        name = form.either(name, one.name)
        if default is not None or form.has(name):
            given[one.name] = form.setting(name, limits, default)
    return given


def parse_changes(form: Fields, settings: type["DataclassInstance"]) -> dict[str, int | float | str]:
    """Return the settings that a form has; `form.check` reports their problems."""
    return {one.name: form.setting(one.name, limits_of(one)) for one in fields(settings) if form.has(one.name)}
