"""The catalogues for the page's scripts, and the language that a request is answered in."""

from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from engine.texts import tr
from studio.languages.reading import said
from studio.page import catalogues
from studio.page.catalogues import CATALOGUES, VisitorLanguage, catalogue_route, language_of, language_script
from tests.catalogues import catalogue

GERMAN = {"Convert": "Umwandeln", ("{count} take", "{count} takes"): ("{count} Take", "{count} Takes")}


@pytest.fixture
def german(tmp_path) -> Iterator[None]:
    with catalogue(tmp_path, "de", GERMAN):
        catalogues._catalogue.cache_clear()
        yield
    catalogues._catalogue.cache_clear()


def test_catalogue_route_sends_the_texts_and_plurals_of_a_language(german):
    client = TestClient(Starlette(routes=[catalogue_route()]))
    first = client.get(f"{CATALOGUES}/de.json")
    assert first.json() == {
        "code": "de",
        "plurals": ["one", "other"],
        "texts": {"Convert": ["Umwandeln"], "{count} take": ["{count} Take", "{count} Takes"]},
    }
    assert client.get(f"{CATALOGUES}/en.json").json()["texts"] == {}


def test_catalogue_route_sends_304_to_its_etag_and_404_to_unknown_languages(german):
    client = TestClient(Starlette(routes=[catalogue_route()]))
    first = client.get(f"{CATALOGUES}/de.json")
    assert first.headers["cache-control"] == "no-cache"
    again = client.get(f"{CATALOGUES}/de.json", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for unknown in ("xx", "DE", "..%2fde"):
        assert client.get(f"{CATALOGUES}/{unknown}.json").status_code == 404


def test_language_of_prefers_the_cookie_to_accept_language():
    asked = {"accept-language": "fr, en;q=0.5"}
    assert language_of(Headers(asked)).code == "fr"
    assert language_of(Headers(asked | {"cookie": "a=b; timbre_language=pt-BR"})).code == "pt-BR"
    assert language_of(Headers({})).code == "en"


def test_visitor_language_lets_the_answer_speak_it(german):
    async def answer(request: Request) -> PlainTextResponse:
        return PlainTextResponse(said(tr("Convert")))

    client = TestClient(VisitorLanguage(Starlette(routes=[Route("/", answer)])))
    assert client.get("/", headers={"accept-language": "de-AT"}).text == "Umwandeln"
    assert client.get("/", headers={"accept-language": "fr"}).text == "Convert"


def test_language_script_contains_the_language_of_the_request_and_all_names():
    source = "/studio/page-files/first.js"
    tag = language_script("/studio", source, Headers({"cookie": "timbre_language=ar"}))
    assert tag.startswith(f'<script src="{source}" data-catalogue="/studio/page-languages/ar.json" data-code="ar"')
    assert 'data-direction="rtl" data-choice="ar"' in tag
    assert "&quot;العربية&quot;" in tag
    assert '"de"' not in tag  # quoted, as an attribute must be
    assert 'data-choice=""' in language_script("", source, Headers({"accept-language": "ja"}))
