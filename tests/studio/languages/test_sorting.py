# ruff: noqa: RUF001 - letters of many scripts
from studio.languages.known import LANGUAGES
from studio.languages.sorting import sort_key

NAMES = ["Zoe", "Ñuño", "Nuria", "Oya", "Ömer", "Ozan", "İpek", "Irmak", "Işık", "Inci", "Hale"]


def in_order(code: str, names: list[str] = NAMES) -> list[str]:
    return sorted(names, key=lambda name: sort_key(name, code))


def test_letters_with_accents_stand_at_their_letters():
    assert in_order("de", ["Zoe", "Ömer", "Ozan", "oda"]) == ["oda", "Ömer", "Ozan", "Zoe"]


def test_letters_of_their_own_stand_where_the_language_has_them():
    assert in_order("tr", ["Oya", "Ömer", "Ozan", "Inci", "İpek", "Irmak", "Hale"]) == [
        "Hale", "Inci", "Irmak", "İpek", "Oya", "Ozan", "Ömer",
    ]  # fmt: skip
    assert in_order("es", ["Ñuño", "Nuria", "Oya"]) == ["Nuria", "Ñuño", "Oya"]


def test_order_is_the_same_however_names_are_composed():
    assert sort_key("O\u0308mer", "tr")[0] == sort_key("Ömer", "tr")[0]


def test_every_language_sorts_every_name():
    for code in LANGUAGES:
        assert sorted(in_order(code)) == sorted(NAMES)
