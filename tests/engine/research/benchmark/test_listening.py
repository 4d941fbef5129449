"""The listening page, and a listener who goes through it in a browser."""

import base64
import csv
import json
import re

import numpy as np
import pytest
import soundfile
from playwright.sync_api import expect

from engine.audio.files import Audio
from engine.research.benchmark.listening import Compared, write_listening_page
from engine.units import SAMPLE_RATE
from tests.browsers import WIDE
from tests.waiting import WORK_MS

NAMES = ("RVC", "ours")


def tone(hertz, seconds=10.0, level=0.1):  # so long that it still sounds on a busy machine when it is looked at
    time_s = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    return Audio(level * np.sin(2 * np.pi * hertz * time_s, dtype=np.float32)[None], SAMPLE_RATE)


def hertz_of(path):
    samples, rate = soundfile.read(path)
    return round(np.abs(np.fft.rfft(samples)).argmax() * rate / len(samples), -1)


@pytest.fixture
def compared():
    """Whose conversions can be told by their pitch: RVC's are at 400 Hz, ours at 600."""
    return [
        Compared(f"{number}.wav", tone(200), {"RVC": tone(400), "ours": tone(600, level=0.3)}, tone(900, level=0.01))
        for number in range(6)
    ]


def trials_of(page):
    return json.loads(base64.b64decode(re.search(r'atob\("([^"]+)"\)', page.read_text())[1]))


def test_page_knows_which_sound_is_which_and_their_names_do_not_tell(compared, tmp_path):
    page = write_listening_page(tmp_path / "test", compared, seed=0)
    trials = trials_of(page)["trials"]
    assert sorted(one["source"] for one in trials) == [one.name for one in compared]
    assert {one["a"] for one in trials} == set(NAMES)  # by chance, and so in both places
    for trial in trials:
        found = {letter: hertz_of(page.with_name(f"{trial['sounds']}-{letter}.flac")) for letter in "abxs"}
        wanted = {"RVC": 400, "ours": 600}
        assert found == {"a": wanted[trial["a"]], "b": wanted[trial["b"]], "x": 900, "s": 200}
    assert {path.name[2:] for path in page.parent.glob("*.flac")} == {f"-{letter}.flac" for letter in "abxs"}
    assert "RVC" not in page.read_text()


def test_order_is_drawn_by_the_seed(compared, tmp_path):
    orders = [trials_of(write_listening_page(tmp_path / str(n), compared, seed)) for n, seed in enumerate((1, 1, 2))]
    assert orders[0] == orders[1]
    assert orders[0]["trials"] != orders[2]["trials"]


def test_sounds_of_a_trial_are_equally_loud_and_short(tmp_path):
    quiet_then_loud = Audio(np.concatenate([tone(200, 20, 0.01).samples, tone(300, 20).samples], 1), SAMPLE_RATE)
    made = Compared("long.wav", quiet_then_loud, dict.fromkeys(NAMES, quiet_then_loud), tone(900, 20, 0.01))
    page = write_listening_page(tmp_path / "test", [made], 0)
    for letter in "abxs":
        samples, rate = soundfile.read(page.with_name(f"01-{letter}.flac"))
        assert len(samples) == 12 * rate
        assert np.square(samples).mean() == pytest.approx(0.005, rel=0.01)
    assert hertz_of(page.with_name("01-s.flac")) == 300  # where there is something to hear


@pytest.fixture
def listener(browser, compared, tmp_path):
    """The page as it opens from a folder; fails if a script failed or anything was asked of a network."""
    page_file = write_listening_page(tmp_path / "test", compared[:2], seed=0)
    context = browser.new_context(viewport=WIDE, accept_downloads=True)
    page, complaints = context.new_page(), []
    page.set_default_timeout(WORK_MS)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on(
        "request", lambda asked: complaints.append(asked.url) if not asked.url.startswith(("file:", "blob:")) else None
    )
    page.goto(page_file.as_uri())
    yield page, trials_of(page_file)["trials"]
    context.close()
    assert not complaints


def hear_all(page):
    for key in "abx":
        page.keyboard.press(key)
        expect(page.locator(f"#play-{key}")).to_have_attribute("aria-pressed", "true")  # it sounds


def test_a_listener_answers_with_keys_alone_and_saves_what_was_chosen(listener, tmp_path):
    page, trials = listener
    for number, keys in enumerate(("13", "26"), 1):
        expect(page.locator("h1")).to_have_text(f"Recording {number} of 2")
        expect(page.locator("#next")).to_be_disabled()
        hear_all(page)
        expect(page.locator("#hint")).to_have_text("Answer both questions.")
        page.keyboard.press(keys[0])
        page.keyboard.press({"3": "6", "6": "6"}[keys[1]])
        page.keyboard.press("Enter")
    assert page.locator("h1").inner_text() == "All compared"
    page.locator("#listener").fill('=Ann "A"')
    with page.expect_download() as download:
        page.locator("#download").click()
    download.value.save_as(tmp_path / "answers.csv")
    first, second = csv.DictReader((tmp_path / "answers.csv").read_text().splitlines())
    assert first["listener"] == '\'=Ann "A"'
    assert (first["source"], first["a"], first["b"]) == (trials[0]["source"], trials[0]["a"], trials[0]["b"])
    assert (first["more_like_x"], first["sounds_better"]) == (trials[0]["a"], trials[0]["b"])
    assert (second["more_like_x"], second["sounds_better"]) == ("no difference", trials[1]["b"])
    assert (second["played_a"], second["played_b"], second["played_x"]) == ("1", "1", "1")
    counts = page.locator("#counts tr").nth(2).locator("td").all_inner_texts()
    chosen = [trials[0]["b"], trials[1]["b"]]
    assert counts == [str(chosen.count("RVC")), str(chosen.count("ours")), "0"]


def test_a_reload_keeps_answers_and_another_listener_begins_anew(listener):
    page, _ = listener
    page.keyboard.press("a")
    page.keyboard.press("2")
    page.reload()
    expect(page.locator("#like-same")).to_be_checked()
    for keys in ("5", "25"):
        hear_all(page)
        for key in (*keys, "Enter"):
            page.keyboard.press(key)
    page.locator("#afresh").click()
    expect(page.locator("h1")).to_have_text("Recording 1 of 2")
    expect(page.locator("#like-same")).not_to_be_checked()
