# ruff: noqa: RUF001 - letters of many scripts
from studio.languages.known import LANGUAGES
from studio.languages.sorting import sort_key

NAMES = ["Zoe", "Ñuño", "Nuria", "Oya", "Ömer", "Ozan", "İpek", "Irmak", "Işık", "Inci", "Hale"]


def in_order(code: str, names: list[str] = NAMES) -> list[str]:
    return sorted(names, key=lambda name: sort_key(name, code))


def test_sort_key_places_accented_letters_with_their_base_letters():
    assert in_order("de", ["Zoe", "Ömer", "Ozan", "oda"]) == ["oda", "Ömer", "Ozan", "Zoe"]


def test_sort_key_places_letters_in_the_order_of_the_language():
    expected = ["Hale", "Inci", "Irmak", "İpek", "Oya", "Ozan", "Ömer"]
    assert in_order("tr", ["Oya", "Ömer", "Ozan", "Inci", "İpek", "Irmak", "Hale"]) == expected
    assert in_order("es", ["Ñuño", "Nuria", "Oya"]) == ["Nuria", "Ñuño", "Oya"]


def test_sort_key_treats_composed_and_decomposed_names_alike():
    assert sort_key("O\u0308mer", "tr")[0] == sort_key("Ömer", "tr")[0]


def test_sort_key_sorts_every_name_in_every_language():
    for code in LANGUAGES:
        assert sorted(in_order(code)) == sorted(NAMES)
