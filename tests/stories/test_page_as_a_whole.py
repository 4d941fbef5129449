"""Properties of the page that hold on every tab."""

import pytest
from playwright.sync_api import expect

from studio.page.tabs import TABS

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


SETTLED_MS = 1500  # a page that is left while it asks for its parts complains of that
PAINTED_MS = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


@pytest.mark.slow  # it says something only where nothing else is going on
def test_page_is_painted_within_two_seconds(new_visitor):
    took_ms = []
    for _ in range(3):
        page = new_visitor()  # whose browser has nothing of the page yet
        page.get_by_role("heading", name="Timbre Studio").wait_for()
        took_ms.append(page.evaluate(PAINTED_MS))
    assert min(took_ms) < 2000


def test_page_opens_each_tab(visitor, open_tab):
    for name in TABS:
        open_tab(visitor, name)
        assert visitor.get_by_role("tab", name=name, exact=True).get_attribute("aria-selected") == "true"


COUNTED = """
const asked = window.requestAnimationFrame.bind(window);
window.framesAsked = 0;
window.requestAnimationFrame = (callback) => { window.framesAsked += 1; return asked(callback); };
"""


def test_page_requests_no_frames_while_idle(visitor, open_tab):
    visitor.add_init_script(COUNTED)
    visitor.reload()
    open_tab(visitor, "Train")
    visitor.wait_for_timeout(4000)  # until what came in is drawn
    before = visitor.evaluate("window.framesAsked")
    assert before > 0
    visitor.wait_for_timeout(1000)
    assert visitor.evaluate("window.framesAsked") == before


def tab(page, name):
    return page.get_by_role("tab", name=name, exact=True)


def is_seen(page, name):
    expect(tab(page, name)).to_have_attribute("aria-selected", "true")


def test_page_follows_browser_back_and_forward_through_the_tabs(visitor, open_tab, studio_page):
    assert visitor.url == f"{studio_page.base_url}/"
    for name in ("Voices", "Explore"):
        open_tab(visitor, name)
        expect(visitor).to_have_url(f"{studio_page.base_url}/#{name.lower()}")
    visitor.go_back()
    is_seen(visitor, "Voices")
    visitor.go_back()
    is_seen(visitor, "Convert")
    visitor.go_forward()
    is_seen(visitor, "Voices")
    expect(visitor.locator("#voices-cards").get_by_role("radio", name="Kathleen")).to_be_visible()

    open_tab(visitor, "History")  # Forward to Explore is given up
    visitor.evaluate("history.back(); setTimeout(() => history.back(), 20)")  # quicker than the page can follow
    is_seen(visitor, "Convert")
    expect(visitor).to_have_url(f"{studio_page.base_url}/")
    visitor.go_forward()
    visitor.go_forward()
    is_seen(visitor, "History")


@pytest.mark.parametrize("viewport", [WIDE, PHONE])
def test_page_opens_the_tab_of_a_link_and_after_a_reload(new_visitor, studio_page, viewport):
    visitor = new_visitor(viewport=viewport)
    visitor.evaluate("location.hash = 'voices'")
    kathleen = visitor.locator("#voices-cards").get_by_role("radio", name="Kathleen")
    expect(kathleen).to_be_visible()
    visitor.wait_for_timeout(SETTLED_MS)
    visitor.reload()
    is_seen(visitor, "Voices")
    expect(kathleen).to_be_visible()

    visitor.evaluate("location.hash = 'there-is-no-such-tab'")
    is_seen(visitor, "Voices")
    tab(visitor, "Convert").click()
    is_seen(visitor, "Convert")
    expect(visitor).to_have_url(f"{studio_page.base_url}/#convert")
