"""What the page says of a recording before it is converted: silence, noise, a whole song."""

import numpy as np
import pytest
from playwright.sync_api import expect

from engine.units import SAMPLE_RATE
from tests.engine.songs.conftest import chords, save
from tests.studio.page.convert.test_tab import drop, is_taken, page  # noqa: F401 - a fixture
from tests.waiting import WORK_MS


def colour(place):
    return place.evaluate("(one) => getComputedStyle(one).borderInlineStartColor")


@pytest.mark.parametrize(("loudness", "said"), [(0.0, "is silent"), (0.1, "No voice was found")])
def test_warnings_name_a_recording_without_a_voice(page, tmp_path, loudness, said):  # noqa: F811
    noise = np.random.default_rng(0).standard_normal(3 * SAMPLE_RATE).astype(np.float32)
    drop(page, save(tmp_path / "noise.wav", loudness * noise))
    is_taken(page)
    warning = page.locator("#convert-warning .warn")
    expect(warning).to_contain_text(said, timeout=WORK_MS)
    expect(page.locator("#convert-to-song")).to_be_hidden()


def test_warnings_lead_from_a_whole_song_to_the_extraction_of_its_vocal(page, tmp_path, photographed):  # noqa: F811
    sung = np.sin(2 * np.pi * np.cumsum(220 + 4 * np.sin(np.arange(8 * SAMPLE_RATE) / 1000)) / SAMPLE_RATE)
    drop(page, save(tmp_path / "song.wav", (2 * chords(8.0) + 0.05 * sung).astype(np.float32)))
    is_taken(page)
    warning = page.locator("#convert-warning .warn")
    expect(warning).to_contain_text("does not sound like a dry vocal", timeout=WORK_MS)
    assert colour(warning) == "rgb(183, 121, 31)"  # that of all warnings of the page
    photographed(page, "whole-song")
    page.locator("#convert-to-song").click()
    full_mix = page.get_by_label("Full mix? Extract the vocal")
    expect(full_mix).to_be_visible()
    if full_mix.is_enabled():
        expect(full_mix).to_be_checked()
        expect(page.locator("#song-says")).to_contain_text("its vocal is extracted")
    else:
        expect(page.locator("#song-separator")).to_contain_text("Extracting a vocal needs")
    photographed(page, "whole-song-taken")
