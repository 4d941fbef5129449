"""The Create tab as visitors use it: recordings, who it is, consent, and what was found, until it is trained."""

import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import engine
from engine.errors import EngineError
from tests.engine.audio.encoded import several, tone
from tests.waiting import WORK_MS

SAMPLES = Path(engine.__path__[0]) / "samples"
SINGING, SPEECH = SAMPLES / "singing.flac", SAMPLES / "speech.flac"
HIGH = SAMPLES / "foreign" / "singing-high.flac"
NAME, VOICE = 'Mia <b>of</b> the "tests"', "mia-b-of-b-the-tests"


@pytest.fixture
def page(visitor, open_tab) -> Page:
    """Somebody who wants to make a voice."""
    open_tab(visitor, "Create")
    expect(visitor.locator("#create-gathered")).to_contain_text("No recordings yet")
    return visitor


def drop(page: Page, *files: Path) -> None:
    page.locator("#create-files input[type=file]").set_input_files(files)


def rows(page: Page):
    return page.locator("#create-gathered .row")


def fill(page: Page, name: str) -> None:
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("radio", name="My own voice").check()
    page.get_by_role("textbox", name="Consent given by").fill("Mia")


def examine(page: Page) -> None:
    page.get_by_role("button", name="Analyse recordings").click()


def problem(page: Page):
    return page.locator("#create-problem")


@pytest.fixture
def made(studio_page) -> Iterator[Path]:
    """Where the recordings of the voice of these tests are, which is deleted in the end."""
    yield studio_page.home / "datasets" / VOICE
    with suppress(EngineError):
        studio_page.command("voices", "delete", VOICE, "--yes")


def test_create_tab_goes_from_files_and_microphone_to_the_train_tab(page, made, open_tab, photographed):
    drop(page, SINGING)
    expect(rows(page)).to_have_count(1)
    drop(page, SPEECH)
    expect(rows(page)).to_have_count(2)
    recorder = page.locator("#create timbre-recorder, #create-form timbre-recorder").first
    recorder.get_by_role("button", name="Record").click()
    recorder.get_by_role("button", name="Start recording").click()
    expect(recorder.locator("time")).not_to_have_text("0:00")
    recorder.get_by_role("button", name="Stop").click()
    expect(rows(page)).to_have_count(3)
    expect(rows(page).nth(2)).to_contain_text("Recording ")
    page.get_by_role("button", name="Play speech.flac").click()
    expect(page.get_by_role("button", name="Play speech.flac")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Remove Recording ").click()
    expect(rows(page)).to_have_count(2)

    examine(page)
    expect(problem(page).get_by_role("listitem")).to_contain_text(
        ["Give the voice a name", "has agreed", "name of the person", "Tick the box"]
    )
    expect(problem(page)).to_be_in_viewport(ratio=1)
    page.locator("#create-sure").get_by_role("checkbox").check()
    fill(page, NAME)
    expect(page.get_by_label("Statement")).not_to_have_value("")
    photographed(page, "create")

    page.reload()
    open_tab(page, "Create")
    expect(rows(page)).to_have_count(2)
    expect(page.get_by_label("Name", exact=True)).to_have_value(NAME)
    expect(page.get_by_role("textbox", name="Consent given by")).to_have_value("Mia")
    page.locator("#create-sure").get_by_role("checkbox").check()
    examine(page)
    found = page.locator("#create-found")
    expect(found.locator(".verdict")).to_contain_text("in 2 recordings", timeout=WORK_MS)
    expect(page.locator("#create-report h2").last).to_have_text(f"{NAME}: recordings")
    expect(found).to_contain_text("There are only")
    expect(page.locator("#create-report svg.keyboard")).to_be_visible()
    photographed(page, "create-report")

    page.reload()
    open_tab(page, "Create")
    expect(found.locator(".verdict")).to_be_visible()
    page.get_by_role("button", name="Change recordings").click()
    expect(rows(page)).to_have_count(2)
    expect(page.get_by_label("Name", exact=True)).to_have_value(NAME)
    page.locator("#create-sure").get_by_role("checkbox").check()
    examine(page)
    expect(found.locator(".verdict")).to_be_visible(timeout=WORK_MS)
    page.get_by_role("button", name="Train this voice").click()
    expect(page.get_by_role("tab", name="Train", exact=True)).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("combobox", name="Voice", exact=True)).to_have_value(f"{NAME} (not trained)")
    open_tab(page, "Create")
    expect(page.get_by_role("button", name="Analyse recordings")).to_be_visible()
    assert (made / "model.json").is_file()


def test_create_tab_takes_back_what_was_answered(page):
    examine(page)
    missing = problem(page).get_by_role("listitem")
    expect(missing).to_have_count(5)
    page.get_by_label("Name", exact=True).fill(NAME)
    expect(missing).to_have_count(4)
    expect(problem(page)).not_to_contain_text("Give the voice a name")
    page.get_by_role("radio", name="My own voice").check()  # says who agrees, and to what
    expect(missing).to_have_count(2)
    page.locator("#create-sure").get_by_role("checkbox").check()
    expect(problem(page)).to_contain_text("Add recordings first")
    drop(page, SPEECH)
    expect(problem(page)).to_be_hidden(timeout=WORK_MS)


def test_untrained_voice_converts_and_is_marked_as_untrained(page, made, open_tab, photographed):
    drop(page, SINGING, HIGH, SPEECH)
    expect(rows(page)).to_have_count(3)
    fill(page, NAME)
    page.locator("#create-sure").get_by_role("checkbox").check()
    examine(page)
    expect(page.locator("#create-found .verdict")).to_contain_text("in 3 recordings", timeout=WORK_MS)
    page.get_by_role("button", name="Convert with this voice").click()
    expect(page.get_by_role("tab", name="Convert", exact=True)).to_have_attribute("aria-selected", "true")
    chosen = page.locator("#convert-voices .card.chosen")
    expect(chosen.locator(".name")).to_have_text(NAME)
    expect(chosen.locator(".state")).to_have_text("not trained")
    hint = page.locator("#convert-untrained")
    expect(hint).to_contain_text(
        f"{NAME} is not trained. You can use it as it is; training makes it more like the recordings."
    )
    expect(page.locator("timbre-fit")).to_contain_text("'s range: ")
    page.get_by_role("button", name="Speech", exact=True).click()
    expect(page.locator("#convert-instrument .play:not([data-welcome] *)")).to_be_visible(timeout=WORK_MS)
    page.get_by_role("button", name="Convert", exact=True).click()
    expect(page.locator("#convert-title h2")).to_contain_text(f"by {NAME}", timeout=WORK_MS)
    expect(page.locator("#convert-title p")).to_contain_text("untrained voice")
    photographed(page, "convert-untrained")
    page.reload()
    expect(page.locator("#convert-title h2")).to_contain_text(f"by {NAME}")  # all is as it was
    expect(chosen.locator(".name")).to_have_text(NAME)
    expect(hint).to_be_visible()
    page.locator("#convert-voices").get_by_role("radio", name="Kathleen").click()
    expect(chosen.locator(".name")).to_have_text("Kathleen")
    expect(hint).to_be_hidden()
    page.locator("#convert-voices").get_by_role("radio", name="Mia").click()
    hint.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_role("tab", name="Train", exact=True)).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("combobox", name="Voice", exact=True)).to_have_value(f"{NAME} (not trained)")
    open_tab(page, "Voices")
    page.locator("#voices-cards").get_by_role("radio", name="Mia").click()
    expect(page.locator("#voice-head .badge")).to_have_text("not trained")
    page.get_by_role("button", name="Open in Convert").click()
    expect(chosen.locator(".name")).to_have_text(NAME)


def test_create_tab_fills_in_the_profile_of_a_zip_and_names_unreadable_files(page, tmp_path):
    with zipfile.ZipFile(tmp_path / "anna.zip", "w") as archive:
        archive.writestr("model.json", json.dumps({"name": "Anna", "genre": "jazz", "traits": ["smoky"]}))
        archive.write(SPEECH, "audio/day 1/speech.flac")
        archive.writestr("audio/broken.wav", b"RIFF")
    drop(page, tmp_path / "anna.zip")
    expect(rows(page)).to_have_count(1)
    expect(rows(page).first).to_contain_text("day 1/speech.flac")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Anna")
    page.get_by_role("button", name="More about the voice").click()
    expect(page.get_by_role("combobox", name="Genre")).to_have_value("jazz")
    expect(page.locator("#create-recordings-notice")).to_contain_text('"broken.wav"')

    page.locator("#create-sure").get_by_role("checkbox").check()
    fill(page, "Anna")
    examine(page)
    expect(problem(page)).to_contain_text("5.3 seconds of readable audio")
    expect(rows(page)).to_have_count(1)
    page.get_by_role("button", name="Remove day 1/speech.flac").click()
    expect(page.locator("#create-gathered")).to_contain_text("No recordings yet")
    examine(page)
    expect(problem(page)).to_contain_text("Add recordings first")


def test_create_tab_offers_the_sound_tracks_of_a_film(page, tmp_path):
    film = tmp_path / "film.mkv"
    film.write_bytes(several([tone(96_000, 48_000), tone(96_000, 48_000)], titles=["Music", "Voice"]))
    drop(page, film)
    expect(rows(page)).to_have_text(re.compile(r"film\.mkv"), timeout=WORK_MS)
    expect(page.get_by_text("Sound track of film.mkv")).to_be_visible()
    page.locator("#create-track input").click()
    page.get_by_role("option", name=re.compile("2 · Voice")).click()
    expect(rows(page)).to_have_text(re.compile(r"film 2\.flac"), timeout=WORK_MS)
    expect(page.locator("#create-track")).to_be_hidden()
