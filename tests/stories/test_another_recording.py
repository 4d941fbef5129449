"""While another recording or voice takes the place of one, nothing is lost from sight, and nothing old is left."""

from pathlib import Path

import numpy as np
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
