"""What the fields of a voice's card may hold: a card may come from anybody, and what is read must not fail later."""

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from engine.analysis.pitch_statistics import PitchStatistics
from engine.errors import SettingsError
from engine.texts import ntr, tr
from engine.units import note_number

# Of voices; raised when an older program could no longer read them, and when the base's content changes: what a voice
# has learned to say is content, so a voice of another base would speak in tongues.
FORMAT = 4
LONGEST_NAME = 100  # characters
LONGEST_IDENTIFIER = 64  # characters
STUDIO, RVC = "studio", "rvc"  # kinds of voices
UNTRAINED = "untrained"  # in the training of a card: made of recordings alone
PitchName = Literal["spoken_pitch", "sung_pitch"]
DEEPEST = 32  # objects within objects
HIGHEST_NOTE = 150.0  # MIDI number; far above any voice
# names of devices, which some systems do not allow for folders
_RESERVED = {"con", "prn", "aux", "nul", *(f"{device}{n}" for device in ("com", "lpt") for n in range(1, 10))}
_IDENTIFIER = re.compile(rf"[a-z0-9][a-z0-9-]{{0,{LONGEST_IDENTIFIER - 1}}}")
_CONTROLS = r"\x00-\x1f\x7f-\x9f"  # would do harm on a terminal


def is_identifier(value: object) -> bool:
    """Can this be a voice's id, and so the name of its folder?"""
    return isinstance(value, str) and bool(_IDENTIFIER.fullmatch(value)) and value not in _RESERVED


def is_whole(value: object) -> bool:
    """Return a whole number; True is none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_shallow(value: object, levels: int = DEEPEST) -> bool:
    """Are there at most so many objects and lists within each other?"""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not inner or (levels > 0 and all(is_shallow(one, levels - 1) for one in inner))


def _are_three_notes(value: object) -> bool:
    if not isinstance(value, dict) or set(value) != {"low", "median", "high"}:
        return False
    numbers = all(is_whole(one) or isinstance(one, float) for one in value.values())
    return numbers and bool(0 <= value["low"] <= value["median"] <= value["high"] <= HIGHEST_NOTE)


def _is_range(value: dict[str, str]) -> bool:
    try:
        return set(value) == {"min", "max"} and note_number(value["min"]) <= note_number(value["max"])
    except SettingsError:
        return False


def _asserted(holds: Callable[[object], bool]) -> Callable[[object], object]:
    def check(value: object) -> object:
        if not holds(value):
            raise ValueError("it does not hold")
        return value

    return check


# The types of a card's fields; at their end, in words, what a value must be.
_Line = Annotated[str, StringConstraints(pattern=f"^[^{_CONTROLS}]*$")]
_Notes = Annotated[PitchStatistics, BeforeValidator(_asserted(_are_three_notes))]
_THREE_NOTES = tr("three note numbers from low to high, as {'low': 50, 'median': 57, 'high': 64}")
Identifier = Annotated[
    str,
    AfterValidator(_asserted(is_identifier)),
    tr("1 to {longest_identifier} lowercase letters, digits and hyphens", longest_identifier=LONGEST_IDENTIFIER),
]
Name = Annotated[
    str,
    StringConstraints(pattern=rf"^[^{_CONTROLS}]*[^\s{_CONTROLS}][^{_CONTROLS}]*$", max_length=LONGEST_NAME),
    ntr(
        "one line of 1 to {longest_name} character",
        "one line of 1 to {longest_name} characters",
        longest_name=LONGEST_NAME,
    ),
]
Line = Annotated[_Line | None, tr("one line of text, or null")]
Text = Annotated[
    str, StringConstraints(pattern=rf"^([^{_CONTROLS}]|[\t\n\r])*$"), tr("text without control characters")
]
Texts = Annotated[dict[_Line, Text], tr("an object of texts without control characters")]
Words = Annotated[list[_Line], tr("a list of words")]
Range = Annotated[
    dict[str, _Line],
    AfterValidator(_asserted(_is_range)),
    tr("two notes from low to high, as {'min': 'A2', 'max': 'C5'}"),
]
Pitch = Annotated[_Notes, _THREE_NOTES]
PitchOrNone = Annotated[_Notes | None, tr("{three_notes}, or null", three_notes=_THREE_NOTES)]
Pitches = Annotated[
    dict[PitchName, _Notes], tr("an object with spoken_pitch or sung_pitch: {three_notes}", three_notes=_THREE_NOTES)
]
AboveZero = Annotated[float, Field(strict=True, gt=0, lt=2**53, allow_inf_nan=False), tr("a number above 0")]
Kind = Annotated[Literal["studio", "rvc"], tr("studio or rvc")]
Object = Annotated[dict[str, Any], tr("an object")]
Format = Annotated[int, Field(strict=True, ge=1, le=FORMAT), tr("a whole number from 1 to {format}", format=FORMAT)]
