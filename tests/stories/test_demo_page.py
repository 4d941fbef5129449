"""The page of a public demo in a browser: separate visitors, short recordings, a queue."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Page, expect

from studio.load.trial_service import TrialService, trial_service
from studio.page.tabs import tabs_of
from tests.waiting import WORK_MS

RATE = 16_000
TABS = tabs_of(is_demo=True)


@pytest.fixture(scope="module")
def studio_page(tmp_path_factory) -> Iterator[TrialService]:
    """Started as the host of a Space does it, with a worker for conversions, for which others wait."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SPACE_ID", "somebody/timbre")
        environment.setenv("GRADIO_SSR_MODE", "True")
        with trial_service(tmp_path_factory.mktemp("demo") / "home", conversion_workers=1) as service:
            yield service


def recording(path: Path, seconds: float) -> Path:
    """A file of a note that swells and fades."""
    time_s = np.arange(round(seconds * RATE)) / RATE
    tone = sum(np.sin(2 * np.pi * 220 * k * time_s) / k for k in range(1, 6))
    soundfile.write(path, 0.1 * tone * np.sin(np.pi * time_s / seconds), RATE)
    return path


def drop(page: Page, file: Path) -> None:
    page.locator("#convert-drop input[type=file]").first.set_input_files(file)


def convert_sample(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()
    expect(page.locator("#convert-instrument .play:not([data-welcome] *)")).to_be_visible(timeout=WORK_MS)
    page.get_by_role("button", name="Convert", exact=True).click()


def is_converted(page: Page) -> None:
    expect(page.locator("#convert-title h2")).to_contain_text("by ", timeout=WORK_MS)


def test_demo_page_keeps_the_conversions_of_visitors_separate(new_visitor, open_tab, photographed):
    one = new_visitor()
    expect(one.locator("#heading")).to_contain_text("all your data is deleted after 60 minutes")
    expect(one.locator("#tabs > .tab-wrapper").first.get_by_role("tab")).to_have_text(TABS)
    convert_sample(one, "Speech")
    is_converted(one)
    expect(one.locator("#convert-instrument .track")).to_have_count(2)
    one.locator("#convert-instrument").get_by_role("button", name="Play").click()
    one.wait_for_function("document.querySelector('timbre-instrument').seconds > 0.1")
    photographed(one, "demo-result")

    other = new_visitor("History")
    expect(other.locator("timbre-tasks .empty")).to_contain_text("until they are deleted")
    one.reload()
    is_converted(one)  # whose cookie is known
    open_tab(one, "History")
    expect(one.locator("timbre-tasks .task")).to_have_count(1)


def test_demo_page_refuses_a_recording_longer_than_a_minute(visitor, tmp_path):
    drop(visitor, recording(tmp_path / "long song.wav", 61.0))
    text = "The recording is 61 seconds long; the limit is 60 seconds: use a shorter one."
    expect(visitor.locator("#convert-recording-problem")).to_contain_text(text)
    drop(visitor, recording(tmp_path / "song.wav", 2.0))
    expect(visitor.locator("#convert-facts")).to_contain_text("song.wav · 2.0 s", timeout=WORK_MS)


def test_demo_page_shows_queue_position_and_estimated_start(new_visitor, tmp_path):
    first, second = new_visitor(), new_visitor()
    convert_sample(second, "Speech")
    is_converted(second)  # from then on it is known how long one takes
    drop(first, recording(tmp_path / "song.wav", 55.0))
    expect(first.locator("#convert-instrument .play:not([data-welcome] *)")).to_be_visible(timeout=WORK_MS)
    first.locator("#convert").get_by_role("slider", name=re.compile("Takes")).fill("10")
    first.get_by_role("button", name="Convert", exact=True).click()
    expect(first.locator("#convert-bar")).to_contain_text("%", timeout=WORK_MS)  # it is under way
    second.get_by_role("button", name="Convert", exact=True).click()
    said = second.locator("#convert-bar")
    expect(said).to_contain_text(re.compile(r"Waiting: 1 ahead, starts in about \d+ (s|min)"))
    for page in (second, first):
        page.get_by_role("button", name="Cancel", exact=True).click()
        expect(page.locator("#convert-ended")).to_contain_text("was cancelled")
