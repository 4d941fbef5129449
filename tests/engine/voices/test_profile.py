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


def test_read_profile_drops_blank_parts_of_a_field():
    assert read_profile({"name": "Anna", "consent": {"by": "Anna", "date": "", "statement": None}}).consent == {
        "by": "Anna"
    }
    assert read_profile({"name": "Anna", "vocal_range": {"min": "", "max": None}}).vocal_range is None
    assert read_profile({"name": "Anna", "traits": ["", "warm", None]}).traits == ("warm",)


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


@pytest.mark.parametrize("name", ["A", "a" * LONGEST_NAME, "Gökhan 2", "王", "\U0001f3a4", "Anna-Lena O'Hara", "7"])
def test_read_profile_keeps_valid_names_unchanged(name):
    assert read_profile({"name": name}).name == name


def test_read_profile_composes_unicode_and_trims_a_name():
    assert read_profile({"name": "  Go\u0308khan "}).name == "Gökhan"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a" * 101, "at most 100 characters, not 101"),
        ("a\nb", "control characters or line ends"),
        ("a\u2028b", "control characters or line ends"),
        ("a\x00b", "control characters"),
        ("a\x1bb", "control characters"),
        ("a\u202eb", "control characters"),
        ("a\ud800b", "control characters"),
        ("\u200b\u200d", "can be seen"),
        (5, "must be text, not a number"),
        (["Anna"], "must be text, not a list"),
        ({"a": 1}, "must be text, not an object"),
        (True, "must be text, not true or false"),
    ],
)
def test_read_profile_refuses_an_invalid_name_with_a_reason(name, words):
    assert words in only({"name": name}, "name")


def test_read_profile_explains_how_to_give_a_missing_name():
    with pytest.raises(ProfileError, match=r'name is missing; write it into model\.json as "name", or state it'):
        read_profile({})


@pytest.mark.parametrize("name", ["description", "licence", "source", "consent.statement", "consent.by"])
def test_read_profile_accepts_multiline_texts_and_refuses_invalid_ones(name):
    def values(text):
        first, _, part = name.partition(".")
        return {first: {part: text} if part else text}

    read_profile({"name": "Anna"} | values("one\ttwo\r\nthree" + "x" * (LONGEST_TEXT - 14)))
    assert f"at most {LONGEST_TEXT}" in only(values("x" * (LONGEST_TEXT + 1)), name)
    for text in ("a\x07b", "a\x9fb", "\u2066a", "\udfff"):
        assert "control characters" in only(values(text), name)
    assert "must be text, not a number" in only(values(3.5), name)


@pytest.mark.parametrize(("text", "language"), [("de", "de"), (" EN ", "en")])
def test_read_profile_accepts_a_two_letter_language(text, language):
    assert read_profile({"name": "Anna", "base_language": text}).base_language == language


@pytest.mark.parametrize("language", ["d", "deu", "de-DE", "d1", "öl", "de\n\x00", 3, ["de"]])
def test_read_profile_refuses_a_language_other_than_two_letters(language):
    assert "two letters" in only({"base_language": language}, "base_language")


def test_read_profile_reports_invalid_traits_with_their_index():
    found = problems({"traits": ["warm", 3, "x" * (LONGEST_TRAIT + 1), "a\nb", "x" * LONGEST_TRAIT]})
    assert list(found) == ["traits[1]", "traits[2]", "traits[3]"]
    assert "list of texts" in only({"traits": "warm, clear"}, "traits")
    assert "list of texts" in only({"traits": {"warm": True}}, "traits")
    assert f"at most {MOST_TRAITS}" in only({"traits": ["x"] * (MOST_TRAITS + 1)}, "traits")
    assert len(read_profile({"name": "Anna", "traits": ["x"] * MOST_TRAITS}).traits) == MOST_TRAITS


def test_read_profile_capitalizes_notes_but_keeps_their_spelling():
    assert read_profile({"name": "Anna", "vocal_range": {"max": " bb4 ", "min": "c#3"}}).vocal_range == {
        "min": "C#3",
        "max": "Bb4",
    }
    assert read_profile({"name": "Anna", "vocal_range": {"min": "C4", "max": "C4"}}).vocal_range


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


@pytest.mark.parametrize("day", ["yesterday", "31.03.2025", "2025-02-30", "20250331", "2025-3-1", "2025-03-31T10:00"])
def test_read_profile_refuses_an_invalid_consent_date(day):
    assert "a day such as 2025-03-31" in only({"consent": {"date": day}}, "consent.date")


def test_read_profile_accepts_consent_only_as_an_object_of_texts():
    assert read_profile({"name": "Anna", "consent": {"by": "Anna", "place": "Berlin"}}).consent == {
        "by": "Anna",
        "place": "Berlin",
    }
    assert "statement, by and date" in only({"consent": "yes"}, "consent")
    assert "statement, by and date" in only({"consent": True}, "consent")
    assert "must be text" in only({"consent": {"signed": True}}, "consent.signed")


def test_read_profile_accepts_licence_or_license_unless_they_differ():
    assert read_profile({"name": "Anna", "license": "CC0-1.0"}) == VoiceProfile("Anna", licence="CC0-1.0")
    assert read_profile({"name": "Anna", "license": "MIT", "licence": ""}).licence == "MIT"
    assert read_profile({"name": "Anna", "license": "MIT", "licence": "MIT"}).licence == "MIT"
    assert "different things" in only({"license": "MIT", "licence": "CC0-1.0"}, "licence")


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


def test_merge_values_prefers_given_values_unless_empty():
    kept = merge_values(FULL, {"name": "Berta", "gender": "", "age": None, "traits": [], "vocal_range": {}})
    assert kept == FULL | {"name": "Berta"}
    assert merge_values({}, {"name": "Berta", "mood": 3}) == {"name": "Berta", "mood": 3}
    assert merge_values(FULL, {"vocal_range": {"min": "A2"}})["vocal_range"] == {"min": "A2"}


def test_merge_values_replaces_a_licence_in_either_spelling():
    assert merge_values({"licence": "MIT"}, {"license": "CC0-1.0"}) == {"licence": "CC0-1.0"}
    assert merge_values({"license": "MIT"}, {"licence": "CC0-1.0"}) == {"licence": "CC0-1.0"}
    assert merge_values({"license": "MIT"}, {}) == {"licence": "MIT"}


def test_merge_values_updates_a_consent_with_the_given_parts():
    given_ = {"consent": {"by": "Berta", "date": "", "statement": None}}
    assert merge_values(FULL, given_)["consent"] == FULL["consent"] | {"by": "Berta"}
    assert merge_values({"consent": "yes"}, given_) == given_
    assert FULL["consent"]["by"] == "Gökhan"


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
