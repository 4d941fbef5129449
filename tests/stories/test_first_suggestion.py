"""The voice that the page suggests for a first recording suits it, and what does not suit has a remedy to press."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Page, expect

from tests.stories.test_dropping_files import ANYWHERE, drop, is_converted
from tests.vowels import RATE, vowel

BARITONE = (43, 45, 47, 48, 50, 52, 53, 55, 56, 53, 50, 48)  # G2 to G#3, MIDI numbers
DEEP = tuple(note - 10 for note in BARITONE)
CHOSEN = "document.querySelector('#convert-voices timbre-voices').data.chosen"
UNSUITED = "timbre-fit .unsuited"


@pytest.fixture
def sung(tmp_path) -> Callable[[str, tuple[int, ...]], Path]:
    """Write a sung melody of these notes as a file."""

    def write(name: str, notes: tuple[int, ...]) -> Path:
        melody = np.concatenate([vowel(440 * 2 ** ((note - 69) / 12), 0.7) for note in notes])
        soundfile.write(tmp_path / name, melody, RATE)
        return tmp_path / name

    return write


def is_fitted(page: Page) -> None:
    """Wait until the picture of the range is of the recording."""
    page.wait_for_function("document.querySelector('timbre-fit').data?.histogram.length > 3")


def test_the_first_voice_of_a_baritone_is_one_that_need_not_move_him(visitor, sung):
    drop(visitor, ANYWHERE, [sung("baritone.wav", BARITONE)])
    is_converted(visitor, "baritone.wav")
    is_fitted(visitor)
    visitor.wait_for_function(f"['koguchi', 'everett'].includes({CHOSEN})")
    visitor.wait_for_function("document.querySelector('timbre-fit').data.voice.name.match(/Koguchi|Everett/)")
    assert visitor.evaluate("Math.abs(document.querySelector('timbre-fit').data.auto)") < 12
    expect(visitor.locator(UNSUITED)).to_have_count(0)


def test_a_voice_that_was_heard_is_not_replaced(visitor, sung):
    kept = visitor.evaluate(CHOSEN)
    visitor.locator("#convert-voices .card.chosen .preview").click()
    drop(visitor, ANYWHERE, [sung("high.wav", tuple(note + 17 for note in BARITONE))])
    is_converted(visitor, "high.wav")
    is_fitted(visitor)
    assert visitor.evaluate(CHOSEN) == kept
    expect(visitor.locator("#convert-fit")).to_contain_text("Too far from your range")


def test_a_voice_that_does_not_suit_says_so_and_others_can_be_pressed(visitor, sung):
    visitor.locator("#convert-voices .card[data-id=safiye] .choose").click()
    drop(visitor, ANYWHERE, [sung("deep.wav", DEEP)])
    is_converted(visitor, "deep.wav")
    is_fitted(visitor)
    expect(visitor.locator(UNSUITED)).to_contain_text("Too far from your range. Try")
    visitor.locator(UNSUITED).get_by_role("button").first.click()
    visitor.wait_for_function(f"{CHOSEN} !== 'safiye'")
    expect(visitor.locator(UNSUITED)).to_have_count(0)
