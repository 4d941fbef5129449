"""The pitch editor as a mode of the instrument, in a browser with real conversions."""

import io
from pathlib import Path

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Locator, Page, expect

RATE = 44_100
WORK_MS = 120_000  # for what the engine does, on a busy machine
SECONDS = 3.0


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
    expect(page.locator("#convert-instrument .play:not([data-welcome] *)")).to_be_visible(timeout=WORK_MS)
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


def test_pitch_editor_renders_only_the_edited_note(visitor, recording, photographed):
    page = visitor
    converted(page, recording)
    editor = opened(page)
    editor.get_by_label("From (seconds)").fill("2.1")
    editor.get_by_label("to (seconds)").fill("2.6")
    editor.get_by_label("to (seconds)").press("Tab")
    editor.get_by_role("button", name="+1", exact=True).click()
    expect(editor.get_by_text("to re-render")).to_contain_text("0.5 s")
    # edits that were not rendered survive a reload
    page.reload()
    expect(page.locator("#convert-title h2")).to_contain_text("three notes", timeout=WORK_MS)
    editor = opened(page)
    expect(editor.get_by_text("to re-render")).to_contain_text("0.5 s", timeout=WORK_MS)
    # the spectrogram of the take comes by itself
    page.wait_for_function("document.querySelector('#convert-instrument timbre-roll').data.picture", timeout=WORK_MS)
    photographed(page, "pitch-editor")
    editor.get_by_role("button", name="Apply").click()
    lanes = page.locator("#convert-instrument .track")  # the edited one in its place, the others below it
    expect(lanes.last).to_contain_text("As converted", timeout=WORK_MS)
    expect(lanes.nth(1)).to_contain_text("edited")
    expect(lanes.nth(1)).to_have_attribute("aria-checked", "true")
    expect(editor.get_by_role("button", name="Apply")).to_be_disabled()
    expect(editor.locator(".roll-stage")).to_be_in_viewport(ratio=1)  # it is not scrolled away
    expect(page.locator("#convert timbre-player, #convert timbre-roll")).to_have_count(
        1
    )  # one picture, no second player
    old, new = samples(page, -1), samples(page, 1)
    changed = np.flatnonzero(old != new) / RATE
    assert len(old) == len(new) == round(SECONDS * RATE)
    assert 1.6 < changed[0] < 2.1
    assert changed[-1] > 2.6
    # the edited take is a result like any other
    expect(page.locator("#convert-title")).to_contain_text("dited")
    # and can be undone
    editor.get_by_role("button", name="Undo").click()
    editor.get_by_role("button", name="Apply").click()
    expect(page.locator("#pitch-editor-progress")).to_be_hidden(timeout=WORK_MS)
    page.wait_for_function(
        "document.querySelector('timbre-pitch-editor').data.edits.length === 0", timeout=WORK_MS
    )  # fmt: skip
    np.testing.assert_array_equal(samples(page, 1), old)


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

    editor.get_by_role("radio", name="Draw").tap()
    finger = page.context.new_cdp_session(page)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": place["y"] + y} for x, y in places]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", (120, 80))
    for step in range(1, 12):  # down as much as to the right, where a page would scroll
        touch("touchMove", (120 + 8 * step, 80 + 8 * step))
    touch("touchEnd")
    expect(editor.get_by_text("to re-render")).to_be_visible()
    assert page.evaluate("[scrollY, document.querySelector('#convert-middle').scrollTop]") == [0, 0]
    page.get_by_role("button", name="Edit pitch").tap()
    expect(page.locator("#convert-start")).to_be_visible()
