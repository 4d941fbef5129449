"""Every text of the studio is in every language, whole."""

import json

import pytest

from studio.languages import catalogues, upkeep
from studio.languages.__main__ import main
from studio.languages.counting import counted_field_of
from studio.languages.extraction import Texts
from studio.languages.known import LANGUAGES
from studio.languages.templates import FIELD, Template

GLOSSARIES = catalogues.FOLDER.parent / "glossaries"


@pytest.fixture(scope="module")
def template():
    return upkeep.extract()


def texts(*given):
    found = Texts()
    for text in given:
        found.add(text, "page.py")
    return found


def test_template_on_disk_matches_the_texts_in_the_code(template):
    kept = {str(one.id) for one in catalogues.read_catalogue(catalogues.TEMPLATE) if one.id}
    now = {str(one.id) for one in template if one.id}
    assert kept == now, "run: python -m studio.languages extract"


@pytest.mark.parametrize("code", sorted(LANGUAGES))
def test_missing_finds_nothing_in_any_language(code, template):
    assert upkeep.missing(LANGUAGES[code], template) == []


@pytest.mark.parametrize("code", sorted(LANGUAGES))
def test_faults_finds_nothing_in_any_language(code, template):
    assert upkeep.faults(LANGUAGES[code], template) == []


@pytest.mark.parametrize("code", sorted(set(LANGUAGES) - {"en"}))
def test_glossary_of_every_language_has_the_key_terms(code):
    text = (GLOSSARIES / f"{LANGUAGES[code].locale}.md").read_text(encoding="utf-8")
    assert all(word in text for word in ("take", "octave", "vibrato", "stem", "breath", "dry", "| English |"))


@pytest.mark.parametrize("code", sorted(set(LANGUAGES) - {"en"}))
def test_page_labels_stay_short_in_every_language(code):
    """A button that is twice as long as in English does not fit."""
    entries = catalogues.entries_of(code)
    labels = ("Convert", "Cancel", "Delete", "Render edits", "Build comp", "Save", "Settings", "Undo")
    long = {one: entries[one].forms[-1] for one in labels if len(entries[one].forms[-1]) > 2 * len(one) + 6}
    assert not long


def test_extract_gives_a_plural_form_to_texts_with_a_count():
    catalogue = upkeep.extract(texts("{count} takes of {name}", "Convert", "{name} has its faults"))
    assert sorted(str(one.id) for one in catalogue if one.id and one.pluralizable) == [
        "('{count} takes of {name}', '{count} takes of {name}')"
    ]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("{count} usable takes", "count"),
        ("{count} of {recordings} recordings are noisy", "count"),
        ("{flag} takes a number", ""),
        ("{name} has 3 parts", ""),
        ("{seconds} s", ""),
    ],
)
def test_counted_field_of_returns_only_a_counted_field(text, field):
    assert counted_field_of(text) == field


def test_update_keeps_known_translations_and_adds_new_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogues, "FOLDER", tmp_path)
    german = LANGUAGES["de"]
    first = upkeep.update(german, upkeep.extract(texts("Convert", "Old")), {"Convert": "Konvertieren", "Old": "Alt"})
    catalogues.write_catalogue(first, catalogues.path_of(german))
    second = upkeep.update(german, upkeep.extract(texts("Convert", "{count} takes")), {"{count} takes": ["a", "b"]})
    assert {str(one.id): one.string for one in second if one.id} == {
        "Convert": "Konvertieren",
        "('{count} takes', '{count} takes')": ("a", "b"),
    }


def test_faults_name_lost_fields_and_code(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogues, "FOLDER", tmp_path)
    german, text = LANGUAGES["de"], "Set {name} by `--takes`."
    template = upkeep.extract(texts(text))
    catalogues.write_catalogue(upkeep.update(german, template, {text: "Setze {nam}."}), catalogues.path_of(german))
    told = " ".join(upkeep.faults(german, template))
    for fault in ("lacks: nam", "it lacks name", "it lacks `--takes`"):
        assert fault in told


def test_values_in_finds_the_fields_of_every_template(template):
    """Values that hold none of the template's own words come back as they were."""
    found = [str(one.id[0] if one.pluralizable else one.id) for one in template if one.id]
    lost = [
        text
        for text in found
        if (one := Template(text)).fields and one.values_in(FIELD.sub("7", text)) != dict.fromkeys(one.fields, "7")
    ]
    assert not lost


def test_missing_writes_untranslated_texts_to_a_file(tmp_path, capsys):
    file = tmp_path / "missing.json"
    assert main(["missing", "de", str(file)]) == 0
    assert json.loads(file.read_text()) == {}
    assert main(["nonsense"]) == 2
    assert "extract" in capsys.readouterr().err
