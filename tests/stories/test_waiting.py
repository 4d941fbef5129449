"""What a visitor waits for: how long is said and moves on, and a new recording does not wait for an earlier one."""

import itertools
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from engine import Audio, read_audio, write_audio
from studio.load.trial_service import TrialService, trial_service
from tests.stories.test_dropping_files import ANYWHERE, DROP
from tests.waiting import PATIENCE_S, WORK_MS

SINGING = Path(__file__).parents[2] / "engine" / "samples" / "singing.flac"
TAKES = 10  # of the conversion that the other one waits for
LONG_S = 600
SENTENCE = re.compile(r"Waiting: 1 ahead, starts in (?:about (\d+) s|a moment)")
SAID = """() => {
  const bar = document.querySelector("#convert-bar p");
  return bar?.checkVisibility() ? bar.textContent : "";
}"""


@pytest.fixture(scope="module")
def studio_page(tmp_path_factory) -> Iterator[TrialService]:
    """With one worker for conversions, for which others wait."""
    with trial_service(tmp_path_factory.mktemp("waiting") / "home", conversion_workers=1) as service:
        yield service


@pytest.fixture
def page(new_visitor) -> Page:
    page = new_visitor(viewport={"width": 1280, "height": 720})
    expect(page.get_by_role("radio", name="Kathleen").first).to_be_visible(timeout=WORK_MS)
    return page


def put_in(page: Page, sample: str) -> None:
    page.get_by_role("button", name=sample, exact=True).click()
    expect(page.locator("#convert-facts")).to_contain_text(f"{sample.lower()}.flac", timeout=WORK_MS)


def ended(service: TrialService) -> list[str]:
    """Return how each analysis of the service ended, in order."""
    lines = service.log.read_text(encoding="utf-8", errors="replace").splitlines()
    told = [json.loads(line) for line in lines if '"task_ended"' in line]
    return [one["outcome"] for one in told if one["kind"] == "analysis"]


def test_queue_notice_counts_down_until_the_conversion_starts(page):
    put_in(page, "Singing")
    page.locator("#convert").get_by_role("spinbutton", name="Takes").fill(str(TAKES))
    page.locator("#convert-start").click()
    page.wait_for_function(f"({SAID})().includes(' %')", timeout=WORK_MS)  # it runs
    page.locator("#convert-start").click()  # and the next one waits
    said: list[int] = []
    end_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < end_s:
        sentence = page.evaluate(SAID)
        if found := SENTENCE.fullmatch(sentence):
            said.append(int(found[1] or 0))
        elif said:
            break
        page.wait_for_timeout(200)
    print(f"\nstarts in: {[one for one, _ in itertools.groupby(said)]} s")
    assert re.search(r"\d %", sentence)  # it has begun
    assert said[-1] < max(said)
    half = said.index(max(said))
    assert half < len(said) / 2  # it counts down, as it may count up only while little is known


def test_new_recording_cancels_the_running_analysis_of_an_earlier_one(page, studio_page, tmp_path):
    singing = read_audio(SINGING)
    times = int(LONG_S / singing.duration_s)
    write_audio(tmp_path / "long.wav", Audio(np.tile(singing.samples, times), singing.rate))
    page.locator("#convert-drop input[type=file]").first.set_input_files(tmp_path / "long.wav")
    expect(page.locator("#convert-listening")).to_contain_text("long.wav", timeout=WORK_MS)
    page.wait_for_timeout(1000)  # a worker has begun
    asked_s = time.monotonic()
    speech = SINGING.with_name("speech.flac")
    page.evaluate(DROP, [ANYWHERE, [[speech.name, list(speech.read_bytes())]]])
    expect(page.locator("#convert-facts")).to_contain_text("speech.flac", timeout=WORK_MS)
    print(f"\nthe new recording is there after {time.monotonic() - asked_s:.1f} s")
    assert ended(studio_page)[-2:] == ["cancelled", "completed"]
