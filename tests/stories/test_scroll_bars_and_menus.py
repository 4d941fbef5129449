"""What Windows and Linux show and other systems hide: scroll bars; and menus that are as wide as what is in them."""

import pytest
from playwright.sync_api import expect

from tests.waiting import WORK_MS

TABS = ("Convert", "Live", "Voices", "Create", "Train", "History", "Explore", "Settings")
SIDEWAYS = """() => [...document.querySelectorAll("body *")].filter((one) => one.checkVisibility() && one.clientWidth
  && one.scrollWidth > one.clientWidth && ["auto", "scroll"].includes(getComputedStyle(one).overflowX)
  && !one.matches(".cards, .view")).map((one) => `${one.tagName}#${one.id} ${one.scrollWidth} > ${one.clientWidth}`)"""
OUTSIDE = """(menu) => {
  const box = menu.getBoundingClientRect(), ends = (one) => [one.left, one.right, one.top, one.bottom];
  const entries = [...menu.querySelectorAll("a, button")], inner = entries.map((one) => one.getBoundingClientRect());
  const isOut = (one) => one.left < box.left || one.right > box.right || one.top < box.top || one.bottom > box.bottom;
  return inner.filter((one, place) => isOut(one) || entries[place].scrollWidth > entries[place].clientWidth)
    .concat([box].filter((one) => one.left < 0 || one.right > innerWidth || one.top < 0)).map(ends);
}"""


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_on_any_tab_has_a_bar_below_it(new_visitor, open_tab, width):
    page = new_visitor(viewport={"width": width, "height": 720})
    for tab in TABS if width == 1280 else ():
        open_tab(page, tab)
        page.wait_for_timeout(500)
        assert page.evaluate(SIDEWAYS) == [], tab
    if width == 390:
        assert page.evaluate(SIDEWAYS) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bars_and_fields_of_the_browser_have_the_colours_of_the_page(new_visitor, scheme):
    page = new_visitor(color_scheme=scheme)
    assert page.evaluate("getComputedStyle(document.body).colorScheme") == scheme
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == scheme
    for column in ("#convert-inspector", "#convert-middle"):
        assert page.locator(column).evaluate("(one) => getComputedStyle(one).scrollbarColor") != "auto"


def test_the_menu_of_formats_is_as_wide_as_what_is_in_it(new_visitor):
    page = new_visitor(viewport={"width": 1280, "height": 720})
    page.get_by_role("button", name="Singing", exact=True).click()
    expect(page.locator("#convert-facts")).to_contain_text("singing.flac", timeout=WORK_MS)
    page.get_by_role("button", name="Convert", exact=True).click()
    expect(page.locator("#convert-instrument .track")).to_have_count(2, timeout=WORK_MS)
    page.locator("timbre-instrument .formats summary").click()
    menu = page.locator("timbre-instrument .formats .choices")
    expect(menu).to_be_visible()
    assert menu.evaluate(OUTSIDE) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert menu.evaluate(OUTSIDE) == []


def test_earlier_results_leave_the_pills_of_the_picture_free(new_visitor):
    page = new_visitor(viewport={"width": 1280, "height": 720})
    page.get_by_role("button", name="Singing", exact=True).click()
    expect(page.locator("#convert-facts")).to_contain_text("singing.flac", timeout=WORK_MS)
    page.get_by_role("button", name="Convert", exact=True).click()
    expect(page.locator("#convert-instrument .track")).to_have_count(2, timeout=WORK_MS)
    page.get_by_role("button", name="Convert with Kerstin").click()
    expect(page.locator("#convert-earlier")).to_be_visible(timeout=WORK_MS)
    start, end = page.evaluate("""[document.querySelector("#convert-earlier").getBoundingClientRect().left,
      document.querySelector("timbre-instrument .display > summary").getBoundingClientRect().right]""")
    assert end <= start
    arrow, text = page.evaluate("""[document.querySelector("#convert-earlier svg").getBoundingClientRect().left,
      ((one) => one.getBoundingClientRect().right - parseFloat(getComputedStyle(one).paddingRight))(
        document.querySelector("#convert-earlier input"))]""")
    assert text <= arrow
