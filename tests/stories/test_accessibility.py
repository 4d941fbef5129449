"""The page by keyboard, under a finger and for screen readers."""

from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Page, expect

import engine
from studio.page.tabs import TABS
from tests.waiting import WORK_MS

SAMPLES = Path(engine.__path__[0]) / "samples"
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
WIDE, PHONE = {"width": 1280, "height": 720}, {"width": 390, "height": 844}
FOUND = """async () => {
  const rules = { "label-content-name-mismatch": { enabled: true } };
  const found = await axe.run(document, { rules, preload: false, resultTypes: ["violations"] });
  return found.violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 200)}`));
}"""
FADED_IN = """() => document.getAnimations().every(({ playState, effect }) =>
  playState !== "running" || effect.getComputedTiming().iterations === Infinity)"""
FOCUSED = "document.activeElement.id || document.activeElement.textContent.trim()"
SMALL = """() => [...document.querySelectorAll("#tabs :is(button, select, [role=slider])")]
  .filter((one) => one.offsetParent && getComputedStyle(one).visibility === "visible" && !one.closest(".wave"))
  .map((one) => [one.outerHTML.slice(0, 120), one.getBoundingClientRect()])
  .filter(([, { width, height }]) => width && (width < 43.5 || height < 43.5)).map(([html]) => html)"""


def look(page: Page) -> list[str]:
    """What axe finds, in either theme."""
    page.wait_for_timeout(1500)  # until what was asked for is there and begins to fade in
    page.evaluate(AXE)
    found = []
    for theme in ("light", "dark"):
        page.evaluate("is_dark => document.body.classList.toggle('dark', is_dark)", theme == "dark")
        page.wait_for_timeout(300)  # until colours begin to fade
        page.wait_for_function(FADED_IN)
        found += [f"{theme}: {one}" for one in page.evaluate(FOUND)]
    return found


def ready(page: Page) -> Page:
    expect(page.get_by_role("radio", name="Kathleen").first).to_be_visible(timeout=WORK_MS)
    page.locator(".skip").wait_for(state="attached")
    page.evaluate("document.body.tabIndex = -1; document.body.focus()")  # from the beginning, as after loading
    return page


def convert_a_sample(page: Page) -> None:
    page.get_by_role("button", name="Speech", exact=True).click()
    expect(page.locator("#convert-instrument .play:not([data-welcome] *)")).to_be_visible(timeout=WORK_MS)
    page.get_by_role("button", name="Convert", exact=True).click()
    expect(page.locator("#convert-title h2")).to_be_visible(timeout=WORK_MS)


def test_axe_finds_nothing_on_any_tab(new_visitor, open_tab):
    page = ready(new_visitor(viewport=WIDE))
    found = {}
    for name in TABS:
        open_tab(page, name)
        if name == "Settings":  # whose table of tokens is there only with one
            page.get_by_role("button", name="Create token").click()
            expect(page.locator("#tokens tbody tr").first).to_be_visible()
            ended = page.locator("#findings .fact[data-state=good]").first  # the check, which disables its button
            expect(ended).to_be_visible(timeout=WORK_MS)
        found[name] = look(page)
    assert found == {name: [] for name in TABS}


KEYS = """window.keysRead = [];
new MutationObserver((changes) => {
  for (const { target, addedNodes } of changes) for (const one of [target, ...addedNodes])
    if (/^[a-z_]+\\.[a-z_]+$/.test(one.textContent?.trim() ?? "")) window.keysRead.push(one.textContent);
}).observe(document, { subtree: true, childList: true, characterData: true });"""


@pytest.mark.slow
def test_page_never_shows_an_untranslated_key(new_visitor):
    page = new_visitor(viewport=WIDE)
    page.add_init_script(KEYS)
    page.reload()
    convert_a_sample(ready(page))
    assert page.evaluate("window.keysRead") == []


@pytest.mark.slow
def test_axe_finds_nothing_beside_results(new_visitor, open_tab, tmp_path):
    (tmp_path / "broken.wav").write_text("no sound")
    page = ready(new_visitor(viewport=WIDE))
    convert_a_sample(page)
    page.get_by_role("button", name="Scores").click()
    for fold in ("More settings", "Fine-tune", "Song"):
        page.locator("#convert-inspector").get_by_role("button", name=fold).first.click()
    found = {"result": look(page)}
    page.locator("#convert-instrument .edit").click()
    page.locator(".pitch-strip").get_by_role("button", name="All", exact=True).click(timeout=WORK_MS)
    page.locator("timbre-pitch-editor .pitch-more summary").click()
    found["editor"] = look(page)
    page.locator("#convert-instrument .edit").click()
    page.locator("#convert-several").click()
    page.set_input_files("#convert-files input[type=file]", [SAMPLES / "speech.flac", tmp_path / "broken.wav"])
    expect(page.locator("#convert-files").get_by_text("speech")).to_be_visible()
    page.get_by_role("button", name="Convert all").click()
    expect(page.get_by_text("1 of 2 done, 1 failed")).to_be_visible(timeout=WORK_MS)
    found["batch"] = look(page)
    open_tab(page, "History")
    page.locator("#history-tasks .task-head").nth(1).click()
    found["history"] = look(page)
    open_tab(page, "Explore")
    page.locator("[role=tabpanel]:visible").get_by_role("button", name="Speech", exact=True).click()
    expect(page.locator("#explore-facts h3")).to_be_visible(timeout=WORK_MS)
    found["explore"] = look(page)
    assert found == {name: [] for name in found}


@pytest.mark.slow
def test_axe_finds_nothing_while_a_recorder_is_open(new_visitor):
    page = ready(new_visitor(viewport=WIDE))
    page.locator("#convert .opening").click()
    expect(page.get_by_role("button", name="Start recording")).to_be_focused()
    found = look(page)
    page.keyboard.press("Enter")  # which records: space plays, wherever the focus is
    expect(page.locator("timbre-recorder[data-state=recording]")).to_have_count(1)
    page.set_viewport_size(PHONE)
    found += look(page)
    page.locator("#convert .begin").click()
    expect(page.locator("#convert-facts")).to_contain_text("LUFS", timeout=WORK_MS)
    assert found == []


@pytest.mark.slow
def test_axe_finds_nothing_while_live_runs(new_visitor, open_tab):
    page = ready(new_visitor(viewport=WIDE))
    open_tab(page, "Live")
    page.locator("timbre-live summary").click()
    page.get_by_role("button", name="Safe", exact=True).click()
    page.locator("timbre-live .record").click()
    page.locator("timbre-live .start").click()
    expect(page.locator("timbre-live .time")).to_have_text("0:01", timeout=WORK_MS)
    found = look(page)
    page.set_viewport_size(PHONE)
    page.get_by_role("button", name="Adjust").last.click()
    found += look(page)
    page.locator("timbre-live .start").click()
    expect(page.locator("timbre-live .status")).to_contain_text("The recording is in History.", timeout=WORK_MS)
    assert found == []


def test_convert_button_is_in_view_within_fourteen_tab_stops_beside_the_sample_in_the_timeline(new_visitor):
    page = ready(new_visitor(viewport=WIDE))
    expect(page.locator("#convert-instrument .track").first).to_be_visible()  # three of the stops are its own
    expect(page.locator("#convert-start")).to_be_in_viewport(ratio=1)
    stops = 0
    while stops < 15 and page.evaluate(FOCUSED) != "convert-start":
        page.keyboard.press("Tab")
        stops += 1
    assert stops <= 14


def test_arrow_keys_move_between_tabs_and_a_skip_link_passes_them(new_visitor):
    page = ready(new_visitor(viewport=WIDE))
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Tab")
    for name in ("Live", "History", "Voices"):
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name=name, exact=True)).to_be_focused()
        expect(page.get_by_role("tab", name=name, exact=True)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Import")).to_be_focused()


def test_touch_targets_are_large_enough_on_a_phone(new_visitor, open_tab):
    page = ready(new_visitor(viewport=PHONE, has_touch=True))
    page.get_by_role("button", name="Speech", exact=True).click()
    expect(page.locator("#convert-instrument .play:not([data-welcome] *)")).to_be_visible(timeout=WORK_MS)
    assert page.evaluate(SMALL) == []
    open_tab(page, "Live")
    page.get_by_role("button", name="Adjust").last.click()
    page.locator("timbre-live summary").click()
    assert page.evaluate(SMALL) == []
    page.keyboard.press("Escape")
    expect(page.locator("timbre-live .inspector")).to_be_hidden()
    tabs = page.locator("#tabs > .tab-wrapper [role=tab]:visible")
    cut = tabs.evaluate_all(
        "tabs => tabs.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)"
    )
    assert cut == []
