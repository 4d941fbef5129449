"""From a recording to the take a musician keeps: warned of a mix, in the best key, comped, named and starred."""

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from engine import Audio, read_audio, write_audio
from engine.research.benchmark.mixes import beside, chords
from tests.waiting import WORK_MS

SINGING = Path(__file__).parents[2] / "engine" / "samples" / "singing.flac"


@pytest.fixture
def page(visitor) -> Page:
    expect(visitor.get_by_role("radio", name="Kerstin")).to_be_visible(timeout=WORK_MS)
    visitor.get_by_role("radio", name="Kerstin").click()
    return visitor


def put_in(page: Page, sample: str = "Singing") -> None:
    page.get_by_role("button", name=sample, exact=True).click()
    expect(page.locator("timbre-fit p")).to_contain_text(re.compile("notes (fit|are)"), timeout=WORK_MS)


def test_best_key_button_sets_the_transposition(page):
    put_in(page)
    outside = int(page.locator("timbre-fit").get_attribute("data-outside") or 0)
    best = page.locator("timbre-fit .best")
    expect(best).to_contain_text(re.compile(r"Best key .+: (only \d+ % do not fit|(almost )?all notes fit)"))
    shift = re.search(r"Best key ([+−]\d+)", best.inner_text())  # noqa: RUF001
    assert shift is not None
    best.click()
    expect(page.locator("#convert-auto input")).not_to_be_checked()
    wanted = shift[1].replace("\N{MINUS SIGN}", "-").lstrip("+")
    expect(page.get_by_role("spinbutton", name="Transpose")).to_have_value(wanted)
    expect(best).to_have_count(0)
    assert int(page.locator("timbre-fit").get_attribute("data-outside") or 0) < outside


def test_convert_tab_warns_of_a_mix_and_a_clipped_recording_before_converting(page, tmp_path):
    vocal = read_audio(SINGING)
    samples = vocal.mono().astype(float)
    mix = beside(samples, chords(len(samples), np.random.default_rng(1)), 0.0)
    write_audio(tmp_path / "mix.wav", Audio((0.5 * mix / np.abs(mix).max())[None].astype(np.float32), vocal.rate))
    loud = (4 * samples / np.abs(samples).max()).clip(-1, 1)
    write_audio(tmp_path / "loud.wav", Audio(loud[None].astype(np.float32), vocal.rate))
    put_in(page)
    expect(page.locator("#convert-warning p")).to_have_count(0)
    for name, sentence in (("mix.wav", "does not sound like a dry vocal"), ("loud.wav", "is clipped")):
        page.get_by_role("button", name="Replace vocal").click()
        page.locator("#convert-drop input[type=file]").set_input_files(tmp_path / name)
        expect(page.locator("#convert-warning")).to_contain_text(sentence, timeout=WORK_MS)


def test_takes_can_be_comped_named_and_starred(page, open_tab):
    put_in(page)
    page.get_by_role("spinbutton", name="Takes").fill("2")
    page.get_by_role("button", name="Convert", exact=True).click()
    fold = page.locator("#convert-comp")
    fold.get_by_role("button", name="Takes").click(timeout=WORK_MS)
    lanes = page.locator("timbre-comp .lane")
    expect(lanes).to_have_count(2)
    order = page.get_by_role("button", name="Build comp")
    expect(order).to_be_disabled()
    last = lanes.nth(1).locator(".cell").last
    last.click()
    expect(last).to_have_attribute("aria-pressed", "true")
    expect(lanes.nth(0).locator(".cell").last).to_have_attribute("aria-pressed", "false")
    name = lanes.nth(1).get_by_role("textbox")
    name.fill("second best")
    name.press("Tab")
    lanes.nth(1).locator(".star").click()
    expect(lanes.nth(1).locator(".star")).to_have_attribute("aria-pressed", "true")
    order.click()
    expect(lanes).to_have_count(3, timeout=WORK_MS)
    expect(lanes.nth(2).locator(".title")).to_have_text("Comp")
    page.reload()
    fold.get_by_role("button", name="Takes").click(timeout=WORK_MS)
    expect(lanes.nth(1).get_by_role("textbox")).to_have_value("second best")
    expect(lanes.nth(1).locator(".star")).to_have_attribute("aria-pressed", "true")
    open_tab(page, "History")
    expect(page.locator("#history-tasks")).to_contain_text("Comp", timeout=WORK_MS)
