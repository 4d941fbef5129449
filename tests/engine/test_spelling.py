"""Names in any script, composed and folded."""
# ruff: noqa: RUF001 - letters of many scripts

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as some

from engine.spelling import composed, folded, nearest


@pytest.mark.parametrize(
    ("typed", "searched"),
    [
        *(("Gökhan", "GOKHAN"), ("Go\u0308khan", "gök"), ("Straße", "strasse"), ("İSTANBUL", "istanbul")),
        *(("Kıvanç", "kivanc"), ("Noël", "noel"), ("São Paulo", "sao paulo"), ("Ægir", "aegir"), ("Ｍｉａ", "mia")),
        *(("يُوسُف", "يوسف"), ("أحمد", "احمد"), ("ﾊﾞﾘﾄﾝ", "バリトン"), ("ज़ैद", "जैद"), ("Ǿ", "o")),
    ],
)
def test_folded_matches_a_name_as_users_type_it(typed, searched):
    assert folded(searched) in folded(typed)


def test_folded_keeps_different_letters_apart():
    assert folded("は") != folded("ば")
    assert folded("कि") != folded("कु")
    assert folded("한") != folded("할")


@given(some.text())
def test_folded_ignores_composition_and_composed_is_idempotent(text):
    assert folded(unicodedata.normalize("NFD", text)) == folded(unicodedata.normalize("NFC", text))
    assert composed(composed(text)) == composed(text)


def test_composed_joins_accents_and_keeps_full_and_half_width():
    assert composed("Go\u0308khan") == "Gökhan"
    assert composed("Ｍｉａ ﾊﾞ") == "Ｍｉａ ﾊﾞ"


def test_nearest_finds_the_word_that_was_meant_and_none_for_others():
    words = ["likeness", "generations_count", "größe"]
    assert [nearest(word, words) for word in ("Likenes", "generationsCount", "grosse")] == words
    assert nearest("q", words) is None
    assert nearest("", words) is None
    assert nearest("likeness", []) is None
