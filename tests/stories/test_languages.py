"""The page in another language: what is translated, what stays as it is, and that nothing was forgotten."""

import json
import re

import pytest
from playwright.sync_api import Page, Route, expect

from studio.languages.catalogues import Entry
from studio.languages.extraction import all_texts
from studio.page.catalogues import catalogue_of
from tests.stories.test_accessibility import TABS

SMALL = {"width": 1280, "height": 720}
WORK_MS = 120_000
GERMAN = {
    "Convert": "Umwandeln",
    "Voices": "Stimmen",
    "Search voices": "Stimmen suchen",
    "Search": "Suchen",
    "Help": "Hilfe",
    "Voice": "Stimme",
    "All voices": "Alle Stimmen",
    "All types": "Alle Arten",
    "take {number} of {takes}": "Take {number} von {takes}",
    "Play {name}": "{name} abspielen",
    "Up to {seconds} s in {count} takes.": (
        "Bis zu {seconds} s in {count} Take.",
        "Bis zu {seconds} s in {count} Takes.",
    ),
}


def catalogue(code: str, texts: dict[str, str | tuple[str, ...]]) -> dict[str, object]:
    """A catalogue as the route gives it; what counts in it is `count`."""
    made = {}
    for source, forms in texts.items():
        made[source] = Entry((forms,)) if isinstance(forms, str) else Entry(forms, counted="count")
    return catalogue_of(code, made)


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
    expect(page.get_by_role("button", name="Kathleen abspielen").first).to_be_attached()
    page.goto(f"{page.url}#history")  # tabs are found in every language
    voice = page.locator("#tabs input[role=combobox]:visible").first
    expect(voice).to_have_attribute("aria-label", "Stimme")
    voice.click()
    expect(page.get_by_role("option", name="Alle Stimmen")).to_be_visible()
    expect(page.get_by_role("option", name="Kathleen")).to_be_visible()
    page.keyboard.press("Escape")
    kind = page.get_by_role("combobox", name="Type")
    assert kind.evaluate(SEEN) == "Alle Arten"
    assert kind.evaluate("one => one.value") == "All types"  # as Gradio knows it


def test_translation_handles_values_plurals_numbers_and_later_texts(new_visitor):
    page = reopened(new_visitor(viewport=SMALL), "de", catalogue("de", GERMAN))
    expect(page.locator("#convert-start")).to_have_text("Umwandeln")
    put(
        page,
        "<p>Up to 2.5 s in 1 takes.</p><p>Up to 3 s in 12 takes. take 1 of 3</p><i>0.25</i><u>8.9 s</u>"
        "<b translate=no>Convert</b><em title='Play Convert' aria-label='Help'>Play Convert</em>"
        "<s>my.wav \u00b7 Convert \u00b7 1.5 s</s><textarea placeholder='Search'>Convert</textarea>"
        "<code>Convert</code>",
    )
    trial = page.locator("#trial")
    expect(trial.locator("p").first).to_have_text("Bis zu 2,5 s in 1 Take.")
    expect(trial.locator("p").last).to_have_text("Bis zu 3 s in 12 Takes. Take 1 von 3")
    expect(trial.locator("i")).to_have_text("0,25")
    expect(trial.locator("u")).to_have_text("8,9 s")
    expect(trial.locator("s")).to_have_text("my.wav \u00b7 Umwandeln \u00b7 1,5 s")
    # a name is a name, whatever it says
    expect(trial.locator("b")).to_have_text("Convert")
    expect(trial.locator("em")).to_have_text("Convert abspielen")
    expect(trial.locator("em")).to_have_attribute("title", "Convert abspielen")
    expect(trial.locator("em")).to_have_attribute("aria-label", "Hilfe")
    expect(trial.locator("textarea")).to_have_text("Convert")
    expect(trial.locator("textarea")).to_have_attribute("placeholder", "Suchen")
    expect(trial.locator("code")).to_have_text("Convert")
    first = trial.locator("p").first
    first.evaluate("one => (one.firstChild.data = 'Convert')")
    expect(first).to_have_text("Umwandeln")
    first.evaluate("one => one.setAttribute('title', 'Search')")
    expect(first).to_have_attribute("title", "Suchen")


def test_page_language_follows_the_browser_or_the_setting_in_a_cookie(new_visitor, open_tab):
    page = new_visitor(viewport=SMALL, locale="ar-EG")
    expect(page.locator("html")).to_have_attribute("lang", "ar")
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    assert page.evaluate("navigator.languages") == ["ar-EG"]
    page.evaluate("location.hash = 'settings'")
    choice = page.locator("timbre-language select")
    expect(choice).to_have_value("")
    assert choice.evaluate("one => getComputedStyle(one).direction") == "rtl"
    with page.expect_navigation():
        choice.select_option("ja")
    expect(page.locator("html")).to_have_attribute("lang", "ja")
    expect(page.locator("timbre-language select")).to_have_value("ja")
    assert [one["value"] for one in page.context.cookies() if one["name"] == "timbre_language"] == ["ja"]
    with page.expect_navigation():
        page.locator("timbre-language select").select_option("")
    expect(page.locator("html")).to_have_attribute("lang", "ar")
    assert not [one for one in page.context.cookies() if one["name"] == "timbre_language"]


WATCHED = """async () => {
  let calls = 0;
  const seen = new MutationObserver((records) => (calls += records.length));
  seen.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
  await new Promise((done) => setTimeout(done, 2000));
  seen.disconnect();
  return calls;
}"""


def test_translation_stays_idle_on_an_idle_page(new_visitor):
    page = reopened(new_visitor(viewport=SMALL), "de", catalogue("de", GERMAN))
    expect(page.locator("#convert-start")).to_have_text("Umwandeln")
    page.wait_for_timeout(3000)
    assert page.evaluate(WATCHED) < 20  # it does not answer itself


# what is seen in a combobox, and not what Gradio reads there
SEEN = """(input) => {
  const frame = document.body.appendChild(document.createElement("iframe"));
  const { get } = Object.getOwnPropertyDescriptor(frame.contentWindow.HTMLInputElement.prototype, "value");
  frame.remove();
  return get.call(input);
}"""
LEFT = """() => {
  const kept = "[translate=no], code, pre, script, style, textarea, title, noscript, svg, time, .names [role=option]";
  const names = ["aria-label", "placeholder", "title", "aria-description", "aria-valuetext", "label", "data-label"];
  const left = new Set(), seen = SEEN;
  const add = (text) => /\\p{L}{2,}/u.test(text) && !text.includes("\\u27e6") && left.add(text.trim());
  for (const one of document.querySelectorAll("*")) {
    if (one.closest(kept) || !one.checkVisibility({ opacityProperty: true })) continue;
    for (const node of one.childNodes) if (node.nodeType === Node.TEXT_NODE) add(node.data);
    for (const name of names) if (one.hasAttribute(name)) add(one.getAttribute(name));
    if (one.matches("[role=combobox]") && !one.closest(".names")) add(seen(one));
  }
  return [...left];
}""".replace("SEEN", SEEN)
UNFOLD = """() => {
  for (const one of document.querySelectorAll("details:not([open])")) one.open = true;
  for (const one of document.querySelectorAll("#tabs button.label-wrap:not(.open)")) if (one.offsetParent) one.click();
}"""
# names of files, formats, languages, programs and places are the same everywhere
NAMES_LEFT = re.compile(
    r"wav|flac|mp3|m4a|cpu|singing\.flac|/.*|[\d.]+\S* on \w+ \w+|[\d.]+\+\w+|English|Deutsch|Fran.ais|Espa.ol|"
    r"Portugu.s \(Brasil\)|Italiano|T.rk.e|CC-BY-4\.0|All voices"
)


class Walk:
    """A walk over the page, and what was seen untranslated on it."""

    def __init__(self, page: Page) -> None:
        self.page, self.left = page, {}

    def look(self, where: str) -> None:
        self.page.wait_for_timeout(800)
        for text in self.page.evaluate(LEFT):
            if not NAMES_LEFT.fullmatch(text):
                self.left.setdefault(text, where)

    def tab(self, name: str) -> None:
        self.page.evaluate("name => (location.hash = name)", name)
        expect(self.page.locator(f"#tabs [role=tab][data-tab-id={name}]").first).to_have_attribute(
            "aria-selected", "true"
        )
        self.page.wait_for_timeout(1500)


@pytest.mark.slow
def test_translation_covers_every_text_on_the_page(new_visitor):
    pseudo = {text: f"\u27e6{text}\u27e7" for text in all_texts().places}
    page = reopened(new_visitor(viewport=SMALL), "en", catalogue("en", pseudo))
    walk = Walk(page)
    page.locator(".skip").wait_for(state="attached")
    page.keyboard.press("?")
    for name in map(str.lower, TABS):
        walk.tab(name)
        walk.look(name)
        page.evaluate(UNFOLD)
        walk.look(f"{name}, unfolded")
    for one in page.locator("input[role=combobox]:visible").all():
        one.click()
        walk.look("list")
        page.keyboard.press("Escape")
    walk.tab("voices")
    page.locator("#voice-more button:visible").first.click()
    walk.look("a voice's form")
    walk.tab("convert")
    page.locator("#convert .samples button").first.click()
    page.locator("#convert-instrument .play:not([data-welcome] *)").first.wait_for(timeout=WORK_MS)
    walk.look("recording")
    page.locator("#convert-start").click()
    walk.look("converting")
    expect(page.locator("#convert-title h2")).to_be_visible(timeout=WORK_MS)
    page.evaluate(UNFOLD)
    walk.look("result")
    page.locator("#convert-instrument .edit").click()
    for tool in page.locator(".pitch-tool").all():
        tool.click()
        walk.look("pitch editor")
    page.locator("#convert-instrument .edit").click()
    walk.tab("history")
    page.locator(".task-head").first.click()
    walk.look("task")
    page.locator(".task .actions .delete").first.click()
    walk.look("question")
    walk.tab("live")
    page.locator("timbre-live .start").click()
    page.locator("timbre-live[data-state=running]").wait_for(timeout=WORK_MS)
    walk.look("live")
    page.locator("timbre-live .start").click()
    walk.look("live, ended")
    assert walk.left == {}
