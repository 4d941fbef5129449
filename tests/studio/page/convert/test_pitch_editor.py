"""The pitch editor as a mode of the instrument, in a browser with real conversions."""

import io
from pathlib import Path

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Locator, Page, expect

from tests.waiting import WORK_MS

RATE = 44_100
SECONDS = 3.0
# where the note in the middle is on the screen, and how far a semitone
NOTE = """() => {
  const { roll } = document.querySelector("timbre-pitch-editor"), { plot } = roll;
  const { start_s, end_s, midi, cents } = roll.data.notes.find((note) => note.start_s < 1.5 && note.end_s > 1.5);
  const { left, top } = roll.querySelector(".roll-stage").getBoundingClientRect();
  const hertz = 440 * 2 ** ((midi + cents / 100 - 69) / 12);
  return [left + plot.x((start_s + end_s) / 2), top + plot.y(hertz), plot.y(hertz) - plot.y(hertz * 2 ** (1 / 12))];
}"""


@pytest.fixture
def recording(tmp_path) -> Path:
    """Three notes of a second each, with rests between them."""
    time_s = np.arange(round(SECONDS * RATE)) / RATE
    hertz = 180.0 * 2 ** (np.floor(time_s) * 2 / 12)
    cycles = np.cumsum(hertz) / RATE
    tone = sum(np.cos(2 * np.pi * number * cycles) / number for number in range(1, 20))
    soundfile.write(tmp_path / "three notes.wav", 0.1 * tone * np.sin(np.pi * (time_s % 1.0)) ** 0.5, RATE)
    return tmp_path / "three notes.wav"


def converted(page: Page, recording: Path) -> None:
    page.set_default_timeout(60_000)
    expect(page.get_by_role("radio", name="Kathleen")).to_be_visible(timeout=WORK_MS)
    page.locator("#convert-drop input[type=file]").first.set_input_files(recording)
    expect(page.locator("timbre-instrument:not([data-welcome], [data-away]) .play")).to_be_visible(timeout=WORK_MS)
    page.get_by_role("button", name="Convert", exact=True).click()
    expect(page.locator("#convert-title h2")).to_contain_text("three notes", timeout=WORK_MS)


def opened(page: Page) -> Locator:
    """The editor, opened."""
    page.get_by_role("button", name="Edit pitch").click()
    editor = page.locator("timbre-pitch-editor")
    expect(editor.locator(".roll-stage")).to_be_visible(timeout=WORK_MS)
    return editor


def samples(page: Page, lane: int) -> np.ndarray:
    """Return the samples of a lane, int32 (samples,)."""
    url = page.evaluate("(lane) => document.querySelector('timbre-instrument').data.tracks.at(lane).url", lane)
    answer = page.request.get(page.evaluate("(url) => new URL(url, location).href", url))
    assert answer.ok
    return soundfile.read(io.BytesIO(answer.body()), dtype="int32")[0]


def test_pitch_editor_plays_a_note_while_it_is_dragged_and_renders_only_it_by_itself(visitor, recording, photographed):
    page = visitor
    converted(page, recording)
    editor = opened(page)
    page.evaluate(
        "() => { const editor = document.querySelector('timbre-pitch-editor'), hear = editor.hear.bind(editor);"
        " window.heard = []; editor.hear = async (given) => { await hear(given); heard.push(given.start_s); }; }"
    )
    # until the take is analysed, what is sung without a rest is one note
    notes = "document.querySelector('timbre-pitch-editor').roll.data.notes"
    page.wait_for_function(f"{notes}.length === 3", timeout=WORK_MS)
    x, y, semitone = page.evaluate(NOTE)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - semitone, steps=4)
    page.wait_for_function("heard.length", timeout=WORK_MS)  # before it is let go
    assert page.evaluate("document.querySelector('timbre-pitch-editor').edits") == []
    page.mouse.move(x, y)
    page.mouse.move(x, y - semitone)  # what sounds as before is heard again
    page.wait_for_function("heard.length === 2", timeout=WORK_MS)
    page.mouse.up()
    expect(page.locator("#convert-instrument .pitch-bubble")).to_be_visible()
    photographed(page, "pitch-editor")
    lanes = page.locator("#convert-instrument .track")  # the edited one in its place, the others below it
    expect(lanes.nth(1)).to_contain_text("edited", timeout=WORK_MS)  # nobody asked for it
    expect(lanes.nth(1)).to_have_attribute("aria-checked", "true")
    expect(lanes).to_have_count(3)
    expect(editor.locator(".roll-stage")).to_be_in_viewport(ratio=1)  # it is not scrolled away
    expect(page.locator("#convert timbre-player, #convert timbre-roll")).to_have_count(1)  # one picture, one player
    old, new = samples(page, -1), samples(page, 1)
    changed = np.flatnonzero(old != new) / RATE
    assert len(old) == len(new) == round(SECONDS * RATE)
    assert 0.3 < changed[0] < 1.1
    assert 1.6 < changed[-1] < 2.7  # the note in the middle
    # a further edit takes the place of the first, in the lanes and in the history
    tasks = "document.querySelector('timbre-instrument').data.tracks.map(({ task }) => task)"
    first = page.evaluate(tasks)[1]
    page.locator("#convert-instrument .pitch-bubble").get_by_role("button", name="+", exact=True).click()
    page.wait_for_function(f"{tasks}[1] && {tasks}[1] !== '{first}'", timeout=WORK_MS)
    expect(lanes).to_have_count(3)
    # and both are undone as steps of the page, after the editor was closed, too
    page.get_by_role("button", name="Edit pitch").click()
    expect(editor).to_be_hidden()
    for _ in range(2):
        page.locator("body").press("Control+z")
        expect(editor.locator(".roll-stage")).to_be_visible(timeout=WORK_MS)
    page.wait_for_function("document.querySelector('timbre-pitch-editor').edits.length === 0", timeout=WORK_MS)


def test_pitch_editor_draws_with_a_finger_on_a_phone_where_the_picture_has_the_screen(new_visitor, recording):
    page = new_visitor(viewport={"width": 390, "height": 844}, has_touch=True)
    converted(page, recording)
    editor = opened(page)
    stage = editor.locator(".roll-stage")
    expect(stage).to_be_in_viewport(ratio=1)
    place = stage.bounding_box()
    assert place["height"] > 0.4 * 844
    assert place["y"] + place["height"] <= page.locator("#convert-dock").bounding_box()["y"]
    expect(page.locator("#convert-start")).to_be_hidden()

    editor.get_by_role("button", name="Draw").tap()
    finger = page.context.new_cdp_session(page)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": place["y"] + y} for x, y in places]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", (120, 80))
    for step in range(1, 12):  # down as much as to the right, where a page would scroll
        touch("touchMove", (120 + 8 * step, 80 + 8 * step))
    touch("touchEnd")
    page.wait_for_function("document.querySelector('timbre-pitch-editor').edits.length")
    assert page.evaluate("[scrollY, document.querySelector('#convert-middle').scrollTop]") == [0, 0]
    page.get_by_role("button", name="Edit pitch").tap()
    expect(page.locator("#convert-start")).to_be_visible()
