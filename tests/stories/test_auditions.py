"""All voices on one's own vocal, with one press."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.waiting import WORK_MS

SINGING = Path("engine/samples/singing.flac")
WATCH_SCROLLING = """() => {
  Object.assign(window, { scrolledBy: 0, isDrawn: false });
  const look = () => {
    const { scrollHeight, clientHeight } = document.querySelector("#convert-middle");
    window.scrolledBy = Math.max(window.scrolledBy, scrollHeight - clientHeight);
    window.isDrawn ||= document.querySelector("#convert-drawing progress")?.checkVisibility();
    requestAnimationFrame(look);
  };
  look();
}"""
WIDE, LOW = {"width": 1280, "height": 720}, {"width": 1280, "height": 577}
# which card plays, each time that another one does
WATCHED = """() => {
  const cards = document.querySelector("#convert-voices timbre-voices");
  window.heard = [];
  new MutationObserver(() => {
    const now = cards.querySelector(".preview[aria-pressed=true]")?.closest(".card").dataset.id;
    if (now && now !== heard.at(-1)) heard.push(now);
  }).observe(cards, { subtree: true, attributes: true });
}"""


def put_in(page: Page) -> None:
    expect(page.get_by_role("radio", name="Kathleen").first).to_be_visible(timeout=WORK_MS)
    expect(page.locator(".audition")).to_be_hidden()
    page.locator("#convert-drop input[type=file]").first.set_input_files(SINGING)
    expect(page.locator(".audition")).to_be_visible(timeout=WORK_MS)


def test_one_press_plays_the_recording_in_each_voice_and_leaves_nothing_in_the_history(new_visitor, open_tab):
    page = new_visitor(viewport=WIDE)
    put_in(page)
    page.evaluate(WATCHED)
    page.locator(".audition").click()
    expect(page.locator(".audition")).to_have_text("Stop")
    expect(page.locator(".audition")).to_have_text("Hear all on my vocal", timeout=WORK_MS)
    heard = page.evaluate("heard")
    voices = page.locator("#convert-voices .card").evaluate_all("(cards) => cards.map((card) => card.dataset.id)")
    assert sorted(heard) == sorted(voices)
    expect(page.locator("#convert-problem p")).to_have_count(0)
    open_tab(page, "History")
    expect(page.locator("timbre-tasks:visible").first).not_to_be_empty()
    expect(page.locator("timbre-tasks:visible").get_by_text("singing.wav")).to_have_count(0)  # as stretches are called


def test_notes_have_the_room_of_the_window(new_visitor):
    page = new_visitor(viewport=WIDE)
    put_in(page)
    page.evaluate(WATCH_SCROLLING)
    page.locator("#convert-start").click()
    expect(page.locator("#convert-instrument .track")).to_have_count(2, timeout=WORK_MS)
    page.wait_for_function("isDrawn", timeout=WORK_MS)
    expect(page.locator("#convert-drawing")).to_be_hidden(timeout=WORK_MS)
    assert page.evaluate("scrolledBy") <= 1  # a bar would take of the width, and all would jump
    width, height = page.evaluate(
        "(({ width, height }) => [width, height])(document.querySelector('timbre-roll').plot.box)"
    )
    assert width >= 590 + 150  # as it was before, and as much more
    assert height >= 349 + 110
    tops = page.evaluate(
        "['#convert-after', '.view'].map((one) => document.querySelector(one).getBoundingClientRect())"
        ".map(({ top, height }) => [top, height])"
    )
    assert tops[0] == tops[1]
    assert tops[0][1] == 32
