"""The page in another language: what is translated, what stays as it is, and that nothing was forgotten."""

import json
import re

import pytest
from playwright.sync_api import Page, Route, expect

from studio.languages.extraction import all_texts
from studio.languages.templates import NAMES, Template
from tests.stories.test_accessibility import TABS, convert_a_sample

SMALL = {"width": 1280, "height": 720}
WORK_MS = 120_000
GERMAN = {
    "Convert": "Umwandeln",
    "Voices": "Stimmen",
    "Search voices": "Stimmen suchen",
    "Search": "Suchen",
    "Help": "Hilfe",
    "take {number} of {takes}": "Take {number} von {takes}",
    "Play {name}": "{name} abspielen",
    "Up to {seconds} s in {count} takes.": ("Bis zu {seconds} s in {count} Take.", "Bis zu {seconds} s in {count} Takes."),
}


def catalogue(code: str, texts: dict[str, str | tuple[str, ...]], counted: str = "count") -> dict[str, object]:
    """A catalogue as the route gives it."""
    made = [Template(one) for one in texts]
    templates = sorted((one for one in made if one.fields and one.fixed_length), key=lambda one: -one.fixed_length)
    forms = {one: (text,) if isinstance(text, str) else text for one, text in texts.items()}
    return {
        "code": code,
        "plurals": ["one", "other"],
        "names": sorted(NAMES),
        "texts": {one.text: forms[one.text][-1] for one in made if not one.fields},
        "templates": [
            [one.pattern, one.keyword, one.fields, forms[one.text], one.fields.index(counted) if counted in one.fields else -1]
            for one in templates
        ],
    }  # fmt: skip


def reopened(page: Page, code: str, given: dict[str, object]) -> Page:
    """The page again, with this catalogue chosen."""

    def answer(route: Route) -> None:
        route.fulfill(body=json.dumps(given), content_type="application/json")

    page.route(f"**/page-languages/{code}.json", answer)
    page.evaluate("code => localStorage.setItem('timbre-language', code)", code)
    page.reload()
    return page


def put(page: Page, html: str) -> None:
    """Add some HTML to the page, as a part of it would."""
    page.evaluate("html => document.body.insertAdjacentHTML('beforeend', `<div id=trial>${html}</div>`)", html)


def test_the_page_is_shown_in_the_chosen_language(new_visitor):
    page = reopened(new_visitor(viewport=SMALL), "de", catalogue("de", GERMAN))
    expect(page.locator("#convert-start")).to_have_text("Umwandeln")
    expect(page.get_by_role("tab", name="Stimmen", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Hilfe")).to_be_visible()
    assert page.locator("html").evaluate("one => [one.lang, one.dir]") == ["de", "ltr"]
    assert page.evaluate("navigator.language") == "de"
    page.get_by_role("tab", name="Stimmen", exact=True).click()
    search = page.locator("#voices input[type=search]").first
    expect(search).to_have_attribute("placeholder", "Suchen")
    expect(search).to_have_attribute("aria-label", "Stimmen suchen")
    expect(page.get_by_role("button", name="Kathleen abspielen").first).to_be_attached()
    put(page, "<p>Up to 2.5 s in 1 takes.</p><p>Up to 3 s in 12 takes. take 1 of 3</p><i>0.25</i><b translate=no>Convert</b>")
    trial = page.locator("#trial")
    expect(trial.locator("p").first).to_have_text("Bis zu 2,5 s in 1 Take.")
    expect(trial.locator("p").last).to_have_text("Bis zu 3 s in 12 Takes. Take 1 von 3")
    expect(trial.locator("i")).to_have_text("0,25")
    expect(trial.locator("b")).to_have_text("Convert")
    trial.evaluate("one => (one.querySelector('p').firstChild.data = 'Convert')")
    expect(trial.locator("p").first).to_have_text("Umwandeln")
    page.reload()
    page.goto(page.url + "#voices")
    expect(page.get_by_role("tab", name="Stimmen", exact=True)).to_have_attribute("aria-selected", "true")
