"""The page in another language: what is translated, what stays as it is, and that nothing was forgotten."""

import re

import pytest
from playwright.sync_api import Page, expect

from studio.languages.catalogues import entries_of
from studio.languages.extraction import all_texts
from studio.languages.known import LANGUAGES
from studio.languages.upkeep import english_of, missing
from tests.stories.test_accessibility import TABS
from tests.waiting import WORK_MS

SMALL = {"width": 1280, "height": 720}


def in_language(page: Page, code: str) -> Page:
    """The page again, with this language chosen."""
    page.context.add_cookies([{"name": "timbre_language", "value": code, "url": page.url}])
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", code)
    return page


def test_the_page_is_shown_in_the_chosen_language(new_visitor):
    page = in_language(new_visitor(viewport=SMALL), "de")
    german = {english: forms[-1] for english, forms in entries_of("de").items()}
    expect(page.locator("#convert-start")).to_have_text(german["Convert"])
    expect(page.get_by_role("tab", name=german["Voices"], exact=True)).to_be_visible()
    expect(page.get_by_role("button", name=german["Help"])).to_be_visible()
    assert page.locator("html").evaluate("one => [one.lang, one.dir]") == ["de", "ltr"]
    assert page.evaluate("navigator.language") == "de"
    expect(page.get_by_role("button", name=german["Play {name}"].format(name="Kathleen")).first).to_be_attached()
    page.goto(f"{page.url}#history")  # tabs are found in every language
    voice = page.get_by_role("combobox", name=german["Voice"])
    voice.click()
    expect(page.get_by_role("option", name=german["All voices"])).to_be_visible()
    expect(page.get_by_role("option", name="Kathleen")).to_be_visible()
    page.keyboard.press("Escape")


SAID = """async () => {
  const { tr, ntr, fixed, signed } = await import(timbreModules["texts.js"]);
  const take = (count) => ntr("{count} gizmo", "{count} gizmos", { count }); // in no catalogue
  return [tr("Play {name}", { name: "Convert" }), tr("{name} is unknown here", { name: 1.5 }), take(1), take(2),
    `${fixed(8.94, 1)} s`, tr("Copy"), tr("{a} and {b}", { a: signed(0.5, 2), b: signed(-1.5, 1) })];
}"""


def test_scripts_say_texts_with_values_plurals_and_numbers_of_the_language(new_visitor):
    page = in_language(new_visitor(viewport=SMALL), "de")
    # a name is a name, whatever it says; what is in no catalogue is English, with the numbers of the language
    assert page.evaluate(SAID) == [
        *("Convert abspielen", "1,5 is unknown here", "1 gizmo", "2 gizmos", "8,9 s", "Kopieren"),
        "+0,50 and \u22121,5",
    ]


def test_numbers_and_code_have_the_direction_and_the_marks_of_the_language(new_visitor):
    page = in_language(new_visitor(viewport=SMALL), "ar")
    assert page.locator("html").get_attribute("dir") == "rtl"
    page.evaluate("html => document.body.insertAdjacentHTML('beforeend', html)", "<p id=trial><code>a \\ -b</code></p>")
    assert page.locator("#trial code").evaluate("one => getComputedStyle(one).direction") == "ltr"
    assert page.locator("#trial").evaluate("one => getComputedStyle(one).direction") == "rtl"


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


# what is seen or read out in words of the Latin script, and without a letter of Japanese
LEFT = """() => {
  const kept = "[translate=no], code, pre, script, style, textarea, title, noscript, svg, time, .names [role=option]";
  const names = ["aria-label", "placeholder", "title", "aria-description", "aria-valuetext", "label", "data-label"];
  const left = new Set(), japanese = /[\u3040-\u30ff\u4e00-\u9fff]/;
  const add = (text) => /[A-Za-z]{3,}/.test(text) && !japanese.test(text) && left.add(text.trim());
  for (const one of document.querySelectorAll("*")) {
    if (one.closest(kept) || !one.checkVisibility({ opacityProperty: true })) continue;
    for (const node of one.childNodes) if (node.nodeType === Node.TEXT_NODE) add(node.data);
    for (const name of names) if (one.hasAttribute(name)) add(one.getAttribute(name));
    if (one.matches("[role=combobox]") && !one.closest(".names")) add(one.value);
  }
  return [...left];
}"""
UNFOLD = """() => {
  for (const one of document.querySelectorAll("details:not([open])")) one.open = true;
  for (const one of document.querySelectorAll("#tabs button.label-wrap:not(.open)")) if (one.offsetParent) one.click();
}"""
# names of files, formats, languages, programs, voices and places are the same everywhere, and other people's words
NAMES_LEFT = re.compile(
    r"wav|flac|mp3|m4a|cpu|singing(\.flac)?|/.*|[\d.]+\S* on \w+ \w+|[\d.]+\+\w+|English|Deutsch|Fran.ais|Espa.ol|"
    r"Portugu.s \(Brasil\)|Italiano|T.rk.e|CC-BY-4\.0|Timbre Studio|.*Linux .*|\d+ kbps|Python|torch|"
    r"serve --\S+|.*Libri(Vox|Speech).*|PostgreSQL|"
    r"(Everett|G.khan|Kathleen|Kerstin|Koguchi|Safiye)([,、].*)?"
)


class Walk:
    """A walk over the page in Japanese, and what was seen in English on it."""

    def __init__(self, page: Page) -> None:
        self.page, self.left = page, {}
        # what is marked but not translated yet is English: `python -m studio.languages check` lists it
        owed = sorted(map(english_of, missing(LANGUAGES["ja"], all_texts())), key=len, reverse=True)
        patterns = "|".join(re.sub(r"\\{\w+\\}", ".*", re.escape(text)) for text in owed)
        self.owed = re.compile(rf"(?<!\w)(?:{patterns})(?!\w)" if owed else "(?!)")

    def look(self, where: str) -> None:
        self.page.wait_for_timeout(800)
        for text in self.page.evaluate(LEFT):
            if not NAMES_LEFT.fullmatch(text) and re.search("[A-Za-z]{3,}", self.owed.sub("", text)):
                self.left.setdefault(text, where)

    def tab(self, name: str) -> None:
        self.page.evaluate("name => (location.hash = name)", name)
        expect(self.page.locator(f"#tabs [role=tab][data-tab-id={name}]").first).to_have_attribute(
            "aria-selected", "true"
        )
        self.page.wait_for_timeout(1500)


@pytest.mark.slow
def test_translation_covers_every_text_on_the_page(new_visitor):
    """In Japanese, which has no word in common with English."""
    page = in_language(new_visitor(viewport=SMALL), "ja")
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
    page.locator(".pitch-strip button").nth(1).click()
    page.locator(".pitch-more summary").click()
    walk.look("pitch editor")
    page.locator("#convert-instrument .edit").click()
    walk.tab("history")
    page.locator(".task-head").first.click()
    walk.look("project")
    page.locator(".task .task .task-head, .within .task-head").first.click()
    walk.look("task")
    page.locator(".task .actions .delete:visible").first.click()
    walk.look("question")
    walk.tab("live")
    page.locator("timbre-live .start").click()
    page.locator("timbre-live[data-state=running]").wait_for(timeout=WORK_MS)
    walk.look("live")
    page.locator("timbre-live .start").click()
    walk.look("live, ended")
    assert walk.left == {}
