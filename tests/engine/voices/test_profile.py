import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from engine.errors import ProfileError
from engine.voices.card import DEMO_VOICES, card_text, load_card
from engine.voices.profile import (
    AGES,
    GENDERS,
    GENRES,
    LONGEST_NAME,
    LONGEST_TEXT,
    LONGEST_TRAIT,
    MOST_TRAITS,
    VOICE_TYPES,
    VoiceProfile,
    merge_values,
    profile_as_json,
    read_profile,
)

FULL = (
    {"name": "Gökhan", "gender": "male", "age": "young adult", "description": "Bright.\nA tenor."}
    | {"base_language": "tr", "traits": ["warm", "clear"], "genre": "r&b", "voice_type": "tenor"}
    | {"vocal_range": {"min": "C3", "max": "Bb4"}, "licence": "CC0-1.0", "source": "Recorded at home."}
    | {"consent": {"statement": "I agree.", "by": "Gökhan", "date": "2025-03-31"}}
    | {"mood": {"today": ["happy", 3, None, 0.5, True]}}
)


def problems(values):
    """The wrong fields of a profile, with a name unless it is there."""
    with pytest.raises(ProfileError) as caught:
        read_profile({"name": "Anna"} | values)
    for name, message in caught.value.problems:
        assert message.startswith(name)
        assert message.endswith(".")
        assert message in str(caught.value)
    return dict(caught.value.problems)


def only(values, name):
    """The message of the one wrong field."""
    found = problems(values)
    assert list(found) == [name]
    return found[name]


def test_read_profile_reads_every_field_of_a_full_profile():
    assert read_profile(FULL) == VoiceProfile(
        **dict(name="Gökhan", gender="male", age="young adult", description="Bright.\nA tenor.", base_language="tr"),
        **dict(traits=("warm", "clear"), genre="r&b", voice_type="tenor", vocal_range={"min": "C3", "max": "Bb4"}),
        **dict(licence="CC0-1.0", source="Recorded at home."),
        consent={"statement": "I agree.", "by": "Gökhan", "date": "2025-03-31"},
        other={"mood": {"today": ["happy", 3, None, 0.5, True]}},
    )


def test_profile_as_json_round_trips_a_full_profile():
    assert profile_as_json(read_profile(FULL)) == FULL


def test_read_profile_needs_only_a_name():
    assert read_profile({"name": "Anna"}) == VoiceProfile("Anna")
    assert profile_as_json(VoiceProfile("Anna")) == {"name": "Anna"}
    empty = VoiceProfile("Anna")
    assert (empty.gender, empty.traits, empty.vocal_range, empty.consent, empty.other) == (None, (), None, {}, {})


@pytest.mark.parametrize("blank", [None, "", " \t\n"])
@pytest.mark.parametrize("name", [name for name in FULL if name != "mood"])
def test_read_profile_treats_null_and_blank_fields_as_missing(name, blank):
    if name == "name":
        assert "is missing" in only({"name": blank}, "name")
        return
    without = {key: value for key, value in FULL.items() if key != name}
    assert read_profile(FULL | {name: blank}) == read_profile(without)


def test_profile_choices_match_the_interface():
    assert GENDERS == ("male", "female")
    assert AGES == ("child", "young adult", "adult")
    assert " ".join(GENRES) == "pop rock hip-hop r&b country jazz classical electronic world other"
    assert " ".join(VOICE_TYPES) == "soprano mezzo-soprano alto tenor baritone bass"


@pytest.mark.parametrize(
    ("name", "allowed"), [("gender", GENDERS), ("age", AGES), ("genre", GENRES), ("voice_type", VOICE_TYPES)]
)
def test_read_profile_accepts_only_listed_choices_and_names_them_in_errors(name, allowed):
    for value in allowed:
        assert getattr(read_profile({"name": "Anna", name: value}), name) == value
        assert getattr(read_profile({"name": "Anna", name: f" {value.upper()} "}), name) == value
    message = only({name: "robot"}, name)
    assert '"robot"' in message
    assert all(value in message for value in allowed)
    for value in (3, True, ["pop"], {"a": 1}):
        only({name: value}, name)


NAMES = ("A", "a" * LONGEST_NAME, "Gökhan 2", "王", "\U0001f3a4", "Anna-Lena O'Hara", "7")
READ = [
    *(({"name": name}, name) for name in NAMES),
    ({"name": "  Go\u0308khan "}, "Gökhan"),
    ({"base_language": "de"}, "de"),
    ({"base_language": " EN "}, "en"),
    ({"vocal_range": {"max": " bb4 ", "min": "c#3"}}, {"min": "C#3", "max": "Bb4"}),
    ({"vocal_range": {"min": "C4", "max": "C4"}}, {"min": "C4", "max": "C4"}),
    ({"vocal_range": {"min": "", "max": None}}, None),
    ({"traits": ["", "warm", None]}, ("warm",)),
    ({"traits": ["x"] * MOST_TRAITS}, ("x",) * MOST_TRAITS),
    ({"consent": {"by": "Anna", "place": "Berlin"}}, {"by": "Anna", "place": "Berlin"}),
    ({"consent": {"by": "Anna", "date": "", "statement": None}}, {"by": "Anna"}),
    ({"licence": "", "license": "MIT"}, "MIT"),
    ({"licence": "MIT", "license": "MIT"}, "MIT"),
]


@pytest.mark.parametrize(("values", "read"), READ)
def test_read_profile_reads_a_field_as_it_is_kept(values, read):
    assert getattr(read_profile({"name": "Anna"} | values), next(iter(values))) == read


def test_read_profile_reads_a_license_as_the_licence():
    assert read_profile({"name": "Anna", "license": "CC0-1.0"}) == VoiceProfile("Anna", licence="CC0-1.0")


DAYS = ("yesterday", "31.03.2025", "2025-02-30", "20250331", "2025-3-1", "2025-03-31T10:00")
REFUSED = [
    ("name", "a" * 101, "at most 100 characters, not 101"),
    ("name", "a\nb", "control characters or line ends"),
    ("name", "a\u2028b", "control characters or line ends"),
    *(("name", f"a{sign}b", "control characters") for sign in "\x00\x1b\u202e\ud800"),
    ("name", "\u200b\u200d", "visible character"),
    ("name", 5, "must be text, not a number"),
    ("name", ["Anna"], "must be text, not a list"),
    ("name", {"a": 1}, "must be text, not an object"),
    ("name", True, "must be text, not true or false"),
    *(("base_language", one, "two letters") for one in ("d", "deu", "de-DE", "d1", "öl", "de\n\x00", 3, ["de"])),
    ("traits", "warm, clear", "list of texts"),
    ("traits", {"warm": True}, "list of texts"),
    ("traits", ["x"] * (MOST_TRAITS + 1), f"at most {MOST_TRAITS}"),
    ("consent", "yes", "statement, by and date"),
    ("consent", True, "statement, by and date"),
    ("consent.signed", True, "must be text"),
    *(("consent.date", day, "a day such as 2025-03-31") for day in DAYS),
]


def field(name, value):
    """The values of a profile in which one field, or part of a field, is stated."""
    first, _, part = name.partition(".")
    return {first: {part: value} if part else value}


@pytest.mark.parametrize(("name", "value", "words"), REFUSED)
def test_read_profile_refuses_an_invalid_field_with_a_reason(name, value, words):
    assert words in only(field(name, value), name)


def test_read_profile_refuses_a_licence_and_a_license_that_differ():
    assert "different things" in only({"license": "MIT", "licence": "CC0-1.0"}, "licence")


def test_read_profile_explains_how_to_give_a_missing_name():
    with pytest.raises(ProfileError, match=r'name is missing; write it into model\.json as "name", or state it'):
        read_profile({})


@pytest.mark.parametrize("name", ["description", "licence", "source", "consent.statement", "consent.by"])
def test_read_profile_accepts_multiline_texts_and_refuses_invalid_ones(name):
    read_profile({"name": "Anna"} | field(name, "one\ttwo\r\nthree" + "x" * (LONGEST_TEXT - 14)))
    assert f"at most {LONGEST_TEXT}" in only(field(name, "x" * (LONGEST_TEXT + 1)), name)
    for text in ("a\x07b", "a\x9fb", "\u2066a", "\udfff"):
        assert "control characters" in only(field(name, text), name)
    assert "must be text, not a number" in only(field(name, 3.5), name)


def test_read_profile_reports_invalid_traits_with_their_index():
    found = problems({"traits": ["warm", 3, "x" * (LONGEST_TRAIT + 1), "a\nb", "x" * LONGEST_TRAIT]})
    assert list(found) == ["traits[1]", "traits[2]", "traits[3]"]


@pytest.mark.parametrize(
    ("vocal_range", "names"),
    [
        ({"min": "A2"}, ["vocal_range.max"]),
        ({"max": "A2", "min": " "}, ["vocal_range.min"]),
        ({"min": "H2", "max": "C"}, ["vocal_range.min", "vocal_range.max"]),
        ({"min": 110, "max": "C4"}, ["vocal_range.min"]),
        ({"min": "C\u0663", "max": "C4"}, ["vocal_range.min"]),
        ({"min": "A2", "max": "C4", "best": "B3"}, ["vocal_range.best"]),
        ({"min": "C5", "max": "B4"}, ["vocal_range"]),
        ("A2-C4", ["vocal_range"]),
        (["A2", "C4"], ["vocal_range"]),
    ],
)
def test_read_profile_names_the_faulty_part_of_a_vocal_range(vocal_range, names):
    assert list(problems({"vocal_range": vocal_range})) == names


def test_read_profile_reports_all_invalid_fields_at_once():
    wrong = (
        {"name": 3, "gender": "x", "age": "x", "description": 3, "base_language": "x", "traits": 3}
        | {"genre": "x", "voice_type": "x", "vocal_range": 3, "licence": 3, "source": 3}
        | {"consent": {"date": "x", "by": 3}, "mood": math.nan}
    )
    assert set(problems(wrong)) == {*wrong.keys() - {"consent"}, "consent.date", "consent.by"}


def test_read_profile_shortens_and_escapes_invalid_values_in_errors():
    message = only({"gender": "\x1b[31m" + "x" * 1000}, "gender")
    assert "\x1b" not in message
    assert len(message) < 120
    with pytest.raises(ProfileError) as caught:
        read_profile({"name": "Anna", "x" * 1000: math.nan})
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("value", [None, "", 0, "text", [1, [2]], {"a": {"b": None}}, 1e300, 10**30, False, "\u202e"])
def test_read_profile_keeps_unknown_keys_unchanged(value):
    profile = read_profile({"name": "Anna", "id": "../x", "mood": value})
    assert profile.other == {"id": "../x", "mood": value}
    assert profile_as_json(profile) == {"name": "Anna", "id": "../x", "mood": value}


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, [1, {"a": -math.inf}], "\ud800", {"\ud800": 1}, {1: 2}, b"x", {1, 2}, nested(100_000)]
)
def test_read_profile_names_the_key_of_a_value_that_no_file_can_hold(value):
    assert "as a file can hold it" in only({"mood": value}, "mood")


def test_read_profile_refuses_unknown_keys_that_no_file_can_hold():
    with pytest.raises(ProfileError) as caught:
        read_profile({"name": "Anna", "\ud800": 1, 7: 1, "consent": {"\udfff": "yes"}})
    assert len(caught.value.problems) == 3
    str(caught.value).encode("utf-8")
    json.dumps(caught.value.problems, ensure_ascii=False).encode("utf-8")


EMPTY = {"gender": "", "age": None, "traits": [], "vocal_range": {}}
NEW_CONSENT = {"consent": {"by": "Berta", "date": "", "statement": None}}


@pytest.mark.parametrize(
    ("values", "given_", "merged"),
    [
        (FULL, {"name": "Berta"} | EMPTY, FULL | {"name": "Berta"}),
        ({}, {"name": "Berta", "mood": 3}, {"name": "Berta", "mood": 3}),
        (FULL, {"vocal_range": {"min": "A2"}}, FULL | {"vocal_range": {"min": "A2"}}),
        ({"licence": "MIT"}, {"license": "CC0-1.0"}, {"licence": "CC0-1.0"}),
        ({"license": "MIT"}, {"licence": "CC0-1.0"}, {"licence": "CC0-1.0"}),
        ({"license": "MIT"}, {}, {"licence": "MIT"}),
        (FULL, NEW_CONSENT, FULL | {"consent": FULL["consent"] | {"by": "Berta"}}),
        ({"consent": "yes"}, NEW_CONSENT, NEW_CONSENT),
    ],
)
def test_merge_values_prefers_given_values_unless_empty(values, given_, merged):
    stated = json.dumps(values)
    assert merge_values(values, given_) == merged
    assert json.dumps(values) == stated


json_values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(), inner, max_size=3),
    max_leaves=8,
)


@given(some.dictionaries(some.sampled_from([*FULL, "license"]) | some.text(), json_values), some.booleans())
def test_read_profile_round_trips_or_refuses_any_object(values, named):
    try:
        profile = read_profile(values | {"name": "Anna"} if named else values)
    except ProfileError:
        return
    written = json.loads(json.dumps(profile_as_json(profile), ensure_ascii=False).encode("utf-8"))
    assert read_profile(written) == profile


def nested(levels):
    value = "deep"
    for _ in range(levels):
        value = [value]
    return value


def test_read_profile_refuses_values_that_no_card_can_hold():
    """It was taken, and the training failed when it wrote the voice."""
    assert "30 deep" in only({"mood": nested(31)}, "mood")
    card = load_card(DEMO_VOICES / "kathleen")
    kept = read_profile({"name": "Anna", "mood": nested(30), "list": [0] * 50_000, "consent": {"by\u2003whom": "Anna"}})
    assert card_text(replace(card, other=kept.other, consent=kept.consent))
    for name in ("by\twhom", "by\x07", "by\u202e", "b" * 101):
        with pytest.raises(ProfileError, match="name that cannot be stored"):
            read_profile({"name": "Anna", "consent": {name: "Anna"}})


def test_read_profile_refuses_other_keys_larger_than_1_mb():
    assert "holds more than 1 MB" in only({"mood": nested(20) + [list(range(60_000))] * 2}, "model.json")
