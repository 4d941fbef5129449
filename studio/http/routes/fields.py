"""Fields of a form as values. All that is wrong with them is told at once."""

import math
import re
from collections.abc import Sequence

from studio.errors import Invalid
from studio.http.bodies import Form, UploadedFile

_NUMBER = re.compile(r"[+-]?[0-9]{1,12}(\.[0-9]{0,12})?(e[+-]?[0-9]{1,2})?", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?[0-9]{1,12}")
_FLAGS = {"true": True, "false": False}
_SHOWN = 40  # characters of a wrong value


class Fields:
    """Reads values out of a form, and gathers what is wrong; `check` tells it."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._problems: list[tuple[str, str]] = []

    def check(self) -> None:
        """Raises Invalid with every wrong field."""
        if self._problems:
            raise Invalid(self._problems)

    def text(self, name: str, longest: int = 200) -> str:
        """A text that must be there."""
        value = self._form.fields.get(name, "").strip()
        if not value:
            self._wrong(name, "is missing.")
        elif len(value) > longest:
            self._wrong(name, f"has more than {longest} characters.")
        return value

    def has(self, name: str) -> bool:
        """Whether something stands in a field."""
        return bool(self._form.fields.get(name, "").strip())

    def choice(self, name: str, words: Sequence[str], default: str) -> str:
        """One of some words."""
        value = self._form.fields.get(name, "").strip() or default
        if value not in words:
            self._wrong(name, f"must be one of {', '.join(words)}, not {shown(value)}.")
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Whether something is so."""
        value = self._form.fields.get(name, "").strip().lower()
        if value and value not in _FLAGS:
            self._wrong(name, f"must be true or false, not {shown(value)}.")
        return _FLAGS.get(value, default)

    def number(self, name: str, lowest: float, highest: float) -> float:
        """A number, whole or not, that must be there."""
        text = self._form.fields.get(name, "").strip()
        value = float(text) if _NUMBER.fullmatch(text) else math.nan
        if not lowest <= value <= highest:
            self._wrong(name, f"must be a number from {lowest} to {highest}, not {shown(text)}.")
        return value

    def whole(self, name: str, lowest: int, highest: int, default: int | None = None) -> int:
        """A whole number; without a default it must be there."""
        value = self._whole_or_word(name, lowest, highest, default, ())
        return value if isinstance(value, int) else 0

    def whole_or_word(self, name: str, lowest: int, highest: int, default: int, word: str) -> int | str:
        """A whole number, or the word that may stand instead of one."""
        return self._whole_or_word(name, lowest, highest, default, (word,))

    def file(self, *names: str) -> UploadedFile | None:
        """The file under one of these names, which mean the same; None, and a problem, without one."""
        given = [name for name in names if name in self._form.files]
        if len(given) == 1:
            return self._form.files[given[0]]
        if given:
            self._wrong(given[1], f"is the same as {given[0]}: send one of them.")
        elif misplaced := [name for name in names if name in self._form.fields]:
            self._wrong(misplaced[0], f"must be a file: with curl, -F {misplaced[0]}=@FILE.")
        else:
            self._wrong(names[0], f"is missing: with curl, -F {names[0]}=@FILE.")
        return None

    def _whole_or_word(
        self, name: str, lowest: int, highest: int, default: int | None, words: Sequence[str]
    ) -> int | str:
        text = self._form.fields.get(name, "").strip()
        if not text and default is not None:
            return default
        if text in words:
            return text
        if not text:
            self._wrong(name, "is missing.")
        elif not _WHOLE.fullmatch(text) or not lowest <= int(text) <= highest:
            others = "".join(f", or the word {word}" for word in words)
            self._wrong(name, f"must be a whole number from {lowest} to {highest}{others}, not {shown(text)}.")
        else:
            return int(text)
        return 0

    def _wrong(self, name: str, text: str) -> None:
        self._problems.append((name, f"{name} {text}"))


def shown(value: str) -> str:
    """A client's value as part of a sentence."""
    cut = value if len(value) <= _SHOWN else value[:_SHOWN] + "…"
    return "'" + "".join(sign if sign.isprintable() else "?" for sign in cut) + "'"
