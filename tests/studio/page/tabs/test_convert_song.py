"""A song on the page: a vocal with its backing in, and the finished track out, with a fader for each lane."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from engine.audio.files import read_audio
from tests.engine.songs.conftest import chords, save


@pytest.fixture
def stems(vocal, tmp_path):
    sung, played = vocal(3.0, 200.0).astype(np.float32), chords(3.0)
    return save(tmp_path / "vocal.wav", sung), save(tmp_path / "backing.wav", played, played)


def open_song(page):
    page.get_by_role("tab", name="Song", exact=True).click()
    page.locator("#song-start").wait_for()
    expect(page.get_by_label("Takes").first).to_be_hidden()


def add(page, place, path):
    page.locator(f"#{place} input[type=file]").set_input_files(path)
    shown = re.compile(rf"{path.stem}\s*\{path.suffix}.*B")  # with its size: it has arrived
    expect(page.locator(f"#{place}")).to_have_text(shown)


def colour(button):
    return button.evaluate("(one) => getComputedStyle(one).backgroundColor")


def painted(button):
    return button.evaluate("(one) => parseFloat(getComputedStyle(one).borderTopWidth) > 0")


def test_song_converts_a_vocal_and_its_backing_into_a_mix_with_faders(visitor, stems, tmp_path, photographed):
    open_song(visitor)
    add(visitor, "song-lead", stems[0])
    add(visitor, "song-backing", stems[1])
    visitor.get_by_label("Voice changes").fill("0:01.5 kathleen")
    visitor.locator("#song-start").click()
    mixer = visitor.locator("timbre-mixer")
    expect(mixer.locator(".lane")).to_have_count(2)
    assert [painted(mixer.get_by_role("button", name=name)) for name in ("Play", "Mute Vocal", "Export mix")] == [
        True
    ] * 3
    solo = mixer.get_by_role("button", name="Solo Backing")
    before = colour(solo)
    solo.click()
    assert colour(solo) != before  # that it is pressed is seen
    photographed(visitor, "song")
    with visitor.expect_download() as download:
        mixer.get_by_role("button", name="Export mix").click()
    download.value.save_as(tmp_path / "mix.wav")
    assert download.value.suggested_filename.startswith("vocal - ")
    lane = mixer.locator(".stems a").nth(1)
    with visitor.expect_download() as stem:
        lane.click()
    stem.value.save_as(tmp_path / "lane.wav")
    soloed, backing = (read_audio(tmp_path / name).samples for name in ("mix.wav", "lane.wav"))
    np.testing.assert_allclose(soloed, backing, atol=1e-5)
    visitor.reload()
    open_song(visitor)
    expect(visitor.locator("timbre-mixer .lane")).to_have_count(2)  # still there
    expect(visitor.locator("#song-title h2")).to_contain_text("vocal.wav")
    add(visitor, "song-lead", stems[1])  # another one: nothing of the song before is left beside it
    expect(visitor.locator("timbre-mixer .lane")).to_have_count(0)
    expect(visitor.locator("#song-title h2")).to_have_count(0)
    visitor.locator("#song-start").click()
    expect(visitor.locator("#song-problem")).to_contain_text("Add a backing track")
    visitor.get_by_label("Offset").fill("1")
    expect(visitor.locator("#song-problem")).to_be_hidden()


def test_song_start_without_a_backing_names_the_missing_part(visitor, stems):
    open_song(visitor)
    add(visitor, "song-lead", stems[0])
    visitor.locator("#song-start").click()
    expect(visitor.locator("#song-problem")).to_contain_text("Add a backing track")
    expect(visitor.get_by_label("This is a full mix: extract the vocal")).to_be_disabled()  # and below it why
    expect(visitor.locator("#song-separator")).to_contain_text("Extracting a vocal needs")


def test_song_can_be_started_again_after_cancelling(visitor, stems):
    open_song(visitor)
    add(visitor, "song-lead", stems[0])
    add(visitor, "song-backing", stems[1])
    visitor.locator("#song-start").click()
    visitor.locator("#convert-song").get_by_role("button", name="Cancel").click()
    expect(visitor.locator("#song-problem")).to_contain_text("cancelled")
    visitor.locator("#song-start").click()
    expect(visitor.locator("timbre-mixer .lane")).to_have_count(2)
