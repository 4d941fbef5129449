"""Texts for people: English ones that remember their template and values, so that they can be said in other languages.

A text is a string like any other: what logs it, stores it, compares it or sends it sees English. Whoever shows it to a
person says it in their language (`studio.languages.translation`): by its template, since the engine has no catalogue.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

FIELD = re.compile(r"\{(\w+)\}")
_NUMBER = re.compile(r"[-+\u2212]?\d+(\.\d+)?")


class Text(str):
    """An English text with its template and values. Values that are texts or numbers are said in the language too.

    plural: the template for any other number than one of the first value; empty if nothing is counted.
    """

    template: str
    plural: str
    values: Mapping[str, object]

    def __new__(cls, english: str, template: str = "", plural: str = "", values: Mapping[str, object] = {}) -> "Text":
        """Make a text; by default one without values."""
        made = super().__new__(cls, english)
        made.template, made.plural, made.values = template or english, plural, values
        return made

    def __str__(self) -> str:
        """Stay a text, also as the message of an error."""
        return self

    def __add__(self, other: str) -> str:
        """Go on with another text, or with any string."""
        return joined("", (self, other))

    def __radd__(self, other: str) -> str:
        """Begin with a string."""
        return joined("", (other, self))


class Numeral(str):
    """A number as it is written in English, which other languages write with their decimal mark."""


def tr(template: str, /, **values: object) -> str:
    """Mark a text for people where it is written: {fields} are filled with values.

    >>> tr("Take {number} is {state}.", number=3, state=tr("ready"))
    'Take 3 is ready.'
    """
    return Text(filled(template, values), template, "", values)


def ntr(one: str, other: str, /, **values: object) -> str:
    """Mark a text with a singular and a plural: the first value is what is counted.

    >>> ntr("{count} take", "{count} takes", count=1), ntr("{count} take", "{count} takes", count=2)
    ('1 take', '2 takes')
    """
    return Text(filled(one if counted(values) == 1 else other, values), one, other, values)


def numeral(value: float, form: str = "") -> Numeral:
    """Write a number as `format` does.

    >>> numeral(8.94, ".1f")
    '8.9'
    """
    return Numeral(format(value, form))


def joined(between: str, parts: Iterable[str]) -> str:
    """Join texts to one, as `str.join` does with strings.

    >>> joined(", ", [tr("dark"), tr("warm")])
    'dark, warm'
    """
    listed = list(parts)
    values = {f"part{place}": one for place, one in enumerate(listed)}
    return tr("{between}".join(f"{{{name}}}" for name in values), **values, between=between)


def counted(values: Mapping[str, object]) -> float | None:
    """Return the number of the first value, without its sign; None if it is none."""
    first = str(next(iter(values.values()), "")).replace("\u2212", "-")
    return abs(float(first)) if _NUMBER.fullmatch(first) else None


def filled(template: str, values: Mapping[str, object]) -> str:
    """Return a template with its fields filled; what is no field of it stays."""
    return FIELD.sub(lambda field: str.__str__(str(values.get(field[1], field[0]))), template)


def as_data(text: str) -> Any:
    """Return a text as data that JSON can hold: a plain string, or its template and values."""
    if isinstance(text, Numeral):
        return {"numeral": str.__str__(text)}
    if not isinstance(text, Text):
        return text
    values = {name: as_data(one) if isinstance(one, str) else _plain(one) for name, one in text.values.items()}
    return {"text": str.__str__(text), "template": text.template, "plural": text.plural, "values": values}


def from_data(data: Any) -> Any:
    """Return what `as_data` was given."""
    if isinstance(data, dict) and set(data) == {"numeral"}:
        return Numeral(data["numeral"])
    if not isinstance(data, dict) or "template" not in data:
        return data
    values = {name: from_data(one) for name, one in data["values"].items()}
    return Text(data["text"], data["template"], data["plural"], values)


def _plain(value: object) -> object:
    return value if isinstance(value, int | float | None) else str(value)
