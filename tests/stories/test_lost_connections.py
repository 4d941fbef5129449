"""Files that are given to the page while the studio cannot be reached are kept, and sent when it is back."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browsers import LANGUAGE, WIDE

SAMPLES = Path(__file__).parents[2] / "engine" / "samples"
SPEECH, SINGING = SAMPLES / "speech.flac", SAMPLES / "singing.flac"
WORK_MS = 240_000
LATER_MS = 1500  # than the connection is gone
DROP = """(files) => {
  const dataTransfer = new DataTransfer(), type = "audio/flac";
  for (const [name, bytes] of files) dataTransfer.items.add(new File([new Uint8Array(bytes)], name, { type }));
  const drop = new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer });
  document.querySelector("#heading").dispatchEvent(drop);
}"""


@pytest.fixture
def context(browser) -> Iterator[BrowserContext]:
    """A visitor who may lose the connection, of which browsers complain."""
    made = browser.new_context(viewport=WIDE, locale=LANGUAGE)
    yield made
    made.close()


@pytest.fixture
def arrived(context, studio_page) -> Callable[[], Page]:
    """Open the page, and wait until it takes files."""

    def arrive() -> Page:
        page = context.new_page()
        page.set_default_timeout(WORK_MS)
        page.goto(studio_page.base_url)
        expect(page.get_by_role("radio", name="Kathleen").first).to_be_visible(timeout=WORK_MS)
        expect(page.locator("#convert-drop input[type=file]").first).to_be_attached()
        return page

    return arrive


def is_kept(page: Page, name: str) -> None:
    said = f"The studio cannot be reached: until it is back, this browser keeps {name} for it."
    expect(page.locator("timbre-drop")).to_contain_text(said)


def is_read(page: Page, name: str) -> None:
    expect(page.locator("#convert-facts")).to_contain_text(name, timeout=WORK_MS)
    expect(page.locator(".audition")).to_be_visible(timeout=WORK_MS)


def test_a_vocal_is_sent_when_the_connection_is_back(context, arrived):
    page = arrived()
    context.set_offline(True)
    page.wait_for_timeout(LATER_MS)
    page.evaluate(DROP, [["night.flac", list(SINGING.read_bytes())]])
    is_kept(page, "night.flac")
    page.wait_for_timeout(LATER_MS)
    context.set_offline(False)
    is_read(page, "night.flac")
    expect(page.locator("timbre-drop")).to_be_empty()


def test_a_song_is_sent_whole_when_the_connection_is_back(context, arrived):
    page = arrived()
    context.set_offline(True)
    page.wait_for_timeout(LATER_MS)
    page.evaluate(DROP, [[name, list(file.read_bytes())] for name, file in SONG.items()])
    page.get_by_role("button", name="Make a song of them").click()
    is_kept(page, "night vocal.flac")
    context.set_offline(False)
    is_song(page)


def test_what_was_kept_is_sent_after_a_reload(context, arrived):
    page = arrived()
    context.set_offline(True)
    page.evaluate(DROP, [[name, list(file.read_bytes())] for name, file in SONG.items()])
    page.get_by_role("button", name="Make a song of them").click()
    is_kept(page, "night vocal.flac")
    page.close()
    context.set_offline(False)
    is_song(arrived())
    again = arrived()  # and only once
    is_read(again, "night vocal.flac")


def test_what_waits_can_be_given_up(context, arrived):
    page = arrived()
    context.set_offline(True)
    page.locator("#convert-drop input[type=file]").first.set_input_files(SINGING)
    is_kept(page, "singing.flac")
    page.locator("timbre-drop").get_by_role("button", name="Cancel").click()
    expect(page.locator("timbre-drop")).to_be_empty()
    expect(page.locator("#convert-drop .upload-container")).to_be_visible()
    expect(page.locator("#convert-drop .error")).to_have_count(0)
    page.close()
    context.set_offline(False)
    page = arrived()
    page.wait_for_timeout(LATER_MS)
    expect(page.locator("#convert-facts", has_text="singing")).to_have_count(0)


SONG = {"night vocal.flac": SINGING, "night instrumental.flac": SPEECH}


def is_song(page: Page) -> None:
    is_read(page, "night vocal.flac")
    backing = page.locator("timbre-instrument .channel[data-lane=backing] .label")
    expect(backing).to_have_attribute("title", "night instrumental.flac", timeout=WORK_MS)
