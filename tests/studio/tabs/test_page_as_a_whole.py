"""What holds for the page whichever tab is open."""

import pytest

TABS = ["Convert", "History", "Voices", "Create", "Train", "Explore", "Settings"]


def test_it_is_painted_within_two_seconds(new_visitor):
    page = new_visitor()  # whose browser has nothing of the page yet
    page.get_by_role("heading", name="Timbre Studio").wait_for()
    assert page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") < 2000


@pytest.mark.parametrize("tab", TABS)
def test_each_tab_opens(visitor, open_tab, tab):
    open_tab(visitor, tab)
    assert visitor.get_by_role("tab", name=tab, exact=True).get_attribute("aria-selected") == "true"
