"""<timbre-comp> by itself."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browsers import blank_page

HEAD = '<script type="module" src="/page-files/comp.js"></script>'
SHOW = """async (data) => {
  await customElements.whenDefined("timbre-comp");
  window.comp ??= document.body.appendChild(document.createElement("timbre-comp"));
  comp.data = data;
}"""


@pytest.fixture(scope="module")
def blank(browser) -> Iterator[Page]:
    with blank_page(browser, HEAD) as page:
        yield page


def take(task: str, number: int) -> dict[str, Any]:
    return {"task": task, "take": number, "title": f"Take {number}", "created_at": 0, "name": "", "starred": False}


def data(takes: int, starts_s: list[float], **more: Any) -> dict[str, Any]:
    of = {"task": "a", "starts_s": starts_s, "takes": [take("a", number + 1) for number in range(takes)]}
    return of | {"choice": None, "follows": "instrument", "offset_s": 0.0} | more


@pytest.mark.parametrize(
    ("takes", "starts_s", "said"),
    [
        (1, [0.0, 2.0], "Make another take to comp, phrase by phrase."),
        (4, [0.0], "This recording is one phrase, so there is nothing to comp: star the take you like best."),
        (2, [0.0, 2.0], "Choose the best take of each phrase."),
    ],
)
def test_comp_says_what_it_needs(blank, takes, starts_s, said):
    blank.evaluate(SHOW, data(takes, starts_s))
    assert blank.locator(".hint").inner_text() == said


def test_comp_that_is_shown_is_not_built_again(blank):
    choice = [{"task": "a", "take": 1}, {"task": "a", "take": 2}]
    blank.evaluate(SHOW, data(2, [0.0, 2.0], task="b", choice=choice))
    build = blank.get_by_role("button", name="Build comp")
    expect(build).to_be_disabled()
    for cell in (blank.locator(".cell").nth(2), blank.locator(".cell").nth(1)):  # phrase 1 of take 2, 2 of take 1
        cell.click()
    expect(build).to_be_enabled()
