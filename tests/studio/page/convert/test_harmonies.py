"""Doubles and harmonies on the page, in a browser with real conversions."""

import numpy as np
import pytest
import soundfile
from playwright.sync_api import expect

from tests.studio.page.convert.test_pitch_editor import converted
from tests.waiting import WORK_MS

RATE = 44_100


@pytest.fixture
def recording(tmp_path):
    """C4, E4 and G4, of a second each."""
    time_s = np.arange(3 * RATE) / RATE
    hertz = np.array([261.63, 329.63, 392.0])[time_s.astype(int)]
    cycles = np.cumsum(hertz) / RATE
    tone = sum(np.cos(2 * np.pi * number * cycles) / number for number in range(1, 20))
    soundfile.write(tmp_path / "three notes.wav", 0.1 * tone * np.sin(np.pi * (time_s % 1.0)) ** 0.5, RATE)
    return tmp_path / "three notes.wav"


@pytest.mark.slow
def test_harmonies_sing_with_a_take_and_are_in_its_mix(visitor, recording, tmp_path, photographed):
    page = visitor
    page.get_by_role("button", name="+ Third above").click()
    expect(page.locator("#convert-harmonies-problem")).to_contain_text("Convert first")
    converted(page, recording)
    page.get_by_role("button", name="+ Third above").click()
    lanes = page.locator("timbre-instrument .channel[data-lane^=harmony]")
    expect(lanes).to_have_count(1, timeout=WORK_MS)
    page.get_by_role("button", name="+ Double").click()
    expect(lanes).to_have_count(2, timeout=WORK_MS)
    expect(page.locator(".channel .label i")).to_have_count(0, timeout=WORK_MS)  # both are there
    photographed(page, "harmonies")
    lead = page.locator("timbre-instrument .track[aria-checked=true] .label").inner_text()
    for what in ("Mute Double", f"Mute {lead}"):
        page.get_by_role("button", name=what).click()
    with page.expect_download(timeout=WORK_MS) as download:
        page.locator("#convert-instrument").get_by_text("wav", exact=True).click()
    download.value.save_as(tmp_path / "mix.wav")
    mixed, rate = soundfile.read(tmp_path / "mix.wav")
    assert mixed.shape == (3 * rate, 2)
    left, right = np.sqrt(np.square(mixed).mean(0))
    assert left > 2 * right > 0  # the third is at the left
    page.reload()
    expect(lanes).to_have_count(2, timeout=WORK_MS)
    page.get_by_role("button", name="Remove Double").click()
    expect(lanes).to_have_count(1)
