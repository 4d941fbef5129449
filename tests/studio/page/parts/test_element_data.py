"""The records that Python sends to elements are those that types.d.ts declares for their scripts, field by field."""

import re
import types
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

import studio
from studio.actions.analysis_views import Download, RollData
from studio.actions.voices.cards import Avatar
from studio.page.parts import element_data

TYPES = (Path(studio.__path__[0]) / "page" / "static" / "types.d.ts").read_text(encoding="utf-8")
# records of elements by another name there
NAMED = {"FactRow": "Fact", "TokenRow": "Token", "Facts": "FactsData"}
# what the instrument is given besides, by studio/page/convert/takes.py
OF_THE_INSTRUMENT = {"Track": {"brief", "avatar", "peaks"}}
RECORDS = [
    one
    for name, one in vars(element_data).items()
    if isinstance(one, type) and is_dataclass(one) and one not in (Download, Avatar, RollData, element_data.ShownRoll)
]
SIMPLE = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}
FIELD = re.compile(r"\s*(\w+)(\??):\s*(.*)", re.DOTALL)


def declared(interface: str) -> dict[str, tuple[str, bool]]:
    """Types of the fields of an interface, and whether each may be left out."""
    found = re.search(rf"export interface {interface} {{(.*?)\n?}}\n", TYPES, re.DOTALL)
    assert found is not None, interface
    fields = [FIELD.fullmatch(one.rstrip()) for one in found[1].split(";") if one.strip()]
    return {one[1]: (plain(one[3]), bool(one[2])) for one in fields if one is not None}


def plain(of_script: str) -> str:
    """A type in TypeScript: texts and names are strings, so is a choice of some; names in a pair are left out."""
    text = re.sub(r'"[^"]*"|\b(Text|Name)\b', "string", of_script)
    text = re.sub(r"\w+: ", "", text)
    parts = sorted({one.strip() for one in re.split(r"\|", text)})
    return "|".join(parts)


def never_null(given: dict[str, tuple[str, bool]]) -> dict[str, tuple[str, bool]]:
    """The same where what may be left out is not null, for then it is left out."""
    return {
        name: (re.sub(r"\|null|null\|", "", kind) if lacks else kind, lacks) for name, (kind, lacks) in given.items()
    }


def of_python(hint: Any) -> str:
    """The same of a type in Python."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return "|".join(sorted(of_python(one) for one in parts))
    if origin is Sequence or origin is list:
        return f"{of_python(parts[0])}[]"
    if origin is tuple:
        return f"[{', '.join(of_python(one) for one in parts)}]"
    return SIMPLE.get(hint) or NAMED.get(hint.__name__, hint.__name__)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_records_have_the_fields_that_the_script_declares(record):
    interface = NAMED.get(record.__name__, record.__name__)
    left_out = {one.name for one in fields(record) if one.default is None}  # where it is None
    of_page = {name: (of_python(hint), name in left_out) for name, hint in get_type_hints(record).items()}
    of_page, of_script = never_null(of_page), never_null(declared(interface))
    more = OF_THE_INSTRUMENT.get(interface, set())
    assert more <= {name for name, (_, may_lack) in of_script.items() if may_lack}
    assert {name: one for name, one in of_script.items() if name not in more} == of_page


def test_every_kind_of_record_is_compared():
    expected = {"Chart", "CurveLine", "CurvesData", "FactRow", "Facts", "PlayerData", "TokenRow", "Track", "VoiceHead"}
    assert {one.__name__ for one in RECORDS} == expected


@pytest.mark.parametrize(
    ("of_script", "hint"),
    [
        *(("Text", str), ("Text | null", str | None), ('"good" | "bad" | null', str | None)),
        *(("number[]", Sequence[int]), ("[epoch: number, value: number][]", Sequence[tuple[int, float]])),
        ("Fact[]", Sequence[element_data.FactRow]),
    ],
)
def test_types_of_both_languages_are_compared(of_script, hint):
    assert plain(of_script) == of_python(hint)
    assert plain(of_script) != of_python(bool)
