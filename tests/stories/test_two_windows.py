"""Two windows of the same studio: changes made in one appear in the other."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import engine
from engine.datasets.dataset import create_dataset
from engine.errors import EngineError
from engine.voices.card import DEMO_VOICES
from tests.cards import update_card
from tests.waiting import WORK_MS

SPEECH = Path(engine.__path__[0]) / "samples" / "speech.flac"
AWAY_MS = 1200


@pytest.fixture
def voice(studio_page) -> Iterator[Callable[[str], Path]]:
    """Makes a voice of this name, which has been trained, with its recordings; its folder."""
    made: list[str] = []

    def make(name: str) -> Path:
        made.append(name.lower())
        create_dataset([SPEECH], studio_page.home / "datasets" / made[-1], {"name": name})
        home = studio_page.home / "voices" / made[-1]
        home.parent.mkdir(exist_ok=True)
        shutil.copytree(DEMO_VOICES / "kathleen", home)
        update_card(home, name=name)
        studio_page.command("voices")  # which imports it
        return home

    yield make
    for name in made:
        with suppress(EngineError):  # deleted by its test
            studio_page.command("voices", "delete", name, "--yes")


def leave(page: Page) -> None:
    """Go to another window, and stay there for a while."""
    page.evaluate("window.dispatchEvent(new Event('blur'))")
    page.wait_for_timeout(AWAY_MS)


def come_back(page: Page) -> None:
    page.evaluate("window.dispatchEvent(new Event('focus'))")


def delete(page: Page, name: str) -> None:
    page.locator("#voices-cards").get_by_role("radio", name=name).click()
    expect(page.locator("#voice-head h2")).to_have_text(name)
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete voice").click()
    expect(page.locator("#voices-notice")).to_contain_text("Voice deleted.")


def test_tabs_remove_a_voice_deleted_in_another_window(new_visitor, voice):
    voice("Mia")
    here, there, third = new_visitor("Convert"), new_visitor("Voices"), new_visitor("Voices")
    here.get_by_role("radio", name="Mia").click()
    here.get_by_role("button", name="Speech", exact=True).click()
    expect(here.locator("#convert-instrument .play:not([data-welcome] *)")).to_be_visible(timeout=WORK_MS)
    third.locator("#voices-cards").get_by_role("radio", name="Mia").click()
    expect(third.locator("#voice-head h2")).to_have_text("Mia")
    leave(third)
    delete(there, "Mia")

    here.get_by_role("button", name="Convert", exact=True).click()
    expect(here.locator("#convert-problem")).to_contain_text("has been deleted. The first voice is now selected")
    expect(here.get_by_role("radio", name="Mia")).to_have_count(0)
    expect(here.locator("#convert-voices [aria-checked=true]")).to_have_count(1)

    come_back(third)
    expect(third.locator("#voices-notice")).to_contain_text("has been deleted")
    expect(third.locator("#voices-cards").get_by_role("radio", name="Mia")).to_have_count(0)


def test_tabs_show_a_new_voice_when_the_window_gets_focus(new_visitor, voice):
    here, library, training = new_visitor("Convert"), new_visitor("Voices"), new_visitor("Train")
    expect(here.get_by_role("radio", name="Kathleen")).to_be_visible()
    library.locator("#voices-cards").get_by_role("radio", name="Koguchi").click()
    expect(library.locator("#voice-head h2")).to_have_text("Koguchi")
    for page in (here, library, training):
        leave(page)
    voice("Lou")
    for page in (here, library, training):
        come_back(page)
    for page in (here, library):
        expect(page.get_by_role("radio", name="Lou")).to_be_visible()
    expect(library.locator("#voice-head h2")).to_have_text("Koguchi")  # who is looked at stays
    training.get_by_role("combobox", name="Voice").click()
    expect(training.get_by_role("option", name="Lou")).to_be_visible()


def test_voices_tab_shows_a_finished_check_without_reloading(new_visitor, voice):
    voice("Ida")
    page = new_visitor("Voices")
    page.locator("#voices-cards").get_by_role("radio", name="Ida").click()
    expect(page.locator("#voice-head h2")).to_have_text("Ida")
    page.locator("#voice-recordings").get_by_role("button").first.click()
    page.get_by_role("button", name="Check now").click()
    expect(page.get_by_role("button", name="Recordings: ")).to_be_visible(timeout=WORK_MS)
    expect(page.get_by_text("Checking the recordings")).to_be_hidden()


def test_convert_tab_removes_a_result_deleted_in_another_window(new_visitor):
    here, there = new_visitor("Convert"), new_visitor("Convert")
    here.get_by_role("button", name="Speech", exact=True).click()
    expect(here.locator("#convert-instrument .play:not([data-welcome] *)")).to_be_visible(timeout=WORK_MS)
    here.get_by_role("button", name="Convert", exact=True).click()
    expect(here.locator("#convert-instrument .track")).to_have_count(2, timeout=WORK_MS)
    leave(here)
    there.get_by_role("tab", name="History", exact=True).click()
    newest = there.locator("timbre-tasks .task").first
    newest.locator(".task-head").click()
    newest.get_by_role("button", name="Delete").click()
    newest.locator(".sure").click()
    expect(newest.locator(".sure")).to_have_count(0)

    come_back(here)
    expect(here.locator("#convert-ended")).to_contain_text("deleted from the history")
    expect(here.locator("#convert-instrument .track")).to_have_count(0)
