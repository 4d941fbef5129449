"""The profile of a voice: what model.json says of it, checked field by field.

The fields are those of the published interface's voice model, and besides them whom the recordings belong to (licence,
source) and the consent of the one who is heard. All but the name may be left out. Keys this program does not know are
kept as they are.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from typing import TypeGuard

from pydantic import JsonValue

from engine.errors import ProfileError, SettingsError
from engine.reprs import Brief
from engine.spelling import composed
from engine.texts import ntr, tr
from engine.units import note_number
from engine.voices.card_rules import DEEPEST, is_shallow

TAUGHT_BY = "taught_by"  # key of a taught voice: name, file and SHA-256 of the imported one, and its scores
GENDERS = (tr("male"), tr("female"))
AGES = (tr("child"), tr("young adult"), tr("adult"))
_POPULAR = (tr("pop"), tr("rock"), tr("hip-hop"), "r&b", tr("country"))
GENRES = (*_POPULAR, tr("jazz"), tr("classical"), tr("electronic"), tr("world"), tr("other"))
# as FEMALE and MALE, which are types too
VOICE_TYPES = (tr("soprano"), tr("mezzo-soprano"), tr("alto"), tr("tenor"), tr("baritone"), tr("bass"))

LONGEST_NAME = 100  # characters, as are all of these
LONGEST_TEXT = 4_000
LONGEST_TRAIT = 60
MOST_TRAITS = 30
MOST_OTHER = 1 << 20  # bytes of all keys that are none of ours, as a card holds them

_OTHER_SPELLING = "license"
_RANGE = ("min", "max")
_NO_DERIVATIVES = re.compile(r"no[\s-]*deriv|\bnd\b", re.IGNORECASE)
_ABOVE_OTHER = 2  # objects: the card, and within it that of the other keys
# What no text may hold: control characters but tab and line ends, those that turn the direction of writing, and halves
# of characters, which no file can store.
_UNWELCOME = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LINE_ENDS = re.compile("[\t\n\r\u2028\u2029]")


@dataclass(frozen=True, repr=False)
class VoiceProfile(Brief):
    """Who a voice is, as stated by its maker; None or empty where nothing was stated.

    - name: the only one that is needed
    - gender, age, genre, voice_type: such as female, adult, pop, alto
    - description: for people
    - base_language: two lowercase letters
    - traits: such as warm, clear
    - vocal_range: {"min": "A2", "max": "C5"}
    - licence, source: on what terms, and where the recordings come from and whom to credit
    - consent: any of "statement", "by" and "date"
    - other: all other keys of model.json
    """

    name: str
    gender: str | None = None
    age: str | None = None
    description: str = ""
    base_language: str | None = None
    traits: tuple[str, ...] = ()
    genre: str | None = None
    voice_type: str | None = None
    vocal_range: dict[str, str] | None = None
    licence: str = ""
    source: str = ""
    consent: dict[str, str] = field(default_factory=dict)
    other: dict[str, JsonValue] = field(default_factory=dict)


# what a person says of a voice, by field: a text, traits, or a range or consent by its parts
Stated = dict[str, str | list[str] | dict[str, str]]
_FIELDS = tuple(one.name for one in fields(VoiceProfile) if one.name != "other")
_KNOWN = (*_FIELDS, _OTHER_SPELLING)


def read_profile(values: Mapping[str, object]) -> VoiceProfile:
    """Read a profile from the values of model.json. Null and blank texts count as absent; `license` means `licence`.

    Raises ProfileError with every wrong field: parts of a field are named as `consent.date`.
    """
    problems = _Problems()
    _note_two_licences(values.get("licence"), values.get(_OTHER_SPELLING), problems)
    given = {name: value for name, value in _british(values).items() if not is_blank(value)}
    profile = VoiceProfile(
        name=_name(given.get("name"), problems),
        gender=_choice(given.get("gender"), "gender", GENDERS, problems),
        age=_choice(given.get("age"), "age", AGES, problems),
        description=_text(given.get("description"), "description", problems),
        base_language=_language(given.get("base_language"), problems),
        traits=_traits(given.get("traits", ()), problems),
        genre=_choice(given.get("genre"), "genre", GENRES, problems),
        voice_type=_choice(given.get("voice_type"), "voice_type", VOICE_TYPES, problems),
        vocal_range=_vocal_range(given.get("vocal_range"), problems),
        licence=_text(given.get("licence"), "licence", problems),
        source=_text(given.get("source"), "source", problems),
        consent=_consent(given.get("consent", {}), problems),
        other=_other(values, problems),
    )
    if problems.found:
        raise ProfileError(problems.found)
    return profile


def profile_as_json(profile: VoiceProfile) -> dict[str, JsonValue]:
    """Return the values of model.json without empty fields; `read_profile` gives the profile again."""
    values = {name: getattr(profile, name) for name in _FIELDS}
    values["traits"] = list(profile.traits)
    said = {name: value for name, value in values.items() if value is not None and value not in ("", [], {})}
    return said | {name: value for name, value in profile.other.items() if name not in _KNOWN}


def profile_text(profile: VoiceProfile) -> str:
    """Return the text of model.json."""
    return json.dumps(profile_as_json(profile), indent=2, ensure_ascii=False) + "\n"


def merge_values(values: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """Merge the values of model.json with those given, which win unless they are empty; of a consent, each part
    by itself."""
    stronger = {name: value for name, value in _british(given).items() if not is_blank(value) and value not in ([], {})}
    both = _british(values) | stronger
    first, second = values.get("consent"), stronger.get("consent")
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        both["consent"] = {**first, **{name: value for name, value in second.items() if not is_blank(value)}}
    return both


def forbids_derivatives(licence: str) -> bool:
    """Return whether a licence says that nothing may be derived from what it is for.

    >>> forbids_derivatives("CC BY-ND 4.0"), forbids_derivatives("CC BY-SA 4.0")
    (True, False)
    """
    return bool(_NO_DERIVATIVES.search(licence))


def is_blank(value: object) -> bool:
    """Whether a value says nothing: null, or a text of spaces."""
    return value is None or (isinstance(value, str) and not value.strip())


class _Problems:
    """The wrong fields found so far."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str]] = []

    def add(self, name: str, sentence: str) -> None:
        """`sentence` begins with {field}, which stands for the field's name."""
        name = name.encode("utf-8", "replace").decode()
        shown = name if len(name) <= 60 else name[:60] + "…"
        self.found.append((name, sentence.format(field=shown)))


def _name(value: object, problems: _Problems) -> str:
    if value is None:
        missing = tr('{field} is missing; write it into model.json as "name", or state it when the voice is created.')
        problems.add("name", missing)
        return ""
    name = composed(_text(value, "name", problems, LONGEST_NAME, one_line=True))
    if name and all(unicodedata.category(sign)[0] in "CZM" for sign in name):
        problems.add("name", tr("{field} must contain at least one visible character."))
    return name


def _text(value: object, name: str, problems: _Problems, longest: int = LONGEST_TEXT, one_line: bool = False) -> str:
    """Return a text stripped of spaces; if it is no text, note a problem and return an empty one."""
    if is_blank(value):
        return ""
    if not isinstance(value, str):
        problems.add(name, tr("{field} must be text, not {value}.", value=_kind(value)))
    elif len(text := value.strip()) > longest:
        problems.add(
            name,
            ntr(
                "{field} must have at most {longest} character, not {text}.",
                "{field} must have at most {longest} characters, not {text}.",
                longest=longest,
                text=len(text),
            ),
        )
    elif _UNWELCOME.search(text) or (one_line and _LINE_ENDS.search(text)):
        ends = tr("{field} must not hold control characters or line ends.")
        problems.add(name, ends if one_line else tr("{field} must not hold control characters."))
    else:
        return text
    return ""


def _choice(value: object, name: str, allowed: tuple[str, ...], problems: _Problems) -> str | None:
    if value is None:
        return None
    chosen = " ".join(value.lower().split()) if isinstance(value, str) else None
    if chosen in allowed:
        return chosen
    problems.add(
        name, tr("{field} must be one of {allowed}, not {value}.", allowed=", ".join(allowed), value=_shown(value))
    )
    return None


def _language(value: object, problems: _Problems) -> str | None:
    if value is None:
        return None
    language = value.strip().lower() if isinstance(value, str) else ""
    if re.fullmatch("[a-z]{2}", language):
        return language
    problems.add(
        "base_language", tr("{field} must be two letters such as en, de or tr, not {value}.", value=_shown(value))
    )
    return None


def _traits(values: object, problems: _Problems) -> tuple[str, ...]:
    if not isinstance(values, list | tuple):
        problems.add(
            "traits",
            tr('{field} must be a list of texts such as ["warm", "clear"], not {values}.', values=_kind(values)),
        )
        return ()
    if len(values) > MOST_TRAITS:
        problems.add(
            "traits",
            tr("{field} must be at most {most_traits}, not {values}.", most_traits=MOST_TRAITS, values=len(values)),
        )
        return ()
    traits = [_text(value, f"traits[{at}]", problems, LONGEST_TRAIT, one_line=True) for at, value in enumerate(values)]
    return tuple(trait for trait in traits if trait)


def _vocal_range(values: object, problems: _Problems) -> dict[str, str] | None:
    if values is None:
        return None
    if not isinstance(values, Mapping):
        problems.add(
            "vocal_range", tr('{field} must be like {"min": "A2", "max": "C5"}, not {values}.', values=_kind(values))
        )
        return None
    values = {name: value for name, value in values.items() if not is_blank(value)}
    if not values:
        return None
    before = len(problems.found)
    for name in [name for name in values if name not in _RANGE]:
        problems.add(f"vocal_range.{name}", tr("{field} is not known; a vocal range has min and max."))
    notes = {name: _note(values.get(name), f"vocal_range.{name}", problems) for name in _RANGE}
    if len(problems.found) > before:
        return None
    if note_number(notes["min"]) > note_number(notes["max"]):
        low, high = notes["min"], notes["max"]
        problems.add(
            "vocal_range", tr("{field} has its limits swapped: min {low} is above max {high}.", low=low, high=high)
        )
    return notes


def _note(value: object, name: str, problems: _Problems) -> str:
    try:
        if isinstance(value, str) and value.isascii():
            note = value.strip()
            note_number(note)
            return note[0].upper() + note[1:]
    except SettingsError:
        pass
    if value is None:
        problems.add(name, tr("{field} is missing; write it like A2, C#4 or Bb3."))
    else:
        problems.add(
            name, tr("{field} must be a note, not {value}; write it like A2, C#4 or Bb3.", value=_shown(value))
        )
    return ""


def _consent(values: object, problems: _Problems) -> dict[str, str]:
    if not isinstance(values, Mapping):
        problems.add("consent", tr("{field} must hold statement, by and date, not be {values}.", values=_kind(values)))
        return {}
    texts = {str(name): _text(value, f"consent.{name}", problems) for name, value in values.items()}
    for name in texts:
        if not _is_plain(name) or len(name) > LONGEST_NAME or _UNWELCOME.search(name) or _LINE_ENDS.search(name):
            problems.add(f"consent.{_shown(name)}", tr("{field} has a name that cannot be stored."))
    day = texts.get("date")
    if day and not _is_day(day):
        problems.add("consent.date", tr("{field} must be a day such as 2025-03-31, not {day}.", day=_shown(day)))
    return {name: text for name, text in texts.items() if text}


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _other(values: Mapping[str, object], problems: _Problems) -> dict[str, JsonValue]:
    """Return the keys of model.json that are not ours, checked only to fit into a card."""
    other: dict[str, JsonValue] = {}
    for name, value in values.items():
        if name in _KNOWN:
            continue
        if not (isinstance(name, str) and _is_plain(name) and _is_plain(value)):
            kinds = tr("{field} must be text, a number, or a list or object of such, as a file can hold it.")
            problems.add(str(name), kinds)
        elif not is_shallow(value, DEEPEST - _ABOVE_OTHER):
            problems.add(
                name, tr("{field} has lists or objects more than {deepest} deep.", deepest=DEEPEST - _ABOVE_OTHER)
            )
        else:
            other[name] = value
    if len(json.dumps([other], indent=2, ensure_ascii=False).encode()) > MOST_OTHER:
        problems.add(
            "model.json",
            tr("{field} holds more than {most_other} MB besides the fields of a voice.", most_other=MOST_OTHER >> 20),
        )
    return other


def _is_plain(value: object) -> TypeGuard[JsonValue]:
    """Whether a value comes back from a file as it was."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode("utf-8")
        return bool(json.loads(text) == value)
    except (TypeError, ValueError, RecursionError):
        return False


def _note_two_licences(one: object, another: object, problems: _Problems) -> None:
    """Note a problem if `licence` and `license` are both there and differ."""
    if not is_blank(one) and not is_blank(another) and one != another:
        problems.add(
            "licence",
            tr("{field} and {other_spelling} say different things; keep one of them.", other_spelling=_OTHER_SPELLING),
        )


def _british(values: Mapping[str, object]) -> dict[str, object]:
    """Rename `license` to `licence` if that is empty."""
    licence = values.get("licence")
    if is_blank(licence):
        licence = values.get(_OTHER_SPELLING)
    rest = {name: value for name, value in values.items() if name not in ("licence", _OTHER_SPELLING)}
    return rest if licence is None else rest | {"licence": licence}


def _kind(value: object) -> str:
    """Describe the type of a value in words."""
    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (bool, tr("true or false")),
        ((int, float), tr("a number")),
        (str, tr("text")),
        ((list, tuple), tr("a list")),
        (Mapping, tr("an object")),
    )
    return next((words for kind, words in kinds if isinstance(value, kind)), tr("something else"))


def _shown(value: object) -> str:
    """Shorten a wrong value for a sentence."""
    if not isinstance(value, str):
        return _kind(value)
    text = _LINE_ENDS.sub(" ", _UNWELCOME.sub("�", value.strip()))
    return f'"{text[:40]}…"' if len(text) > 40 else f'"{text}"'
