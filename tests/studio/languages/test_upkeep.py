"""Translations are whole; which texts have none yet is what `python -m studio.languages check` tells."""

import json

import pytest

from studio.languages import catalogues, extraction, upkeep
from studio.languages.__main__ import main
from studio.languages.known import LANGUAGES

GLOSSARIES = catalogues.FOLDER.parent / "glossaries"
TAKES = ("{count} take", "{count} takes")
TRANSLATED = [one.code for one in upkeep.TRANSLATED]


@pytest.fixture
def german(tmp_path, monkeypatch):
    """German, with an empty catalogue of its own."""
    monkeypatch.setattr(catalogues, "FOLDER", tmp_path)
    return LANGUAGES["de"]


def write(language, texts, fresh):
    catalogues.write_catalogue(upkeep.update(language, texts, fresh), catalogues.path_of(language))


@pytest.mark.parametrize("code", TRANSLATED)
def test_faults_finds_nothing_in_any_language(code):
    assert upkeep.faults(LANGUAGES[code]) == []


@pytest.mark.parametrize("code", TRANSLATED)
def test_glossary_of_every_language_has_the_key_terms(code):
    text = (GLOSSARIES / f"{LANGUAGES[code].locale}.md").read_text(encoding="utf-8")
    assert all(word in text for word in ("take", "octave", "vibrato", "stem", "breath", "dry", "| English |"))


@pytest.mark.parametrize("code", TRANSLATED)
def test_page_labels_stay_short_in_every_language(code):
    """A button that is twice as long as in English does not fit."""
    entries = catalogues.entries_of(code)
    labels = ("Convert", "Cancel", "Delete", "Revert", "Build comp", "Save", "Settings", "Split", "Merge")
    long = {one: entries[one][-1] for one in labels if len(entries[one][-1]) > 2 * len(one) + 6}
    assert not long


def test_update_keeps_known_translations_and_adds_new_ones(german):
    write(german, ["Convert", "Old"], {"Convert": "Konvertieren", "Old": "Alt"})
    second = upkeep.update(german, ["Convert", TAKES, "New"], {TAKES[0]: ["a", "b"]})
    assert {one.id: one.string for one in second if one.id} == {"Convert": "Konvertieren", TAKES: ("a", "b"), "New": ""}


def test_update_gives_a_text_that_has_begun_to_count_all_plurals(german):
    write(german, [TAKES[0]], {TAKES[0]: "Takes"})
    assert upkeep.update(german, [TAKES]).get(TAKES[0]).string == ("Takes", "Takes")


def test_missing_and_stale_compare_a_catalogue_with_the_texts(german):
    write(german, ["Convert", "Old", TAKES], {"Convert": "Konvertieren", "Old": "Alt"})
    assert upkeep.missing(german, ["Convert", TAKES, "New"]) == [TAKES, "New"]
    assert upkeep.stale(german, ["Convert", TAKES, "New"]) == ["Old"]


def test_faults_name_lost_fields_and_code(german):
    text = "Set {name} by `--takes`."
    write(german, [text, TAKES], {text: "Setze {nam}. ", TAKES[0]: ["ein Take", "{count} Takes"]})
    told = " ".join(upkeep.faults(german))
    for fault in ("lacks: nam", "it lacks name", "it lacks `--takes`", "ends with a space"):
        assert fault in told
    assert "Take'" not in told  # one take needs no number


def test_main_lists_what_is_missing_and_takes_it(german, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(extraction, "all_texts", lambda: {"Convert", TAKES})
    monkeypatch.setattr("studio.languages.__main__.all_texts", lambda: {"Convert", TAKES})
    file = tmp_path / "missing.json"
    assert main(["missing", "de", str(file)]) == 0
    assert json.loads(file.read_text()) == {TAKES[0]: ["", ""], "Convert": ""}
    assert main(["check"]) == 1
    assert "de: 2 missing" in capsys.readouterr().out
    file.write_text(json.dumps({TAKES[0]: ["{count} Take", "{count} Takes"], "Convert": "Konvertieren"}))
    assert main(["fill", "de", str(file)]) == 0
    assert upkeep.missing(german, ["Convert", TAKES]) == []
    assert main(["extract"]) == 0
    assert catalogues.entries_of.__wrapped__("de")["Convert"] == ("Konvertieren",)
    assert main(["nonsense"]) == 2
    assert "extract" in capsys.readouterr().err
