import pytest

from studio.languages.translation import Translator, translator
from tests.catalogues import catalogue

GERMAN = {
    "Convert": "Umwandeln",
    ("{count} takes of {name}", "{count} takes of {name}"): ("{count} Take von {name}", "{count} Takes von {name}"),
    "take {number} of {takes}": "{takes} Takes, dies ist Nummer {number}",
    "The disk is full.": "Die Platte ist voll.",
    "Try again later.": "Später noch einmal.",
    "The job failed: {reason}": "Fehlgeschlagen: {reason}",
    "{length} s": "{length} Sek.",
    "about {left} left": "noch etwa {left}",
    "{min} to {max}": "{min} bis {max}",
}
ARABIC = {
    ("{count} takes", "{count} takes"): ("لا مقاطع", "مقطع", "مقطعان", "{count} مقاطع", "{count} مقطعًا", "{count} مقطع")
}


@pytest.fixture
def german(tmp_path):
    with catalogue(tmp_path, "de", GERMAN):
        yield translator("de")


def test_translate_translates_texts_and_templates(german):
    assert german.translate("Convert") == "Umwandeln"
    assert german.translate("take 3 of 5") == "5 Takes, dies ist Nummer 3"
    assert german.translate("  Convert\n") == "  Umwandeln\n"


def test_translate_leaves_unknown_texts_unchanged(german):
    for text in ("Kathleen", "", "   ", "C:\\a {b} {", "12", "unknown words of 5"):
        assert german.translate(text) == text


def test_translate_translates_values_and_localises_numbers(german):
    assert german.translate("The job failed: The disk is full.") == "Fehlgeschlagen: Die Platte ist voll."
    assert german.translate("about 2.5 s left") == "noch etwa 2,5 Sek."


def test_translate_chooses_singular_or_plural_by_the_count(german):
    assert german.translate("1 takes of Mia") == "1 Take von Mia"
    assert german.translate("2 takes of Mia") == "2 Takes von Mia"


def test_translate_uses_the_plural_forms_of_the_language(tmp_path):
    with catalogue(tmp_path, "ar", ARABIC):
        speaks = translator("ar").translate
        assert [speaks(f"{count} takes") for count in (0, 1, 2, 3, 11, 100)] == [
            "لا مقاطع", "مقطع", "مقطعان", "3 مقاطع", "11 مقطعًا", "100 مقطع",
        ]  # fmt: skip


def test_translate_translates_several_sentences_one_by_one(german):
    assert german.translate("The disk is full. Try again later.") == "Die Platte ist voll. Später noch einmal."
    assert german.translate("The disk is full. Call Anna.") == "Die Platte ist voll. Call Anna."


def test_format_translates_templates_too_short_to_recognise(german):
    assert german.translate("C#3 to E4") == "C#3 bis E4"
    assert german.translate("Mia to Tom") == "Mia to Tom"
    assert german.format("{min} to {max}", min="C#3", max="E4") == "C#3 bis E4"
    assert german.format("{a} or {b}", a="x", b="y") == "x or y"


def test_translate_keeps_english_without_a_catalogue(tmp_path):
    with catalogue(tmp_path, "de", GERMAN):
        assert translator("en").translate("1 takes of Mia") == "1 takes of Mia"
        assert Translator("fr").translate("Convert") == "Convert"


def test_translate_applies_the_english_catalogue(tmp_path):
    with catalogue(tmp_path, "en", {("{count} takes", "{count} takes"): ("{count} take", "{count} takes")}):
        assert translator("en").translate("1 takes") == "1 take"
