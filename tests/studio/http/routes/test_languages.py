"""Problem documents in the language that the client accepts; what programs read stays as it is."""

import pytest

from tests.catalogues import catalogue

TOKEN = "A token is required. Send the header 'Authorization: Bearer TOKEN'; `timbre-studio token create` makes one."
TOKEN = "A token is required. Send the header 'Authorization: Bearer TOKEN'; `timbre-studio token create` makes one."
FRENCH = {
    "Not Found": "Introuvable",
    "Unprocessable Entity": "Demande invalide",
    "Unprocessable Content": "Demande invalide",
    "Unauthorized": "Non autorisé",
    "There is no such task. GET /tasks lists all tasks.": "Pas de tâche. Voir GET /tasks.",
    "{name} must be at least {ge}.": "{name} : au moins {ge}.",
    "{name} is missing.": "{name} manque.",
    TOKEN: "Il faut un jeton.",
}


@pytest.fixture
def french(tmp_path):
    with catalogue(tmp_path, "fr", FRENCH):
        yield


def test_problem_uses_the_accepted_language(http, french):
    plain = http.client().get("/tasks/nope1")
    answer = http.client().get("/tasks/nope1", headers={"Accept-Language": "xx, fr-CA;q=0.9, en;q=0.5"})
    assert answer.headers["content-language"] == "fr"
    assert answer.headers["vary"] == "Accept-Language"
    document, english = answer.json(), plain.json()
    assert document["title"] == "Introuvable"
    assert document["detail"] == "Pas de tâche. Voir GET /tasks."
    for name in ("type", "status", "code"):
        assert document[name] == english[name]


def test_problem_is_english_by_default(http, french):
    plain, wished = (
        http.client().get("/tasks/nope1"),
        http.client().get("/tasks/nope1", headers={"Accept-Language": "en"}),
    )
    assert plain.content == wished.content
    assert plain.headers["content-language"] == "en"
    assert plain.json()["title"] == "Not Found"


def test_problem_keeps_field_names_untranslated(http, french):
    answer = http.client().get("/tasks?limit=0", headers={"Accept-Language": "fr"})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert answer.json()["errors"] == [{"field": "limit", "message": "limit : au moins 1."}]
    assert answer.json()["detail"] == "limit : au moins 1."
    form = http.client().post("/models/kathleen/train", headers={"Accept-Language": "fr"})
    assert {"field": "epochs", "message": "epochs manque."} in form.json()["errors"]


def test_problem_uses_the_accepted_language_for_a_missing_token(http, french):
    answer = http.stranger().get("/models", headers={"Accept-Language": "fr"})
    assert (answer.status_code, answer.json()["title"], answer.json()["detail"]) == (
        401,
        "Non autorisé",
        "Il faut un jeton.",
    )
    assert answer.json()["code"] == "token_missing"
    assert answer.headers["www-authenticate"].startswith("Bearer")
