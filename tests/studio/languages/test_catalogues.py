from babel.messages.catalog import Catalog

from studio.languages.catalogues import Entry, entries_of, path_of, read_catalogue, write_catalogue
from studio.languages.counting import counted_field_of
from studio.languages.known import LANGUAGES
from tests.catalogues import catalogue


def test_entries_of_returns_only_translated_texts(tmp_path):
    texts = {"Convert": "Umwandeln", "Not yet": "", ("{n} take", "{n} takes"): ("{n} Take", "{n} Takes")}
    with catalogue(tmp_path, "de", texts):
        assert entries_of("de") == {
            "Convert": Entry(("Umwandeln",)),
            "{n} take": Entry(("{n} Take", "{n} Takes"), "n"),
        }
        assert entries_of("fr") == {}


def test_read_catalogue_returns_the_texts_of_write_catalogue(tmp_path):
    made = Catalog(locale="pt_BR", fuzzy=False)
    made.add('A "quoted" text', "Um texto “citado”", locations=[("engine/x.py", 1)])
    write_catalogue(made, tmp_path / "deep" / "pt_BR.po")
    again = read_catalogue(tmp_path / "deep" / "pt_BR.po", LANGUAGES["pt-BR"])
    assert [(one.id, one.string) for one in again if one.id] == [('A "quoted" text', "Um texto “citado”")]
    first = (tmp_path / "deep" / "pt_BR.po").read_bytes()
    write_catalogue(again, tmp_path / "deep" / "pt_BR.po")
    assert [(one.id, one.string) for one in read_catalogue(tmp_path / "deep" / "pt_BR.po") if one.id]
    assert first.startswith(b"#")


def test_read_catalogue_of_a_missing_file_is_empty(tmp_path):
    assert not [one for one in read_catalogue(tmp_path / "no.po", LANGUAGES["de"]) if one.id]
    assert path_of(LANGUAGES["zh-Hans"]).name == "zh_Hans.po"


def test_counted_field_of_returns_the_count_of_a_text_or_nothing():
    assert counted_field_of("Delete {name} and its {count} recordings?") == "count"
    assert counted_field_of("no plural {here}") == ""
