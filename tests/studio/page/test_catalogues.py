"""The catalogues for the page's script, and the language that a request is answered in."""

from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.testclient import TestClient

from studio.languages.catalogues import Entry
from studio.page import catalogues
from studio.page.catalogues import CATALOGUES, catalogue_of, catalogue_route, language_of, language_script

ENTRIES = {
    "Convert": Entry(("Umwandeln",)),
    "{count} takes": Entry(("{count} Take", "{count} Takes"), counted="count"),
    "{file} has {count} takes (of {most})": Entry(("{count} von {most} Takes in {file}",)),
}


@pytest.fixture
def german(monkeypatch) -> Iterator[None]:
    monkeypatch.setattr(catalogues, "entries_of", lambda code: ENTRIES if code == "de" else {})
    catalogues._catalogue.cache_clear()
    catalogues._packed.cache_clear()
    yield
    catalogues._catalogue.cache_clear()
    catalogues._packed.cache_clear()


def test_catalogue_of_lists_texts_and_templates_with_the_most_fixed_text_first():
    made = catalogue_of("de", ENTRIES)
    assert made["texts"] == {"Convert": "Umwandeln"}
    assert made["plurals"] == ("one", "other")
    sure, other = made["templates"]
    assert sure == ["([^]+?) has ([^]+?) takes \\(of ([^]+?)\\)", "takes", ("file", "count", "most"),
                    ("{count} von {most} Takes in {file}",), -1]  # fmt: skip
    assert other[2:] == [("count",), ("{count} Take", "{count} Takes"), 0]


def test_catalogue_route_sends_304_to_its_etag_and_404_to_unknown_languages(german):
    client = TestClient(Starlette(routes=[catalogue_route()]))
    first = client.get(f"{CATALOGUES}/de.json")
    assert first.json()["texts"] == {"Convert": "Umwandeln"}
    assert first.headers["cache-control"] == "no-cache"
    again = client.get(f"{CATALOGUES}/de.json", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(f"{CATALOGUES}/en.json").json()["texts"] == {}
    for unknown in ("xx", "DE", "..%2fde"):
        assert client.get(f"{CATALOGUES}/{unknown}.json").status_code == 404


def test_language_of_prefers_the_cookie_to_accept_language():
    asked = {"accept-language": "fr, en;q=0.5"}
    assert language_of(Headers(asked)).code == "fr"
    assert language_of(Headers(asked | {"cookie": "a=b; timbre_language=pt-BR"})).code == "pt-BR"
    assert language_of(Headers({})).code == "en"


def test_language_script_contains_all_languages_and_the_catalogue_path():
    tag = language_script("/studio", "/studio/page-files/first.js")
    assert tag.startswith('<script src="/studio/page-files/first.js" data-catalogues="/studio/page-languages"')
    assert "&quot;العربية&quot;, &quot;rtl&quot;" in tag
    assert '"de"' not in tag  # quoted, as an attribute must be
