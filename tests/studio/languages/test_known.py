import pytest
from babel import Locale

from studio.languages.known import LANGUAGES, accepted, chosen_by, of_environment


def test_languages_have_the_plural_forms_and_direction_of_the_cldr():
    for language in LANGUAGES.values():
        used = {Locale.parse(language.locale).plural_form(count) for count in range(200)}
        # a noun after a number has one form in Turkish, though the CLDR tells one from many
        assert used <= {*language.plurals, "other", "many"} or language.code == "tr"
        assert language.plurals[-1] == "other"
        assert Locale.parse(language.locale).character_order == (
            "right-to-left" if language.direction == "rtl" else "left-to-right"
        )


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        *(("de", "de"), ("DE-at", "de"), ("pt", "pt-BR"), ("pt_PT.UTF-8", "pt-BR"), ("zh-TW", "zh-Hans"), ("xx", "en")),
        *(("C.UTF-8", "en"), ("", "en"), ("ar_EG", "ar")),
    ],
)
def test_chosen_by_accepts_any_spelling_and_falls_back_to_english(wish, code):
    assert chosen_by([wish]).code == code


def test_chosen_by_takes_the_first_known_language():
    assert chosen_by(["xx", "ja", "de"]).code == "ja"


@pytest.mark.parametrize(
    ("header", "code"),
    [
        *((None, "en"), ("", "en"), ("de", "de"), ("fr;q=0.4, ja, en;q=0.8", "ja"), ("xx, tr;q=0.1", "tr")),
        *(("de;q=0, fr", "fr"), ("de;q=x, it;q=0.1", "it"), ("*", "en"), (";;;,,", "en")),
        ("en-GB,en;q=0.9,de;q=0.8", "en"),
    ],
)
def test_accepted_follows_the_weights_of_accept_language(header, code):
    assert accepted(header).code == code


def test_of_environment_prefers_timbre_studio_language_over_the_locale():
    assert of_environment({"TIMBRE_STUDIO_LANGUAGE": "ko", "LC_ALL": "de_DE"}).code == "ko"
    assert of_environment({"LC_ALL": "", "LC_MESSAGES": "hi_IN", "LANG": "de_DE"}).code == "hi"
    assert of_environment({"LC_ALL": "C", "LANG": "de_DE"}).code == "en"
    assert of_environment({}).code == "en"
