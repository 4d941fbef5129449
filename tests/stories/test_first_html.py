"""What a visitor sees before the scripts have begun, and until the elements are there: voices, sample and tabs."""

import json

import pytest
from playwright.sync_api import expect

from tests.browsers import LANGUAGE, PHONE, WIDE

LONGEST_BLANK_MS = 100
GRADIO = "**/assets/index-*.js"
# at each frame: whether the skeleton or what it stands for is seen; the longest time without it
WATCHED = """
globalThis.longestBlank = 0;
let seen = null;
const shows = (one) => { const box = one?.getBoundingClientRect(); return box && box.width > 40 && box.height > 10; };
const look = (now) => {
  const place = %s;
  const isSeen = shows(document.querySelector("#skeleton")) || [...document.querySelectorAll(place)].some(shows);
  if (document.body) {
    if (isSeen || seen === null) seen = now;
    globalThis.longestBlank = Math.max(globalThis.longestBlank, now - seen);
  }
  requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""


@pytest.mark.parametrize("viewport", [WIDE, PHONE])
def test_first_html_shows_voices_and_sample_without_any_script(browser, studio_page, viewport):
    context = browser.new_context(viewport=viewport, locale="de-DE", java_script_enabled=False)
    page = context.new_page()
    page.goto(studio_page.base_url)
    skeleton = page.locator("#skeleton")
    expect(skeleton.locator("header")).to_contain_text("Konvertieren")
    expect(skeleton.locator("section p b")).to_have_count(6)
    for shown in ("Everett", "Koguchi") if viewport is WIDE else ("Everett",):
        expect(skeleton.get_by_text(shown)).to_be_in_viewport()
    expect(skeleton.locator("svg.lane")).to_have_count(3)
    box = skeleton.locator("svg.notes").bounding_box()
    assert box["height"] > 0.25 * viewport["height"]
    context.close()


def test_skeleton_stands_while_the_scripts_are_on_their_way_and_leaves_when_the_voices_are_there(browser, studio_page):
    context = browser.new_context(viewport=WIDE, locale=LANGUAGE, color_scheme="dark")
    page, held = context.new_page(), []
    page.route(GRADIO, lambda route: held.append(route))
    page.goto(studio_page.base_url, wait_until="commit")
    skeleton = page.locator("#skeleton")
    expect(skeleton.get_by_text("Kathleen")).to_be_visible()
    assert skeleton.evaluate("(one) => getComputedStyle(one).backgroundColor") == "rgb(10, 15, 30)"
    while not held:
        page.wait_for_timeout(50)
    assert page.locator("#convert-voices").count() == 0
    held[0].continue_()
    page.unroute(GRADIO)
    expect(page.locator("#convert-voices .card")).to_have_count(6)
    expect(skeleton).to_have_count(0)
    context.close()


@pytest.mark.parametrize(("address", "place"), [("", "#convert-voices .card"), ("#voices", "#voices button")])
def test_page_is_never_blank_for_longer_than_a_tenth_of_a_second(browser, studio_page, address, place):
    context = browser.new_context(viewport=WIDE, locale=LANGUAGE)
    page = context.new_page()
    page.add_init_script(WATCHED % json.dumps(place))
    for visit in (lambda: page.goto(studio_page.base_url + "/" + address), page.reload):
        visit()
        page.locator(place).first.wait_for()
        page.wait_for_timeout(500)
        frames_apart = page.evaluate("globalThis.longestBlank")
        assert frames_apart < LONGEST_BLANK_MS
    context.close()
