"""While another recording or voice takes the place of one, nothing is lost from sight, and nothing old is left."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Page, expect

from tests.stories.test_dropping_files import ANYWHERE, DROP, SINGING, SPEECH, drop, is_converted
from tests.waiting import WORK_MS

WATCH = """() => {
  window.gone = [];
  const look = () => {
    for (const place of ["timbre-instrument .roll-stage", "timbre-instrument .transport .play"]) {
      if (!document.querySelector(place)?.checkVisibility()) window.gone.push(place);
    }
    requestAnimationFrame(look);
  };
  look();
}"""
# what can be pressed or read above the picture and below it, and lies over something else of it
OVER = """() => {
  const places = "#convert-top button, #convert-top .uploading, #convert-top .file-name, #convert-drop > label, " +
    "#convert-after button, #convert-after .samples-title, #convert-after input, timbre-instrument button.tool";
  const seen = [...document.querySelectorAll(places)].filter((one) => one.checkVisibility() && getComputedStyle(one).clipPath === "none");
  const over = (one, other) => {
    const a = one.getBoundingClientRect(), b = other.getBoundingClientRect();
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    return wide > 1 && tall > 1 && !one.contains(other) && !other.contains(one);
  };
  const named = (one) => one.innerText || one.getAttribute("aria-label") || one.className;
  return seen.flatMap((one, at) => seen.slice(at + 1).filter((other) => over(one, other)).map((other) => `${named(one)} | ${named(other)}`));
}"""  # noqa: E501
CHOSEN = "document.querySelector('#convert-voices timbre-voices').data.chosen"


def drop_over(page: Page, file: Path) -> None:
    """Drop a file where there is a recording already."""
    page.evaluate(DROP, [ANYWHERE, [[file.name, list(file.read_bytes())]]])


def converted(page: Page) -> None:
    page.get_by_role("button", name="Convert", exact=True).click()
    expect(page.locator("#convert-instrument .track")).to_have_count(2, timeout=WORK_MS)


def test_the_picture_and_the_transport_stay_while_another_recording_is_read_and_after_a_reload(visitor):
    expect(visitor.locator("timbre-instrument .transport .play")).to_be_visible()
    visitor.evaluate(WATCH)
    for place, file in enumerate((SPEECH, SINGING)):
        drop_over(visitor, file) if place else drop(visitor, ANYWHERE, [file])
        is_converted(visitor, file.name)
        drawn = visitor.locator("timbre-instrument:not([data-away]):not([data-welcome])")
        expect(drawn).to_be_visible(timeout=WORK_MS)
    assert visitor.evaluate("window.gone") == []
    visitor.reload()
    visitor.wait_for_function("document.querySelector('timbre-instrument')?.data?.tracks.length > 0", polling=20)
    expect(visitor.locator("timbre-instrument .roll-stage")).to_be_visible()
    is_converted(visitor, "singing.flac")
    expect(visitor.locator("timbre-instrument[data-away]")).to_have_count(0)


def test_what_was_said_of_a_recording_goes_with_it(visitor, tmp_path):
    silence = tmp_path / "silence.wav"
    soundfile.write(silence, np.zeros(32_000), 16_000)
    drop(visitor, ANYWHERE, [silence])
    is_converted(visitor, "silence.wav")
    visitor.get_by_role("button", name="Convert", exact=True).click()
    said = visitor.locator("#convert-said [role=alert]:visible")
    expect(said).to_contain_text("silent", timeout=WORK_MS)
    drop_over(visitor, SPEECH)
    is_converted(visitor, "speech.flac")
    expect(said).to_have_count(0)
    expect(visitor.locator("#convert-earlier input:visible")).not_to_have_value("")  # a list that says what it is


def test_plus_on_a_card_chooses_its_voice_too(visitor):
    visitor.get_by_role("button", name="Speech", exact=True).first.click()
    is_converted(visitor, "speech.flac")
    converted(visitor)
    visitor.locator("#convert-voices .card[data-id=koguchi] .again").click()
    expect(visitor.locator("#convert-instrument .track")).to_have_count(3, timeout=WORK_MS)
    assert visitor.evaluate(CHOSEN) == "koguchi"
    expect(visitor.locator("#convert-title h2")).to_contain_text("by Koguchi")
    visitor.wait_for_function("document.querySelector('timbre-fit').data.voice.name === 'Koguchi'")


def lies_over_nothing(page: Page) -> None:
    page.wait_for_timeout(500)  # until all is where it stays
    assert page.evaluate(OVER) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_lies_over_anything_while_a_vocal_is_on_its_way_or_put_away(visitor, width):
    visitor.set_viewport_size({"width": width, "height": 844})
    line = visitor.context.new_cdp_session(visitor)
    line.send("Network.enable")
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 40_000}
    line.send("Network.emulateNetworkConditions", slow)
    visitor.locator("#convert-drop input[type=file]").first.set_input_files(SINGING)
    expect(visitor.locator("#convert-drop .uploading")).to_be_visible()
    lies_over_nothing(visitor)
    line.send("Network.emulateNetworkConditions", {**slow, "uploadThroughput": -1})
    is_converted(visitor, "singing.flac")
    lies_over_nothing(visitor)
    visitor.locator("#convert-change").click()
    expect(visitor.locator("#convert-after .samples")).to_be_visible(timeout=WORK_MS)
    lies_over_nothing(visitor)


@pytest.mark.parametrize("is_gone", [False, True], ids=["put away", "gone after a day"])
def test_a_page_without_a_recording_but_with_results_shows_the_example(visitor, studio_page, is_gone):
    visitor.get_by_role("button", name="Speech", exact=True).first.click()
    is_converted(visitor, "speech.flac")
    converted(visitor)
    if is_gone:
        recording = visitor.evaluate("document.querySelector('timbre-instrument').dataset.song")
        with studio_page.database() as database, database.write() as connection:
            assert connection.exec_driver_sql("DELETE FROM tasks WHERE id = ?", (recording,)).rowcount == 1
    else:
        visitor.locator("#convert-change").click()
        expect(visitor.locator("#convert-after .samples")).to_be_visible(timeout=WORK_MS)
    visitor.reload()
    expect(visitor.locator("timbre-instrument[data-welcome]")).to_be_visible(timeout=WORK_MS)
    expect(visitor.locator("#skeleton")).to_have_count(0)
    expect(visitor.locator("#convert-earlier")).to_be_visible()
