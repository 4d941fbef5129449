"""The Explore tab in a browser, with one recording and then a second."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Page, expect

import engine
from tests.engine.audio.encoded import several, tone
from tests.waiting import WORK_MS

SAMPLES = Path(engine.__path__[0]) / "samples"
RATE = 16_000


def put_in(page: Page, which: str, path: Path) -> None:
    page.locator(f"#explore-{which} input[type=file]").set_input_files(path)


def result(page: Page):
    return page.locator("#explore-facts")


def painted_share(page: Page, selector: str) -> float:
    """The share of a canvas that is not empty."""
    return page.locator(selector).first.evaluate(
        """canvas => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          let painted = 0;
          for (let i = 3; i < data.length; i += 4) painted += data[i] > 0;
          return painted / (data.length / 4);
        }"""
    )


@pytest.fixture
def seconds_of_silence(tmp_path) -> Path:
    soundfile.write(tmp_path / "silence.wav", np.zeros(RATE), RATE)
    return tmp_path / "silence.wav"


@pytest.fixture
def no_audio(tmp_path) -> Path:
    (tmp_path / "letter.wav").write_text("Dear all,")
    return tmp_path / "letter.wav"


def test_explore_tab_analyses_a_recording_and_compares_another(new_visitor, open_tab, photographed):
    page = new_visitor("Explore")
    page.get_by_role("button", name="Singing", exact=True).click()
    expect(result(page)).to_contain_text("A2 to F3", timeout=WORK_MS)
    expect(result(page)).to_contain_text("Singing")
    expect(page.locator("#explore-progress")).to_be_hidden()

    # seen: a spectrogram on each scale, curves under it, notes as a list and as bars
    stage = page.locator("#explore-roll .roll-stage")
    expect(page.get_by_role("radio", name="Semitones")).to_have_attribute("aria-checked", "true")
    page.wait_for_function("document.querySelector('#explore-roll timbre-roll').curve(0)?.hertz.length > 800")
    for scale in ("Mel", "Linear", "Semitones"):
        page.get_by_role("radio", name=scale).click()
        page.wait_for_timeout(200)
        assert painted_share(page, "#explore-roll .roll-stage canvas") > 0.6
    assert page.locator("timbre-notes tbody tr").count() > 10
    assert page.get_by_role("img", name="singing.flac: from").is_visible()

    # heard: a click in the picture, and one on a note, move the player
    position = page.get_by_role("slider", name="Position")
    box = stage.bounding_box()
    stage.click(position={"x": box["width"] / 2, "y": 100})
    page.wait_for_function("Number(document.querySelector('#explore-player .wave').getAttribute('aria-valuenow')) > 3")
    note = page.locator("timbre-notes .from").first
    note.click()
    expect(page.locator("timbre-notes tr.sung")).to_have_count(1)
    assert float(position.get_attribute("aria-valuenow")) < 1

    with page.expect_download() as download:
        page.locator("#explore-player").get_by_role("link", name="notes (MIDI)").click()
    assert download.value.suggested_filename == "singing.mid"
    assert Path(download.value.path()).read_bytes().startswith(b"MThd")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save image").click()
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
    photographed(page, "explore")

    # another: sentences, both curves over each other, and both to be heard
    put_in(page, "second", SAMPLES / "speech.flac")
    expect(page.locator("#explore-compared")).to_contain_text("could not be aligned", timeout=WORK_MS)
    expect(page.get_by_role("columnheader", name="speech.flac")).to_be_visible()
    expect(page.locator("#explore-player [role=radio]")).to_have_count(2)
    expect(page.locator("timbre-roll:visible")).to_have_count(1)
    expect(page.locator("#explore-roll .roll-curve")).to_have_count(2)
    # the picture is that of the one that is heard, and stays where it is
    page.get_by_role("radio", name="Mel").click()
    expect(stage).to_have_attribute("aria-label", "Pitch of singing.flac")
    page.locator("#explore-player [role=radio]").nth(1).click()
    expect(stage).to_have_attribute("aria-label", "Pitch of speech.flac")
    expect(page.get_by_role("radio", name="Mel")).to_have_attribute("aria-checked", "true")
    expect(page.locator("#explore-roll .roll-curve")).to_have_count(2)
    photographed(page, "explore-two")

    # after a reload all of it is there again, until it is cleared
    page.reload()
    open_tab(page, "Explore")
    expect(page.locator("#explore-compared li").first).to_be_visible()
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(result(page)).to_be_hidden()
    page.reload()
    open_tab(page, "Explore")
    page.locator("#explore-first").wait_for()
    expect(result(page)).to_be_hidden()


def test_explore_entrance_fills_the_window_and_its_fields_are_a_bar_below_a_result(new_visitor):
    page = new_visitor("Explore")
    entrance, first = page.locator("#explore-entrance"), page.locator("#explore-first")
    expect(page.get_by_role("heading", name="Look inside a vocal")).to_be_visible()
    box = entrance.bounding_box()
    assert box["y"] + box["height"] <= page.viewport_size["height"]
    assert first.bounding_box()["height"] > page.viewport_size["height"] / 2
    expect(page.locator("#explore-converted")).to_be_hidden()  # nothing is in Convert
    page.get_by_role("button", name="Singing", exact=True).click()
    expect(result(page)).to_contain_text("singing.flac", timeout=WORK_MS)
    for which in ("first", "second"):
        assert page.locator(f"#explore-{which}").bounding_box()["height"] <= 50
    expect(page.locator("#explore-welcome")).to_be_hidden()
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.locator("#explore-welcome")).to_be_visible()


def test_explore_entrance_takes_the_recording_of_convert(new_visitor, open_tab):
    page = new_visitor()
    page.get_by_role("button", name="Speech", exact=True).click()
    expect(page.get_by_role("button", name="Open in Explore")).to_be_visible(timeout=WORK_MS)
    open_tab(page, "Explore")
    page.get_by_role("button", name="Take speech.flac from Convert").click()
    expect(result(page)).to_contain_text("speech.flac", timeout=WORK_MS)


@pytest.fixture
def later(tmp_path) -> Path:
    """The sample of singing, half a second later."""
    samples, rate = soundfile.read(SAMPLES / "singing.flac")
    soundfile.write(tmp_path / "later.wav", np.concatenate([np.zeros(rate // 2), samples]), rate)
    return tmp_path / "later.wav"


def test_explore_tab_plays_two_recordings_from_the_same_moment(new_visitor, later):
    page = new_visitor("Explore")
    page.get_by_role("button", name="Singing", exact=True).click()
    expect(result(page)).to_contain_text("singing.flac", timeout=WORK_MS)
    put_in(page, "second", later)
    expect(page.locator("#explore-compared")).to_contain_text("later.wav is 0.50 s later", timeout=WORK_MS)
    offsets = "[0, 1].map(at => document.querySelector('#explore-roll timbre-roll').curve(at).offset_s.toFixed(1))"
    starts = "document.querySelector('#explore-player timbre-player').data.tracks.map(one => one.offset_s.toFixed(1))"
    assert page.evaluate(starts) == ["0.5", "0.0"]  # on a timeline that begins with the second
    assert page.evaluate(offsets) == ["0.0", "-0.5"]  # on that of the first, which is shown
    page.locator("#explore-player [role=radio]").nth(1).click()
    expect(page.locator("#explore-roll .roll-stage")).to_have_attribute("aria-label", "Pitch of later.wav")
    assert page.evaluate(offsets) == ["0.5", "0.0"]


def test_explore_tab_shows_an_upload_error_and_keeps_the_result(new_visitor, seconds_of_silence, no_audio):
    page = new_visitor("Explore")
    put_in(page, "first", seconds_of_silence)
    expect(result(page)).to_contain_text("No voice found", timeout=WORK_MS)
    put_in(page, "first", no_audio)
    expect(page.locator("#explore-notice [role=alert]")).to_contain_text("letter.wav")
    expect(result(page)).to_contain_text("silence.wav")


def test_explore_tab_opens_a_recording_in_convert_and_back(new_visitor):
    page = new_visitor("Explore")
    put_in(page, "first", SAMPLES / "speech.flac")
    expect(result(page)).to_contain_text("Speech", timeout=WORK_MS)
    page.get_by_role("button", name="Open in Convert").click()
    expect(page.get_by_role("tab", name="Convert", exact=True)).to_have_attribute("aria-selected", "true")
    expect(page.locator("[role=tabpanel]:visible").first).to_contain_text("speech.flac")
    page.get_by_role("button", name="Open in Explore").click()
    expect(page.get_by_role("tab", name="Explore", exact=True)).to_have_attribute("aria-selected", "true")
    expect(result(page)).to_contain_text("speech.flac")


def test_explore_tab_offers_the_sound_tracks_of_a_film(new_visitor, tmp_path):
    film = tmp_path / "film.mkv"
    sounds = [tone(96_000, 48_000, hertz=hertz) for hertz in (220.0, 440.0)]
    film.write_bytes(several(sounds, titles=["Music", "Voice"]))
    page = new_visitor("Explore")
    put_in(page, "first", film)
    expect(result(page)).to_contain_text("A3", timeout=WORK_MS)
    page.locator("#explore-track input").click()
    page.get_by_role("option", name="2 · Voice").click()
    expect(result(page)).to_contain_text("A4", timeout=WORK_MS)
