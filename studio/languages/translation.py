"""Say the studio's texts in a reader's language, values included."""

from collections.abc import Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING

from engine.texts import Numeral, Text, counted
from studio.languages.catalogues import entries_of
from studio.languages.known import ENGLISH, LANGUAGES

if TYPE_CHECKING:
    from babel import Locale


class Translator:
    """The speaker of one language. What its catalogue lacks is said in English.

    >>> Translator("en").say("Convert")
    'Convert'
    """

    def __init__(self, code: str) -> None:
        self.language = LANGUAGES[code]
        self._entries = entries_of(code)

    @cached_property
    def _locale(self) -> "Locale":
        from babel import Locale  # English, which is loaded quickly, does without

        return Locale.parse(self.language.locale)

    @cached_property
    def _marks(self) -> Mapping[int, str]:
        if self.language.code == ENGLISH:
            return {}
        from babel.numbers import get_decimal_symbol, get_group_symbol

        marks = (get_group_symbol, ","), (get_decimal_symbol, ".")
        return str.maketrans({ours: theirs(self._locale, numbering_system="latn") for theirs, ours in marks})

    def say(self, value: object) -> str:
        """Return a text or a number in the language; other strings (names, other people's words) as they are."""
        if isinstance(value, Text):
            return value.said(self)
        if isinstance(value, Numeral) or (isinstance(value, float) and not isinstance(value, bool)):
            return str(value).translate(self._marks)
        return str.__str__(str(value))

    def say_as_text(self, value: str) -> str:
        """Return what is a text, though it may have become a plain string, in the language."""
        return self.say(value if isinstance(value, Text) else Text(" ".join(value.split())))

    def template_of(self, text: Text) -> str:
        """Return the template of a text in the language, in the plural that its count takes."""
        number = counted(text.values) if text.plural else None
        forms = self._entries.get(text.template)
        if not forms:
            return text.plural if text.plural and number != 1 else text.template
        if len(forms) == 1 or number is None:
            return forms[-1]
        category = self._locale.plural_form(int(number) if number.is_integer() else number)
        plurals = self.language.plurals
        return forms[plurals.index(category) if category in plurals else -1]

    def say_all(self, value: object) -> object:
        """Return plain data with its texts in the language."""
        if isinstance(value, Text | Numeral):
            return self.say(value)
        if isinstance(value, Mapping):
            return {name: self.say_all(one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.say_all(one) for one in value]
        return value


@cache
def translator(code: str) -> Translator:
    return Translator(code)
