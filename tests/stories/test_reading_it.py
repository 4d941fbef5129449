"""Accessibility on every tab of a page in use: what axe looks at, text that is cut, a phone's width."""

import pytest
from playwright.sync_api import Page, expect

from studio.page.tabs import TABS
from tests.stories.test_accessibility import look
from tests.waiting import WORK_MS

FOLDS = {
    "Convert": ["More settings", "Fine-tune", "Song", "Edit pitch"],
    "Voices": ["Blend voices"],
    "Create": ["More about the voice (optional)"],
    "Train": ["More settings"],
    "Settings": ["Create token"],
}
# what hides a part of its own text, without saying so
CUT = """
() => [...document.querySelectorAll("#tabs *")].filter((one) => {
  const look = getComputedStyle(one);
  if (!one.clientHeight || !one.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return false;
  if (!["hidden", "clip"].includes(look.overflowY) || look.clipPath !== "none" || look.webkitLineClamp !== "none") return false;
  if (one.matches(".uses, .track .note")) return false; // leave whole rows out, and have them all in a title
  if (one.matches(".visually-hidden, .sr-only, select, textarea") || one.closest("#create-files")) return false; // gradio's button
  return one.scrollHeight > one.clientHeight + 2 && (one.innerText?.trim() || one.querySelector("input, button"));
}).map((one) => `${one.scrollHeight} in ${one.clientHeight}: ${one.outerHTML.slice(0, 160)}`)
"""  # noqa: E501


@pytest.fixture
def used(visitor, open_tab) -> Page:
    """The page of somebody who has converted a sample, and had another looked at."""
    visitor.get_by_role("button", name="Speech", exact=True).click()
    expect(visitor.locator("#convert-instrument .play:not([data-welcome] *)")).to_be_visible(timeout=WORK_MS)
    visitor.get_by_role("button", name="Convert", exact=True).click()
    expect(visitor.locator("#convert-title h2")).to_be_visible(timeout=WORK_MS)
    open_tab(visitor, "Explore")
    visitor.locator("[role=tabpanel]:visible").first.get_by_text("Speech", exact=True).click()
    expect(visitor.locator("#explore-facts")).to_contain_text("speech.flac", timeout=WORK_MS)
    for tab, names in FOLDS.items():
        open_tab(visitor, tab)
        for name in names:
            visitor.get_by_role("button", name=name).click()
    open_tab(visitor, "History")
    visitor.locator("timbre-tasks .task-head").first.click()
    return visitor


def test_axe_finds_nothing_on_any_tab_in_use_which_fits_a_phone(used, open_tab):
    for tab in TABS:
        open_tab(used, tab)
        assert look(used) == [], tab
        used.evaluate("document.body.classList.remove('dark')")
        assert used.evaluate(CUT) == [], tab
        for width in (390, 320):
            used.set_viewport_size({"width": width, "height": 844})
            used.wait_for_timeout(300)
            assert used.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), (tab, width)
            assert used.evaluate(CUT) == [], (tab, width)
        used.set_viewport_size({"width": 1280, "height": 900})
