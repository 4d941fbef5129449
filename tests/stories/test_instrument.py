"""The Convert tab as an instrument: lanes on one timeline, the editor as a mode, and everything in reach."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.waiting import WORK_MS

SMALL, LARGE = {"width": 1280, "height": 720}, {"width": 1920, "height": 1080}
PHONE = {"width": 390, "height": 844}
SPEECH = Path("engine/samples/speech.flac")
MAIN = ("#convert-start", "#convert-transpose input[type=number]", "#convert-takes input[type=number]")
ROLL = "document.querySelector('#convert-instrument timbre-roll')"


def ready(page: Page) -> Page:
    expect(page.get_by_role("radio", name="Kathleen").first).to_be_visible(timeout=WORK_MS)
    return page


def put_in(page: Page) -> None:
    page.locator("#convert-drop input[type=file]").first.set_input_files(SPEECH)
    taken = "timbre-instrument:not([data-welcome], [data-away]) .play"
    expect(page.locator(taken)).to_be_visible(timeout=WORK_MS)


def convert(page: Page) -> None:
    page.locator("#convert-start").click()
    expect(page.locator("#convert-instrument .track")).to_have_count(2, timeout=WORK_MS)


def evaluate(page: Page, expression: str):
    return page.evaluate(f"document.querySelector('timbre-instrument').{expression}")


def scrolled(page: Page) -> float:
    return page.evaluate("scrollY")


@pytest.mark.parametrize("size", [SMALL, LARGE, PHONE])
def test_convert_tab_needs_no_scrolling_on_any_screen_size(new_visitor, size):
    page = ready(new_visitor(viewport=size, has_touch=size is PHONE))
    for control in MAIN:
        expect(page.locator(control).first).to_be_in_viewport(ratio=1)
    expect(page.locator("#convert .opening")).to_be_in_viewport(ratio=1)
    put_in(page)
    convert(page)  # one action
    expect(page.locator("#convert-instrument .play:not([data-welcome] *)")).to_be_in_viewport(ratio=1)
    for lane in page.locator("#convert-instrument .track").all():
        expect(lane).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Convert with Kerstin").click()  # one action, wherever it is
    expect(page.locator("#convert-instrument .track")).to_have_count(3, timeout=WORK_MS)
    page.mouse.wheel(0, 4000)
    page.wait_for_timeout(300)
    for control in MAIN:
        expect(page.locator(control).first).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_first_screen_plays_a_sample_in_two_voices_until_there_is_a_recording(new_visitor):
    page = ready(new_visitor(viewport=SMALL))
    lanes = page.locator("#convert-instrument .track")
    expect(lanes).to_have_count(3)
    page.evaluate("document.activeElement.blur()")  # of the tab that the test pressed
    page.keyboard.press("Space")
    page.wait_for_function("document.querySelector('timbre-instrument').seconds > 0.3")
    page.keyboard.press("1")
    expect(lanes.nth(1)).to_have_attribute("aria-checked", "true")
    page.keyboard.press("Space")
    put_in(page)
    expect(lanes).to_have_count(0)
    page.get_by_role("button", name="Replace vocal").click()
    expect(page.locator("timbre-instrument[data-away]")).to_be_visible()  # its picture, until another takes its place


def test_lanes_share_the_timeline_and_switch_at_the_same_position(new_visitor):
    page = ready(new_visitor(viewport=SMALL))
    put_in(page)
    start = page.locator("#convert-instrument").get_by_role("slider", name="Start")
    start.focus()
    for _ in range(10):
        start.press("ArrowRight")
    expect(page.locator("#convert-instrument .kept")).to_contain_text("Only 1.0 s to")
    whole = evaluate(page, "duration")
    convert(page)
    page.wait_for_function(
        f"Math.abs(document.querySelector('timbre-instrument').duration - {whole}) < 0.05"
    )  # it is read
    assert evaluate(page, "stretch") == {"start": pytest.approx(1.0, abs=0.02), "stop": pytest.approx(whole, abs=0.05)}
    offsets = evaluate(page, "data.tracks.map((one) => one.offset_s ?? 0)")
    assert offsets == [0, pytest.approx(1.0, abs=0.01)]

    page.evaluate("document.querySelector('timbre-instrument').seek(2.5)")
    lanes = page.locator("#convert-instrument .track")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("b")  # wherever one is
    expect(lanes.nth(0)).to_have_attribute("aria-checked", "true")
    assert evaluate(page, "seconds") == 2.5
    page.get_by_role("button", name="A/B").click()
    expect(lanes.nth(1)).to_have_attribute("aria-checked", "true")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press(" ")
    page.wait_for_function("document.querySelector('timbre-instrument').seconds > 2.8")
    page.keyboard.press("0")
    page.wait_for_timeout(300)
    assert evaluate(page, "isPlaying")
    assert 2.8 < evaluate(page, "seconds") < 5
    page.keyboard.press(" ")

    plot = page.evaluate(f"[{ROLL}.plot.start, {ROLL}.plot.end]")
    page.get_by_role("button", name="Zoom in").click()
    start_s, end_s = page.evaluate(f"[{ROLL}.plot.start, {ROLL}.plot.end]")
    assert end_s - start_s < 0.7 * (plot[1] - plot[0])
    page.get_by_role("button", name="Spectrogram").click()
    assert page.evaluate(f"{ROLL}.data.layers") == ["pitch", "spectrogram"]


def test_pitch_editor_opens_and_closes_inside_the_instrument(new_visitor):
    page = ready(new_visitor(viewport=SMALL))
    put_in(page)
    edit = page.get_by_role("button", name="Edit pitch")
    expect(edit).to_be_disabled()  # there is no take
    convert(page)
    edit.click()
    editor = page.locator("timbre-pitch-editor")
    expect(editor.get_by_role("button", name="Revert")).to_be_in_viewport(ratio=1, timeout=WORK_MS)
    expect(edit).to_have_attribute("aria-pressed", "true")
    expect(editor.locator(".roll-stage")).to_be_in_viewport(ratio=1)
    assert scrolled(page) == 0
    expect(page.locator("#convert timbre-roll")).to_have_count(1)
    page.keyboard.press("0")
    expect(page.locator("#convert-instrument .track").first).to_have_attribute("aria-checked", "true")
    expect(editor.get_by_role("button", name="Revert")).to_be_visible()  # it stays with its take
    edit.click()
    expect(editor).to_be_hidden()
    expect(page.locator("#convert-instrument .roll-stage")).to_be_in_viewport(ratio=1)


def test_scores_and_comping_are_visible_only_for_one_recording(new_visitor):
    page = ready(new_visitor(viewport=SMALL))
    put_in(page)
    convert(page)
    folds = [page.get_by_role("button", name="Scores"), page.locator("#convert-comp")]
    for mode in ("Batch", "One recording"):
        page.get_by_role("button", name=mode, exact=True).click()
        for fold in folds:
            expect(fold).to_be_visible(visible=mode == "One recording")


def test_help_toggles_by_button_and_question_mark_key(new_visitor, open_tab):
    page = ready(new_visitor(viewport=SMALL))
    texts = page.locator(".info-text:visible")
    expect(texts).to_have_count(0)
    button = page.get_by_role("button", name="Help")
    expect(button).to_have_attribute("aria-expanded", "false")
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_text("Semitones up or down")).to_be_in_viewport(ratio=1)
    open_tab(page, "Train")
    page.keyboard.press("?")
    expect(button).to_have_attribute("aria-expanded", "false")
    open_tab(page, "Convert")
    expect(texts).to_have_count(0)
