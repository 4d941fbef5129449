from babel.messages.catalog import Catalog

from studio.languages.catalogues import entries_of, path_of, read_catalogue, write_catalogue
from studio.languages.known import LANGUAGES
from tests.catalogues import catalogue


def test_entries_of_returns_only_translated_texts(tmp_path):
    texts = {"Convert": "Umwandeln", "Not yet": "", ("{n} take", "{n} takes"): ("{n} Take", "{n} Takes")}
    with catalogue(tmp_path, "de", texts):
        assert entries_of("de") == {"Convert": ("Umwandeln",), "{n} take": ("{n} Take", "{n} Takes")}
        assert entries_of("fr") == entries_of("en") == {}


def test_write_catalogue_names_no_places_and_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr("studio.languages.catalogues.FOLDER", tmp_path / "deep")
    made = Catalog(locale="pt_BR", fuzzy=False)
    made.add('A "quoted" text', "Um texto “citado”", locations=[("engine/x.py", 1)])
    write_catalogue(made, path_of(LANGUAGES["pt-BR"]))
    again = read_catalogue(LANGUAGES["pt-BR"])
    assert [(one.id, one.string) for one in again if one.id] == [('A "quoted" text', "Um texto “citado”")]
    assert b"engine/x.py" not in (tmp_path / "deep" / "pt_BR.po").read_bytes()


def test_read_catalogue_of_a_missing_file_is_empty(tmp_path, monkeypatch):
    monkeypatch.setattr("studio.languages.catalogues.FOLDER", tmp_path)
    assert not [one for one in read_catalogue(LANGUAGES["de"]) if one.id]
    assert path_of(LANGUAGES["zh-Hans"]).name == "zh_Hans.po"
