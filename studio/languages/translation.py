"""Translate the studio's texts into a reader's language, values included."""

import re
from collections.abc import Mapping
from functools import cache, cached_property

from babel import Locale
from babel.numbers import format_decimal

from studio.languages.catalogues import Entry, entries_of
from studio.languages.known import ENGLISH, LANGUAGES
from studio.languages.templates import FIELD, NAMES, NUMBER, PLAIN, Templates, normal

_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+")
_DEEPEST = 4  # values in values


class Translator:
    """The texts of the studio in one language.

    >>> Translator("en").translate("Convert")
    'Convert'
    """

    def __init__(self, code: str) -> None:
        self.language = LANGUAGES[code]
        self._entries = entries_of(code)

    @cached_property
    def _templates(self) -> Templates:
        return Templates(self._entries)

    @cached_property
    def _locale(self) -> Locale:
        return Locale.parse(self.language.locale)

    def translate(self, text: str) -> str:
        """Return a text in the language; what is in no catalogue (names, numbers, other people's words) stays.

        A text of several sentences is translated sentence by sentence if it is not known as a whole.
        """
        if self.language.code == ENGLISH and not self._entries:
            return text
        found = self._found(normal(text), 0)
        if found is None:
            return text
        before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        return before + found + after

    def format(self, template: str, **values: object) -> str:
        """Return a template in the language, filled with values: for what is too short to be recognised once filled."""
        texts = {name: str(value) for name, value in values.items()}
        return self._filled(self._entries.get(template, Entry((template,))), texts, 0)

    def number(self, text: str) -> str:
        """Return a number written as in Python with the language's decimal mark (CLDR)."""
        if "." not in text:
            return text
        mark = format_decimal(0.5, locale=self._locale, numbering_system="latn")[1]
        return text.replace(".", mark)

    def _found(self, text: str, depth: int) -> str | None:
        if entry := self._entries.get(text):
            return entry.forms[-1] if not entry.counted else None
        if depth < _DEEPEST and (recognised := self._templates.recognise(text)):
            template, values = recognised
            return self._filled(self._entries[template], values, depth)
        if depth >= _DEEPEST:
            return None
        found = self._sentences(text, depth) or self._parts(text, " · ", " · ", depth)
        return found or self._parts(text, ", ", self.language.comma, depth) or self._labelled(text, depth)

    def _filled(self, entry: Entry, values: Mapping[str, str], depth: int) -> str:
        form = self._form(entry, values.get(entry.counted, ""))
        return FIELD.sub(lambda field: self._value(field[1], values.get(field[1], field[0]), depth + 1), form)

    def _value(self, name: str, value: str, depth: int) -> str:
        if NUMBER.fullmatch(value):
            return self.number(value)
        if name.rstrip("0123456789") in NAMES:
            return value
        if found := self._found(normal(value), depth):
            return found
        return self.number(value) if PLAIN.fullmatch(value) and ":" not in value else value

    def _form(self, entry: Entry, count: str) -> str:
        if not entry.counted or not NUMBER.fullmatch(count):
            return entry.forms[-1]
        category = self._locale.plural_form(abs(float(count)) if "." in count else abs(int(count)))
        plurals = self.language.plurals
        return entry.forms[plurals.index(category) if category in plurals else -1]

    def _sentences(self, text: str, depth: int) -> str | None:
        """Translate the longest known beginning of several sentences, and then the rest."""
        ends = [found for found in _SENTENCE_END.finditer(text)]
        for end in reversed(ends):
            first = self._found_whole(text[: end.start()], depth)
            if first is not None:
                rest = text[end.end() :]
                return f"{first} {self._found(rest, depth) or rest}"
        return None

    def _labelled(self, text: str, depth: int) -> str | None:
        """Translate a known label before a colon, and then the rest."""
        label, colon, rest = text.partition(": ")
        known = self._found_whole(label, depth) if colon else None
        return None if known is None else f"{known}: {self._found(rest, depth + 1) or rest}"

    def _parts(self, text: str, mark: str, mark_there: str, depth: int) -> str | None:
        """Translate those parts of a list that are known; None if there are none."""
        parts = text.split(mark)
        found = [self._found(part, depth + 1) for part in parts] if len(parts) > 1 else []
        if not any(one is not None for one in found):
            return None
        return mark_there.join(part if one is None else one for part, one in zip(parts, found, strict=True))

    def _found_whole(self, text: str, depth: int) -> str | None:
        if entry := self._entries.get(text):
            return entry.forms[-1]
        if recognised := self._templates.recognise(text):
            return self._filled(self._entries[recognised[0]], recognised[1], depth)
        return None


@cache
def translator(code: str) -> Translator:
    """Return the translator of a language, made once."""
    return Translator(code)
