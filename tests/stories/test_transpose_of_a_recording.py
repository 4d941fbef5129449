"""The transposition a visitor sets stays with the recording it was set for, and is rendered as it is shown."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.waiting import WORK_MS


@pytest.fixture
def page(visitor) -> Page:
    expect(visitor.get_by_role("radio", name="Kathleen")).to_be_visible(timeout=WORK_MS)
    visitor.get_by_role("radio", name="Kathleen").click()
    return visitor


def auto(page: Page):
    return page.locator("#convert-auto input")


def transpose(page: Page):
    return page.locator("#convert").get_by_role("spinbutton", name="Transpose")


def put_in(page: Page, sample: str) -> None:
    if page.get_by_role("button", name="Replace vocal").is_visible():
        page.get_by_role("button", name="Replace vocal").click()
    page.get_by_role("button", name=sample, exact=True).click()
    expect(page.locator("#convert-facts")).to_contain_text(f"{sample.lower()}.flac", timeout=WORK_MS)
    taken = "timbre-instrument:not([data-welcome], [data-away]) .play"
    expect(page.locator(taken)).to_be_visible(timeout=WORK_MS)
    expect(page.locator("timbre-fit p")).to_contain_text(re.compile("notes (fit|are)"))


def test_transpose_stays_until_the_recording_changes(page, new_visitor, studio_page):
    put_in(page, "Singing")
    transpose(page).fill("3")
    expect(auto(page)).not_to_be_checked()

    page.get_by_role("radio", name="Kerstin").click()  # another voice: kept on purpose
    expect(page.locator("timbre-fit p")).to_contain_text("Up 3 semitones. You set this for Kathleen.")
    expect(transpose(page)).to_have_value("3")

    page.get_by_role("button", name="Batch").click()
    expect(auto(page)).to_be_checked()
    page.get_by_role("button", name="One recording").click()
    expect(auto(page)).not_to_be_checked()
    expect(transpose(page)).to_have_value("3")

    other = page.context.new_page()  # another window of the same browser, with another recording
    other.goto(studio_page.base_url)
    expect(other.locator("#convert-facts")).to_contain_text("singing.flac", timeout=WORK_MS)
    expect(transpose(other)).to_have_value("3")
    put_in(other, "Speech")
    expect(auto(other)).to_be_checked()
    page.locator("#convert").get_by_role("slider", name="Takes").fill("2")  # remembers the settings here again
    page.wait_for_timeout(500)
    other.reload()
    expect(other.locator("#convert-facts")).to_contain_text("speech.flac", timeout=WORK_MS)
    expect(auto(other)).to_be_checked()

    put_in(page, "Speech")
    expect(auto(page)).to_be_checked()
    expect(page.locator("timbre-fit p")).to_contain_text("Auto: ")


def test_transpose_survives_reloads_during_a_conversion(page):
    put_in(page, "Singing")
    for semitones, pause_ms in ((3, 300), (5, 700), (-4, 1500)):
        transpose(page).fill(str(semitones))
        page.get_by_role("button", name="Convert", exact=True).click()
        page.wait_for_timeout(pause_ms)
        page.reload()
        expect(page.locator("#convert-facts")).to_contain_text("singing.flac", timeout=WORK_MS)
        expect(page.locator("timbre-fit p")).to_contain_text("Down 4" if semitones < 0 else f"Up {semitones}")
        page.wait_for_timeout(1000)  # until all that comes back has come
        expect(auto(page)).not_to_be_checked()
        expect(transpose(page)).to_have_value(str(semitones))


def test_transpose_converts_by_a_fractional_value_as_shown(page):
    put_in(page, "Singing")
    transpose(page).fill("3.5")
    expect(page.locator("timbre-fit p")).to_contain_text("Up 3.5 semitones")
    page.get_by_role("button", name="Convert", exact=True).click()
    expect(page.locator("#convert-title")).to_contain_text("Up 3.5 semitones", timeout=WORK_MS)
    lane = page.locator("#convert-instrument .track").nth(1)
    kept = re.search(r"(\d+) % of the melody", lane.get_attribute("title") or "")
    assert kept is not None
    assert int(kept[1]) > 85  # measured against 3.5
