"""Read the fields of a form as values, reporting all problems at once; those of addresses are read the same way."""

import math
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from engine.errors import SettingsError
from engine.settings import Limits, out_of_range
from engine.texts import tr
from studio.errors import Invalid
from studio.http.bodies import Form, UploadedFile

# what Python, JSON and JavaScript write for a number: 0.30000000000000004, 5e-324
_NUMBER = re.compile(r"[+-]?[0-9]{1,24}(\.[0-9]{0,40})?(e[+-]?[0-9]{1,3})?", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?[0-9]{1,12}")
_NUMBERS = re.compile(r"[0-9]{1,9}(,[0-9]{1,9})*")
_FLAGS = {"true": True, "false": False}
T = TypeVar("T")
_SHOWN = 40  # characters of a wrong value


class Fields:
    """Reads values from a form and collects the problems, which `check` raises."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._problems: list[tuple[str, str]] = []

    def check(self) -> None:
        """Raise Invalid with every problem found so far."""
        if self._problems:
            raise Invalid(self._problems)

    def value_of(self, name: str) -> str:
        """Return the text of a field without spaces around it; empty if it is left out."""
        return self._form.fields.get(name, "").strip()

    def text(self, name: str, longest: int = 200) -> str:
        """Read a required text."""
        value = self.value_of(name)
        if not value:
            self._wrong(name, tr("{name} is missing.", name=name))
        elif name in self._form.unquoted:
            self._wrong(name, tr("{name} must be text.", name=name))
        elif len(value) > longest:
            self._wrong(name, tr("{name} has more than {longest} characters.", name=name, longest=longest))
        return value

    def has(self, name: str) -> bool:
        return bool(self.value_of(name))

    def either(self, name: str, other: str) -> str:
        """Return the one of two names of a field that is used; both may be, with the same value."""
        if not self.has(other):
            return name
        if self.has(name) and self.value_of(name) != self.value_of(other):
            self._refuse_both(name, other)
        return other

    def choice(self, name: str, words: Sequence[str], default: str) -> str:
        value = self.value_of(name) or default
        if value not in words:
            self._wrong(
                name,
                tr(
                    "{name} must be one of {words}, not {value}.", name=name, words=", ".join(words), value=shown(value)
                ),
            )
        return value

    def parsed(self, name: str, parse: Callable[[str], T], default: str) -> T | None:
        """Read a value with a function that raises SettingsError for a wrong one; None then."""
        try:
            return parse(self.value_of(name) or default)
        except SettingsError as problem:
            self._problems.append((name, str(problem)))
            return None

    def flag(self, name: str, default: bool) -> bool:
        value = self.value_of(name).lower()
        if value and value not in _FLAGS:
            self._wrong(name, tr("{name} must be true or false, not {value}.", name=name, value=shown(value)))
        return _FLAGS.get(value, default)

    def numbers(self, name: str, most: int = 10_000) -> list[int]:
        """Read whole numbers above zero, separated by commas; required."""
        text = self._form.fields.get(name, "").replace(" ", "")
        if not text:
            self._wrong(name, tr("{name} is missing.", name=name))
            return []
        if not _NUMBERS.fullmatch(text) or text.count(",") >= most:
            self._wrong(
                name, tr("{name} must be whole numbers separated by commas, not {text}.", name=name, text=shown(text))
            )
            return []
        return [int(one) for one in text.split(",")]

    def setting(self, name: str, limits: Limits, default: int | float | None = None) -> int | float | str:
        """Read a value in the range of a setting, or one of its words; required without a default."""
        lowest, highest, words = limits.minimum, limits.maximum, limits.words
        if lowest is None or highest is None:
            return self.choice(name, words, words[0])
        text = self.value_of(name)
        is_whole = isinstance(lowest, int)
        if not text:
            if default is None:
                self._wrong(name, tr("{name} is missing.", name=name))
            return default or 0
        if text in words:
            return text
        value = float(text) if (_WHOLE if is_whole else _NUMBER).fullmatch(text) else math.nan
        if not lowest <= value <= highest:
            self._problems.append((name, out_of_range(name, (lowest, highest), words, shown(text))))
            return 0
        return int(text) if is_whole else value

    def file(self, *names: str) -> UploadedFile | None:
        """Return the file under one of these equivalent names; without one, None and a problem."""
        used = [name for name in names if name in self._form.files]
        if len(used) == 1:
            return self._form.files[used[0]]
        if used:
            self._refuse_both(*used[:2])
        elif misplaced := [name for name in names if name in self._form.fields]:
            self._wrong(misplaced[0], tr("{name} must be a file: with curl, -F {name}=@FILE.", name=misplaced[0]))
        else:
            self._wrong(names[0], tr("{name} is missing: with curl, -F {name}=@FILE.", name=names[0]))
        return None

    def sent(self, name: str) -> bool:
        """Return whether something was sent under the name of a file."""
        return name in self._form.files or self.has(name)

    def maybe_file(self, name: str) -> UploadedFile | None:
        """Return a file that may be left out."""
        return self.file(name) if self.sent(name) else None

    def maybe_text(self, name: str, longest: int = 200) -> str:
        """Read a text that may be left out; empty then."""
        return self.text(name, longest) if self.has(name) else ""

    def words(self, name: str) -> str | None:
        """Read a text as it stands, which may be empty; None if it is left out."""
        if name in self._form.unquoted:
            self._wrong(name, tr("{name} must be text.", name=name))
        return self._form.fields.get(name)

    def number(self, name: str, lowest: float, highest: float) -> float | None:
        """Read a number in a range; None if it is left out."""
        if not self.has(name):
            return None
        return float(self.setting(name, Limits(minimum=lowest, maximum=highest)))

    def maybe_whole(self, name: str, lowest: int, highest: int) -> int | None:
        """Return a whole number in a range; None if it is left out."""
        return int(self.setting(name, Limits(minimum=lowest, maximum=highest))) if self.has(name) else None

    def _refuse_both(self, first: str, second: str) -> None:
        self._wrong(second, tr("{one} is the same as {other}: send one of them.", one=second, other=first))

    def _wrong(self, name: str, sentence: str) -> None:
        self._problems.append((name, sentence))


def _whole(value: object) -> object:
    if isinstance(value, str) and not _WHOLE.fullmatch(value.strip()):  # pydantic takes 1.0 and 1_0, too
        raise PydanticCustomError("int_parsing", "no whole number")
    return value


def _flag(value: object) -> object:
    if not isinstance(value, str):
        return value
    if (text := value.strip().lower()) not in _FLAGS:  # pydantic takes 1, on and yes
        raise PydanticCustomError("bool_parsing", "neither true nor false")
    return _FLAGS[text]


WHOLE, FLAG = BeforeValidator(_whole), BeforeValidator(_flag)  # of parameters in addresses


def shown(value: str) -> str:
    """Quote a client's value for an error message."""
    cut = value if len(value) <= _SHOWN else value[:_SHOWN] + "…"
    return "'" + "".join(sign if sign.isprintable() else "?" for sign in cut) + "'"
