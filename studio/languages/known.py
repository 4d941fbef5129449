"""The languages of the studio: their codes, their own names, how they count, and which one a reader gets."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

ENGLISH: Final = "en"
ENVIRONMENT: Final = "TIMBRE_STUDIO_LANGUAGE"  # of the command line; else the locale's variables
_LOCALE_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")


@dataclass(frozen=True)
class Language:
    """A language of the studio.

    code: as in BCP 47 (RFC 5646). name: what its speakers call it. plurals: the plural categories of the CLDR (Unicode
    TR 35) that its catalogue has, in the order of gettext's forms; the last one stands for every other category.
    """

    code: str
    name: str
    plurals: tuple[str, ...] = ("one", "other")
    is_right_to_left: bool = False
    comma: str = ", "  # between the parts of a list

    @property
    def locale(self) -> str:
        """The code as Babel and gettext write it: pt_BR."""
        return self.code.replace("-", "_")

    @property
    def direction(self) -> str:
        return "rtl" if self.is_right_to_left else "ltr"


_SAME = ("other",)  # these languages count without plural forms
LANGUAGES: Final[Mapping[str, Language]] = {
    language.code: language
    for language in (
        Language("en", "English"),
        Language("de", "Deutsch"),
        Language("fr", "Français"),
        Language("es", "Español"),
        Language("pt-BR", "Português (Brasil)"),
        Language("it", "Italiano"),
        Language("tr", "Türkçe", _SAME),
        Language("ja", "日本語", _SAME, comma="、"),
        Language("ko", "한국어", _SAME),
        Language("zh-Hans", "简体中文", _SAME, comma="、"),
        Language("hi", "हिन्दी"),
        Language("ar", "العربية", ("zero", "one", "two", "few", "many", "other"), is_right_to_left=True, comma="، "),
    )
}


def chosen_by(wishes: Sequence[str]) -> Language:
    """Return the first wish that is a language of the studio, however it is written; English if none is.

    >>> chosen_by(["pt", "de"]).code, chosen_by(["zh_CN.UTF-8"]).code, chosen_by(["DE-at"]).code, chosen_by(["C"]).code
    ('pt-BR', 'zh-Hans', 'de', 'en')
    """
    by_primary = {code.split("-")[0]: language for code, language in reversed(list(LANGUAGES.items()))}
    for wish in wishes:
        if language := by_primary.get(wish.replace("_", "-").split(".")[0].split("-")[0].strip().lower()):
            return language
    return LANGUAGES[ENGLISH]


def accepted(header: str | None) -> Language:
    """Return the language that an Accept-Language header prefers (RFC 9110, 12.5.4).

    >>> accepted("fr;q=0.4, ja, en;q=0.8").code, accepted("xx, *;q=0.5").code, accepted(None).code
    ('ja', 'en', 'en')
    """
    ranges = []
    for one in (header or "").split(","):
        name, _, weight = one.partition(";")
        try:
            quality = float(weight.strip().removeprefix("q=") or 1)
        except ValueError:
            quality = 0.0
        if quality > 0:
            ranges.append((-quality, name.strip()))
    return chosen_by([name for _, name in sorted(ranges, key=lambda one: one[0])])


def of_environment(environment: Mapping[str, str] = os.environ) -> Language:
    """Return the language of a terminal: that of TIMBRE_STUDIO_LANGUAGE, else of the locale (POSIX, chapter 8.2).

    >>> of_environment({"LANG": "it_IT.UTF-8"}).code, of_environment({"LC_ALL": "C", "LANG": "it_IT"}).code
    ('it', 'en')
    """
    given = next((value for name in (ENVIRONMENT, *_LOCALE_VARIABLES) if (value := environment.get(name))), "")
    return chosen_by([given])
