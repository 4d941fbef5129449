"""What the fields of a voice's card may hold: a card may come from anybody, and what is read must not fail later."""

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from engine.errors import SettingsError
from engine.units import note_number

# Of voices; raised when an older program could no longer read them, and when the base's content changes: what a voice
# has learned to say is content, so a voice of another base would speak in tongues.
FORMAT = 4
LONGEST_NAME = 100  # characters
LONGEST_IDENTIFIER = 64  # characters
DEEPEST = 32  # objects within objects
_HIGHEST_NOTE = 150.0  # MIDI number; far above any voice
# names of devices, which some systems do not allow for folders
_RESERVED = {"con", "prn", "aux", "nul", *(f"{device}{n}" for device in ("com", "lpt") for n in range(1, 10))}
_IDENTIFIER = re.compile(rf"[a-z0-9][a-z0-9-]{{0,{LONGEST_IDENTIFIER - 1}}}")


def check_card(values: Mapping[str, Any]) -> None:
    """Raises ValueError, saying which field is wrong and what it must be, for values of JSON that are no card's.

    Fields that have no rule are passed over; which of them may be left out is not asked here.
    """
    if not is_shallow(dict(values)):
        raise ValueError("it is nested too deeply")
    for name, (rule, wanted) in _RULES.items():
        if name in values and not rule(values[name]):
            raise ValueError(f"{name} must be {wanted}")
    json.dumps(values, ensure_ascii=False).encode("utf-8")  # half a character cannot be shown or stored: ValueError


def is_identifier(value: Any) -> bool:
    """Can this be a voice's id, and so the name of its folder?"""
    return isinstance(value, str) and bool(_IDENTIFIER.fullmatch(value)) and value not in _RESERVED


def is_whole(value: Any) -> bool:
    """A whole number, which True is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: Any, controls: str = "\t\n\r") -> bool:
    """Text without control characters other than these, since they would do harm on a terminal."""
    if not isinstance(value, str):
        return False
    return not any(unicodedata.category(letter) == "Cc" and letter not in controls for letter in value)


def _is_line(value: Any) -> bool:
    return _is_text(value, controls="")


def _is_line_or_absent(value: Any) -> bool:
    return value is None or _is_line(value)


def _is_name(value: Any) -> bool:
    return _is_line(value) and bool(value.strip()) and len(value) <= LONGEST_NAME


def _are_traits(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_line, value))


def _are_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_line, value)) and all(map(_is_text, value.values()))


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_number(value: Any) -> bool:
    return (is_whole(value) and abs(value) < 2**53) or (isinstance(value, float) and math.isfinite(value))


def _is_bandwidth(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_pitch(value: Any) -> bool:
    if (
        not isinstance(value, dict)
        or set(value) != {"low", "median", "high"}
        or not all(map(_is_number, value.values()))
    ):
        return False
    return bool(0 <= value["low"] <= value["median"] <= value["high"] <= _HIGHEST_NOTE)


def _is_pitch_or_absent(value: Any) -> bool:
    return value is None or _is_pitch(value)


def _is_range(value: Any) -> bool:
    if not isinstance(value, dict) or set(value) != {"min", "max"} or not all(map(_is_line, value.values())):
        return False
    try:
        return note_number(value["min"]) <= note_number(value["max"])
    except SettingsError:
        return False


def _is_format(value: Any) -> bool:
    return is_whole(value) and 1 <= value <= FORMAT


def is_shallow(value: Any, levels: int = DEEPEST) -> bool:
    """Are there at most so many lists and objects within each other?"""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not inner or (levels > 0 and all(is_shallow(one, levels - 1) for one in inner))


_LINE = (_is_line_or_absent, "one line of text, or null")
_TEXT = (_is_text, "text without control characters")
_OBJECT = (_is_object, "an object")
_THREE_NOTES = "three note numbers from low to high, as {'low': 50, 'median': 57, 'high': 64}"
# field -> whether a value will do, and in words what would
_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "id": (is_identifier, f"1 to {LONGEST_IDENTIFIER} lowercase letters, digits and hyphens"),
    "name": (_is_name, f"one line of 1 to {LONGEST_NAME} characters"),
    "gender": _LINE,
    "age": _LINE,
    "description": _TEXT,
    "base_language": _LINE,
    "traits": (_are_traits, "a list of words"),
    "genre": _LINE,
    "voice_type": _LINE,
    "vocal_range": (_is_range, "two notes from low to high, as {'min': 'A2', 'max': 'C5'}"),
    "pitch": (_is_pitch, _THREE_NOTES),
    "spoken_pitch": (_is_pitch_or_absent, f"{_THREE_NOTES}, or null"),
    "sung_pitch": (_is_pitch_or_absent, f"{_THREE_NOTES}, or null"),
    "bandwidth_hertz": (_is_bandwidth, "a number above 0"),
    "licence": _TEXT,
    "source": _TEXT,
    "consent": (_are_texts, "an object of texts without control characters"),
    "consent_seal": (_are_texts, "an object of texts without control characters"),
    "corpus_speaker": _TEXT,
    "training": _OBJECT,
    "other": _OBJECT,
    "format": (_is_format, f"a whole number from 1 to {FORMAT}"),
}
