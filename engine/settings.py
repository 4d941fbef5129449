"""One setting: a field of a frozen dataclass with its range and what it does, and the check of its value.

Page, service, command line and notebooks are made from these fields, so a setting exists once.
"""

from dataclasses import field, fields
from math import isfinite
from numbers import Integral, Real
from typing import Any

from engine.errors import SettingsError


def setting(default: Any, minimum: float, maximum: float, meaning: str, words: tuple[str, ...] = ()) -> Any:
    """A field with a default, the ends of its range (whole numbers make it whole), one line that says what it does,
    and the words that may stand instead of a number."""
    metadata = {"minimum": minimum, "maximum": maximum, "meaning": meaning, "words": words}
    return field(default=default, metadata=metadata)


def text_setting(default: str, meaning: str, words: tuple[str, ...] = ()) -> Any:
    """A field for a line of text with a default and one line that says what it does; where there are words, it is one
    of them."""
    return field(default=default, metadata={"meaning": meaning, "words": words})


def check_settings(settings: Any) -> None:
    """Raises SettingsError, naming the setting and its range, for the first value outside it; fields that are not
    made by `setting` or `text_setting` are left to their class."""
    for one in fields(settings):
        if not one.metadata:
            continue
        check = _check if "minimum" in one.metadata else _check_text
        check(one.name, getattr(settings, one.name), one.metadata)


def _check_text(name: str, value: Any, metadata: Any) -> None:
    words = metadata["words"]
    if words and value not in words:
        raise SettingsError(f"{name} must be one of {', '.join(words)}, not {value}.")
    if not isinstance(value, str) or not value.isprintable():
        raise SettingsError(f"{name} must be a line of text.")


def _check(name: str, value: Any, metadata: Any) -> None:
    if isinstance(value, str) and value in metadata["words"]:
        return
    lowest, highest = metadata["minimum"], metadata["maximum"]
    whole = isinstance(lowest, int)
    right_kind = isinstance(value, Integral if whole else Real)
    if isinstance(value, bool) or not right_kind or not isfinite(value) or not lowest <= value <= highest:
        number = "a whole number" if whole else "a number"
        others = "".join(f", or the word {word}" for word in metadata["words"])
        raise SettingsError(f"{name} must be {number} from {lowest} to {highest}{others}, not {value}.")
