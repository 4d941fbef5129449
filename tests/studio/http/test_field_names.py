"""Unknown fields: refused with what was meant, or named in a header that stays one."""

import pytest

from studio.errors import Invalid
from studio.http.field_names import FieldNames, ignored_header, unknown_fields

KNOWN = ("likeness", "accent", "generations_count", "base_language")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        *(("likenes", "likeness"), ("LIKENESS", "likeness"), ("generationsCount", "generations_count")),
        *(("language", "base_language"), ("áccent", "accent")),
    ],
)
def test_unknown_fields_names_the_field_that_was_meant(given, meant):
    problems = unknown_fields([given], KNOWN).problems
    assert problems == ((given, f"{given} is not a field of this call: did you mean {meant}?"),)


def test_unknown_fields_tells_a_field_of_the_form_from_an_unknown_one():
    error = unknown_fields(["accent", "q"], ("limit",), ("accent",))
    assert [message for _, message in error.problems] == [
        "accent is a field of the form: send it there, not in the address.",
        "q is not a field of this call.",
    ]


def test_unknown_fields_stays_short_whatever_is_sent():
    error = unknown_fields([f"{number}{'x' * 100_000}" for number in range(1000)], KNOWN)
    assert len(error.problems) == 10
    assert len(str(error)) < 2000
    assert unknown_fields(["a\r\nb\ud800", ""], KNOWN).problems[0][0] == "a??b?"


def test_field_names_without_refuses_others_unless_they_are_to_be_ignored():
    FieldNames(("a",)).without(())
    FieldNames(("a",), ignores_others=True).without(("b",))
    with pytest.raises(Invalid):
        FieldNames(("a",)).without(("b",))


def test_ignored_header_cannot_be_ended_or_split_by_a_name():
    assert ignored_header(["a", "b\r\nSet-Cookie: x", "c, d", "ü", "a", "\ud800"]) == (
        "a, b%3F%3FSet-Cookie%3A%20x, c%2C%20d, %C3%BC, %3F"
    )
    long = ignored_header("ü" * 90 + str(number) for number in range(50))
    assert len(long) <= 1000
    assert long.endswith(" ...")
    assert long.isascii()
