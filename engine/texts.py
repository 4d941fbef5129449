"""Texts for people: English ones that remember their template and values, so that they can be said in other languages.

A text is a string like any other: what logs it, stores it, compares it or sends it sees English. Whoever shows it to a
person lets it be said by a speaker of their language (`studio.languages.translation`), who knows it by its template:
the engine has no catalogue.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Protocol, SupportsIndex, TypeVar, cast

T = TypeVar("T")
FIELD = re.compile(r"\{(\w+)\}")
_FIELD = "{{{}}}"
_NUMBER = re.compile(r"[-+\u2212]?\d+(\.\d+)?")


class Speaker(Protocol):
    """Speaks a language."""

    def template_of(self, text: "Text") -> str:
        """Return the template of a text in the language, in the plural that its count takes."""
        ...

    def say(self, value: object) -> str:
        """Return a text or a number as the language writes it; what is neither as it is."""
        ...

    def say_all(self, value: object) -> object:
        """Return plain data with its texts as the language has them."""
        ...


class Text(str):
    """An English text with its template and values. Values that are texts or numbers are said in the language too.

    plural: the template for any other number than one of the first value; empty if nothing is counted.
    """

    template: str
    plural: str
    values: Mapping[str, object]

    def __new__(
        cls, english: str, template: str = "", plural: str = "", values: Mapping[str, object] | None = None
    ) -> "Text":
        """Make a text; by default one without values."""
        made = super().__new__(cls, english)
        made.template, made.plural, made.values = template or english, plural, values or {}
        return made

    def said(self, speaker: Speaker) -> str:
        """Return the text as a speaker says it."""
        return filled(speaker.template_of(self), {name: speaker.say(one) for name, one in self.values.items()})

    def format(self, *_: object, **values: object) -> str:
        """Return the text with its fields filled, as `tr` and `ntr` do."""
        values = {**self.values, **values}
        return ntr(self.template, self.plural, **values) if self.plural else tr(self.template, **values)

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> str:
        """Return the text with something else in its values, such as another name of a file."""
        values = {name: one.replace(old, new) if isinstance(one, str) else one for name, one in self.values.items()}
        return Text(super().replace(old, new, count), self.template, self.plural, values)

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
    """A number as it is written in English, which other languages write with their own marks."""


def tr(template: str, /, **values: object) -> str:
    """Mark a text for people where it is written: {fields} are filled with values.

    A word that is marked elsewhere may be given as a variable: `tr(voice.gender)`.

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

    >>> joined(tr(", "), [tr("dark"), tr("warm")])
    'dark, warm'
    """
    values = {f"part{place}": one for place, one in enumerate(parts)}
    template = _FIELD.format("between").join(_FIELD.format(name) for name in values)
    return tr(template, **values, between=between)


def parts_of(text: str) -> list[str]:
    """Return the texts that were joined to this one, in their order; a text that was not joined by itself.

    >>> parts_of(joined(" ", [tr("Sing."), joined(" ", [tr("Speak."), tr("Rest.")])]))
    ['Sing.', 'Speak.', 'Rest.']
    """
    if not isinstance(text, Text) or "between" not in text.values:
        return [text]
    joined_ones = [one for name, one in text.values.items() if name != "between"]
    return [part for one in joined_ones for part in parts_of(str(one))]


def counted(values: Mapping[str, object]) -> float | None:
    """Return the number of the first value, without its sign; None if it is none."""
    first = str.__str__(str(next(iter(values.values()), ""))).replace("\u2212", "-").replace(",", "")
    return abs(float(first)) if _NUMBER.fullmatch(first) else None


def filled(template: str, values: Mapping[str, object]) -> str:
    """Return a template with its fields filled; what is no field of it stays."""
    return FIELD.sub(lambda field: str.__str__(str(values.get(field[1], field[0]))), template)


def as_data(value: T) -> T:
    """Return a value whose texts are data that JSON can hold: their English, their templates and their values."""
    return cast(T, _data(value))


def _data(value: object) -> object:
    match value:
        case Text():
            values = {name: _data(one) for name, one in value.values.items()}
            return {"text": str.__str__(value), "template": value.template, "plural": value.plural, "values": values}
        case Numeral():
            return {"numeral": str.__str__(value)}
        case dict():
            return {name: _data(one) for name, one in value.items()}
        case list() | tuple():
            return [_data(one) for one in value]
        case str() | int() | float() | bool() | None:
            return value
        case _:
            return str(value)


def from_data(data: T) -> T:
    """Return the value that `as_data` was given."""
    return cast(T, _value(data))


def _value(data: object) -> object:
    match data:
        case {"text": str(text), "template": str(template), "plural": str(plural), "values": dict(values)}:
            return Text(text, template, plural, {name: _value(one) for name, one in values.items()})
        case {"numeral": str(written)}:
            return Numeral(written)
        case dict():
            return {name: _value(one) for name, one in data.items()}
        case list():
            return [_value(one) for one in data]
        case _:
            return data
