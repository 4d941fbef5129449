import pytest

from engine.texts import joined, ntr, numeral, tr
from studio.languages.reading import read_in, reader_language, said
from studio.languages.translation import Translator, translator
from tests.catalogues import catalogue

GERMAN = {
    "Convert": "Umwandeln",
    ("{count} take of {name}", "{count} takes of {name}"): ("{count} Take von {name}", "{count} Takes von {name}"),
    "take {number} of {takes}": "{takes} Takes, dies ist Nummer {number}",
    "The disk is full.": "Die Platte ist voll.",
    "The job failed: {reason}": "Fehlgeschlagen: {reason}",
    "about {left} left": "noch etwa {left}",
    "{seconds} s": "{seconds} Sek.",
    ", ": " und ",
}
ARABIC = {
    ("{count} take", "{count} takes"): ("لا مقاطع", "مقطع", "مقطعان", "{count} مقاطع", "{count} مقطعًا", "{count} مقطع")
}


@pytest.fixture
def german(tmp_path):
    with catalogue(tmp_path, "de", GERMAN):
        yield translator("de")


def test_say_translates_texts_with_their_values(german):
    assert german.say(tr("Convert")) == "Umwandeln"
    assert german.say(tr("take {number} of {takes}", number=3, takes=5)) == "5 Takes, dies ist Nummer 3"
    assert german.say(tr("The job failed: {reason}", reason=tr("The disk is full."))) == (
        "Fehlgeschlagen: Die Platte ist voll."
    )


def test_say_leaves_names_and_unknown_texts_unchanged(german):
    for text in ("Convert", "take 3 of 5", "", tr("Kathleen"), tr("unknown {what}", what="words")):
        assert german.say(text) == text


def test_say_writes_numbers_as_the_language_does(german):
    assert german.say(tr("about {left} left", left=tr("{seconds} s", seconds=numeral(2.5, ".1f")))) == (
        "noch etwa 2,5 Sek."
    )
    assert (german.say(0.5), german.say(numeral(1234.5, ",")), german.say(3)) == ("0,5", "1.234,5", "3")
    assert german.say(tr("version {version}", version="0.16")) == "version 0.16"  # a name, not a number


def test_say_chooses_singular_or_plural_by_the_count(german):
    assert [
        german.say(ntr("{count} take of {name}", "{count} takes of {name}", count=count, name="Mia"))
        for count in (1, 2)
    ] == ["1 Take von Mia", "2 Takes von Mia"]


def test_say_uses_the_plural_forms_of_the_language(tmp_path):
    with catalogue(tmp_path, "ar", ARABIC):
        say = translator("ar").say
        expected = ["لا مقاطع", "مقطع", "مقطعان", "3 مقاطع", "11 مقطعًا", "100 مقطع"]
        assert [say(ntr("{count} take", "{count} takes", count=count)) for count in (0, 1, 2, 3, 11, 100)] == expected


def test_say_joins_texts_as_the_language_does(german):
    assert german.say(joined(tr(", "), [tr("Convert"), "Mia"])) == "Umwandeln und Mia"
    assert german.say("(" + tr("Convert") + ")") == "(Umwandeln)"


def test_say_falls_back_to_english(tmp_path):
    with catalogue(tmp_path, "de", {}):
        for code in ("de", "fr", "en"):
            say = Translator(code).say
            assert say(ntr("{count} take", "{count} takes", count=1)) == "1 take"
            assert say(ntr("{count} take", "{count} takes", count=3)) == "3 takes"


def test_say_all_says_the_texts_in_plain_data(german):
    assert german.say_all({"label": tr("Convert"), "names": ("Convert", [tr("Convert")]), "n": 1.5}) == {
        "label": "Umwandeln",
        "names": ["Convert", ["Umwandeln"]],
        "n": 1.5,
    }


def test_say_as_text_finds_texts_that_have_become_plain_strings(german):
    assert german.say_as_text("The disk\n   is full.") == "Die Platte ist voll."
    assert german.say_as_text(tr("Convert")) == "Umwandeln"


def test_said_follows_the_reader_of_the_moment(german):
    assert said(tr("Convert")) == "Convert"
    with read_in("de"):
        assert (reader_language(), said(tr("Convert")), said("Convert")) == ("de", "Umwandeln", "Convert")
    assert reader_language() == "en"
