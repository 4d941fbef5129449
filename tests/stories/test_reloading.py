"""Reloading the page: what was put away stays away, and every result stays with its recording."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.waiting import WORK_MS

SAMPLES = Path(__file__).parents[2] / "engine" / "samples"
SPEECH, SINGING = SAMPLES / "speech.flac", SAMPLES / "singing.flac"
BLOCKED = """Object.defineProperty(window, "localStorage", {
  configurable: true, get() { throw new DOMException("Access is denied for this document.", "SecurityError"); },
});"""
SETTLED_MS = 1500  # after everything was restored: whatever would still change does so within a few polls


@pytest.fixture
def page(visitor) -> Page:
    expect(visitor.get_by_role("radio", name="Kathleen").first).to_be_visible(timeout=WORK_MS)
    return visitor


def put_in(page: Page, file: Path) -> None:
    page.locator("#convert-drop input[type=file]").first.set_input_files(file)
    expect(page.locator("#convert-facts")).to_contain_text(file.name, timeout=WORK_MS)


def put_away(page: Page) -> None:
    page.get_by_role("button", name="Replace vocal").click()
    expect(page.locator("#convert-drop input[type=file]").first).to_be_attached()
    expect(page.locator("#convert-facts")).to_be_hidden()


def convert(page: Page, name: str) -> None:
    page.locator("#convert-start").click()
    expect(page.locator("#convert-title h2")).to_contain_text(name, timeout=WORK_MS)


def edit_pitch(page: Page) -> None:
    page.get_by_role("button", name="Edit pitch").click()
    editor = page.locator("timbre-pitch-editor")
    editor.get_by_role("button", name="All", exact=True).click()
    editor.locator(".pitch-more summary").click()
    editor.get_by_label("From (seconds)").fill("1.0")
    editor.get_by_label("to (seconds)").fill("2.0")
    editor.get_by_label("to (seconds)").press("Tab")
    editor.locator(".pitch-bubble").get_by_role("button", name="+", exact=True).click()
    expect(page.locator("#pitch-editor-progress")).to_be_visible()  # it is rendered by itself


def test_an_edited_take_stays_with_its_recording_after_reloads(page):
    put_in(page, SPEECH)
    convert(page, "speech.flac")
    edit_pitch(page)
    expect(page.locator("#convert-title")).to_contain_text("edited", timeout=WORK_MS)
    put_away(page)
    put_in(page, SINGING)
    convert(page, "singing.flac")
    page.reload()
    expect(page.locator("#convert-title h2")).to_contain_text("singing.flac", timeout=WORK_MS)
    page.wait_for_timeout(SETTLED_MS)
    expect(page.locator("#convert-title h2")).to_contain_text("singing.flac")
    expect(page.locator("#convert-instrument .track")).to_have_count(2)
    expect(page.locator("#convert-facts")).to_contain_text("singing.flac")


def test_an_edit_rendered_while_another_recording_is_there_stays_with_its_own(page):
    put_in(page, SPEECH)
    convert(page, "speech.flac")
    edit_pitch(page)
    put_away(page)
    put_in(page, SINGING)
    done = re.compile("edited · speech.flac .* is done")
    expect(page.locator("#convert-ended")).to_contain_text(done, timeout=WORK_MS)
    convert(page, "singing.flac")
    for _ in range(2):
        expect(page.locator("#convert-title h2")).to_contain_text("singing.flac", timeout=WORK_MS)
        expect(page.locator("#convert-instrument .track")).to_have_count(2)
        page.reload()


def test_a_recording_that_was_put_away_stays_away_after_a_reload(page):
    put_in(page, SPEECH)
    convert(page, "speech.flac")
    put_away(page)
    page.reload()
    expect(page.locator("#convert-earlier")).to_be_visible(timeout=WORK_MS)
    page.wait_for_timeout(SETTLED_MS)
    expect(page.locator("#convert-facts")).to_be_hidden()
    expect(page.locator("#convert-instrument .track")).to_have_count(0)


def test_a_browser_that_may_not_store_anything_converts_too(visitor):
    visitor.add_init_script(BLOCKED)  # as in a frame of another site
    visitor.reload()
    put_in(visitor, SPEECH)
    convert(visitor, "speech.flac")
