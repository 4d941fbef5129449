"""What holds for the page whichever tab is open."""

import pytest

TABS = ["Convert", "History", "Voices", "Create", "Train", "Explore", "Settings"]


PAINTED_MS = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


@pytest.mark.slow  # it says something only where nothing else is going on
def test_it_is_painted_within_two_seconds(new_visitor):
    took_ms = []
    for _ in range(3):
        page = new_visitor()  # whose browser has nothing of the page yet
        page.get_by_role("heading", name="Timbre Studio").wait_for()
        took_ms.append(page.evaluate(PAINTED_MS))
    assert min(took_ms) < 2000


def test_each_tab_opens(visitor, open_tab):
    for name in TABS:
        open_tab(visitor, name)
        assert visitor.get_by_role("tab", name=name, exact=True).get_attribute("aria-selected") == "true"


COUNTED = """
const asked = window.requestAnimationFrame.bind(window);
window.framesAsked = 0;
window.requestAnimationFrame = (callback) => { window.framesAsked += 1; return asked(callback); };
"""


def test_a_page_on_which_nothing_happens_draws_nothing(visitor, open_tab):
    visitor.add_init_script(COUNTED)
    visitor.reload()
    open_tab(visitor, "Train")
    visitor.wait_for_timeout(4000)  # until what came in is drawn
    before = visitor.evaluate("window.framesAsked")
    assert before > 0
    visitor.wait_for_timeout(1000)
    assert visitor.evaluate("window.framesAsked") == before
