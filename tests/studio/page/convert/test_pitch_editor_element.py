"""<timbre-pitch-editor> by itself, with a known curve and answers of the engine."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from engine.analysis.pitch import Pitch
from engine.conversion.pitch_edits import read_edits
from engine.errors import SettingsError
from engine.units import semitones_to_hertz
from studio.actions.conversions.edits import _changes, _tools
from studio.page.page_files import page_file

SECONDS = 6.0
BLANK = """<!doctype html><html><head><link rel="icon" href="data:,"><link rel="stylesheet" href="/page-files/page.css">
<script type="module" src="/page-files/pitch-editor.js"></script></head><body></body></html>"""
OPEN = """async (given) => {
  await customElements.whenDefined("timbre-pitch-editor");
  const editor = document.createElement("timbre-pitch-editor");
  window.editor = editor;
  window.ordered = [];
  window.sought = [];
  editor.addEventListener("tell-changed", async (told) => { editor.data = await answer(told.detail); });
  editor.addEventListener("tell-ordered", (told) => window.ordered.push(told.detail));
  document.addEventListener("timbre-seek", (event) => window.sought.push(event.detail));
  document.body.replaceChildren(editor);
  editor.roll = document.createElement("timbre-roll");
  editor.backdrop = { follows: "player" };
  editor.data = given;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
IS_THERE = """({ frame, hertz, within }) => {
  const { hertz: curve } = editor.querySelector("timbre-roll").data.curves[1];
  return Math.abs(12 * Math.log2(curve[frame] / hertz)) < within;
}"""


def melody() -> Pitch:
    """Two notes, A3 and C4 a little too high, from 1 to 2.5 and from 3 to 4.5 s; before, between and after, rests."""
    frame = np.arange(round(SECONDS * 100) + 1)
    note = np.where(frame < 275, 57.0, 60.3)
    voiced = ((frame >= 100) & (frame <= 250)) | ((frame >= 300) & (frame <= 450))
    return Pitch(semitones_to_hertz(note).astype(np.float32), np.where(voiced, 0.95, 0.02).astype(np.float32))


def view(edits: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    pitch = melody()
    return {
        "id": "task-1", "duration_s": SECONDS, "step_s": 0.01, "hertz": pitch.hertz.tolist(), "edits": edits or [],
        "confidence": pitch.voicing.tolist(), "changes": _changes(pitch, edits or []), "tools": _tools(),
    } | more  # fmt: skip


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """What the page answers to edits."""
    told = {"id": asked["id"], "version": asked["version"]}
    try:
        return told | {"changes": _changes(melody(), asked["edits"])}
    except SettingsError:
        return told | {"isRefused": True}


@pytest.fixture(scope="module")
def blank(browser) -> Iterator[Page]:
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.route("**/page-files/*", lambda route: route.fulfill(path=page_file(route.request.url.rpartition("/")[2])))
    page.route("**/blank", lambda route: route.fulfill(body=BLANK, content_type="text/html"))
    page.expose_function("answer", answer)
    page.goto("http://editor.test/blank")
    yield page
    context.close()
    assert not complaints


@pytest.fixture
def editor(blank) -> Page:
    blank.evaluate("localStorage.clear()")
    blank.evaluate(OPEN, view())
    return blank


def place(page: Page, seconds: float, semitones: float) -> tuple[float, float]:
    """Where on the screen a time and a note are."""
    box = page.locator(".roll-stage").bounding_box()
    found = page.evaluate(
        "([s, h]) => { const { plot } = editor.querySelector('timbre-roll'); return [plot.x(s), plot.y(h)]; }",
        [seconds, float(semitones_to_hertz(semitones))],
    )
    return box["x"] + found[0], box["y"] + found[1]


def drag(page: Page, *places: tuple[float, float]) -> None:
    """Press at the first time and note, go through the others, and let go."""
    page.mouse.move(*place(page, *places[0]))
    page.mouse.down()
    for one in places[1:]:
        page.mouse.move(*place(page, *one), steps=6)
    page.mouse.up()


def selection(page: Page) -> tuple[float, float] | None:
    found = page.evaluate("editor.selection")
    return found and (found["start"], found["end"])


def edits(page: Page) -> list[dict[str, Any]]:
    return page.evaluate("editor.edits")


def becomes(page: Page, frame: int, semitones: float, within: float = 0.02) -> None:
    """Wait until the curve is there."""
    wanted = {"frame": frame, "hertz": float(semitones_to_hertz(semitones)), "within": within}
    page.wait_for_function(IS_THERE, arg=wanted)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def choose_tool(page: Page, name: str) -> None:
    page.get_by_role("radio", name=name, exact=True).click()


# ---- selection


def test_pitch_editor_selects_a_stretch_by_dragging(editor):
    expect(editor.get_by_role("button", name="+1", exact=True)).to_be_disabled()
    where = editor.locator(".roll-stage").bounding_box()
    drag(editor, (1.2, 62), (2.0, 62))
    assert selection(editor) == pytest.approx((1.2, 2.0), abs=0.02)
    assert editor.locator(".roll-stage").bounding_box() == where  # nothing moves under the pointer
    expect(editor.get_by_role("button", name="+1", exact=True)).to_be_enabled()
    expect(editor.locator(".pitch-where").first).to_contain_text("A3 +0 ct")
    drag(editor, (2.0, 62), (2.4, 62))  # its end is taken along
    assert selection(editor) == pytest.approx((1.2, 2.4), abs=0.02)


def test_pitch_editor_selects_notes_by_double_click_and_keys(editor):
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    assert selection(editor) == pytest.approx((1.0, 2.5), abs=0.02)
    editor.keyboard.press("Alt+ArrowRight")
    assert selection(editor) == pytest.approx((3.0, 4.5), abs=0.02)
    editor.keyboard.press("Alt+ArrowLeft")
    assert selection(editor) == pytest.approx((1.0, 2.5), abs=0.02)
    editor.keyboard.press("Escape")
    assert selection(editor) is None


def test_pitch_editor_selects_by_typed_times_buttons_and_keys(editor):
    editor.get_by_label("From (seconds)").fill("1.25")
    editor.get_by_label("to (seconds)").fill("1.75")
    editor.keyboard.press("Tab")
    assert selection(editor) == (1.25, 1.75)
    editor.get_by_label("From (seconds)").fill("3")
    editor.keyboard.press("Tab")
    assert selection(editor) == (3.0, 3.5)  # as long as it was, where it is now
    editor.get_by_label("to (seconds)").fill("4")
    editor.keyboard.press("Tab")
    assert selection(editor) == (3.0, 4.0)
    editor.get_by_label("to (seconds)").fill("2")
    editor.keyboard.press("Tab")
    assert selection(editor) == (1.0, 2.0)
    press(editor, "All")
    assert selection(editor) == (0, SECONDS)
    press(editor, "None")
    assert selection(editor) is None
    editor.locator(".roll-stage").focus()
    editor.keyboard.press("Control+a")
    assert selection(editor) == (0, SECONDS)


def test_pitch_editor_click_seeks_without_selecting(editor):
    editor.mouse.click(*place(editor, 2.0, 62))
    assert editor.evaluate("window.sought.at(-1)") == {"id": "player", "seconds": pytest.approx(2.0, abs=0.02)}
    assert selection(editor) is None


# ---- tools


def test_pitch_editor_shifts_a_selection_by_dragging_the_curve(editor):
    drag(editor, (1.1, 62), (2.3, 62))
    drag(editor, (1.7, 57), (1.7, 59))
    [edit] = edits(editor)
    assert edit == {"tool": "shift", "start_s": pytest.approx(1.1, abs=0.02), "end_s": pytest.approx(2.3, abs=0.02),
                    "semitones": pytest.approx(2.0, abs=0.06)}  # fmt: skip
    becomes(editor, 170, 57 + edit["semitones"])
    becomes(editor, 120, 57 + edit["semitones"])
    becomes(editor, 90, 57.0)
    expect(editor.get_by_text("s to re-render.")).to_contain_text("1.2 s")


def test_pitch_editor_shifts_by_semitones_that_are_typed(editor):
    by = editor.get_by_label("Semitones")
    expect(by).to_be_disabled()
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    by.fill("-3.5")
    by.press("Enter")
    expect(by).to_have_value("")  # for the next one
    assert [(one["tool"], one["semitones"]) for one in edits(editor)] == [("shift", -3.5)]
    becomes(editor, 170, 53.5)


def test_pitch_editor_drags_a_note_by_semitones_and_with_alt_by_cents(editor):
    drag(editor, (3.5, 60.3), (3.6, 62.4))
    assert selection(editor) == pytest.approx((3.0, 4.5), abs=0.02)
    [edit] = edits(editor)
    assert (edit["tool"], edit["semitones"]) == ("shift", 2)
    becomes(editor, 370, 62.3)
    press(editor, "None")
    editor.keyboard.down("Alt")
    drag(editor, (1.5, 57), (1.5, 57.45))
    editor.keyboard.up("Alt")
    assert edits(editor)[1]["semitones"] == pytest.approx(0.45, abs=0.08)
    assert edits(editor)[1]["semitones"] != round(edits(editor)[1]["semitones"])
    for _ in range(2):
        press(editor, "Undo")
    becomes(editor, 370, 60.3)
    becomes(editor, 170, 57.0)


def test_pitch_editor_shows_notes_where_they_are_now(editor):
    notes = "editor.roll.data.notes.map(({ midi, cents }) => Math.round(100 * midi + cents))"
    assert editor.evaluate(notes) == [5700, 6030]
    drag(editor, (3.5, 60.3), (3.5, 62.3))
    editor.wait_for_function(f"{notes}[1] === 6230")


def test_pitch_editor_click_on_a_note_selects_it_and_plays_from_there(editor):
    editor.mouse.click(*place(editor, 2.0, 57))
    assert selection(editor) == pytest.approx((1.0, 2.5), abs=0.02)
    assert editor.evaluate("window.sought.at(-1).seconds") == pytest.approx(2.0, abs=0.02)
    assert edits(editor) == []


def test_pitch_editor_shapes_each_note_of_the_selection(editor):
    choose_tool(editor, "Note")
    expect(editor.get_by_label("Vibrato (%)")).to_be_disabled()
    press(editor, "All")
    set_slider(editor, "Centre (cents)", 40)
    set_slider(editor, "Vibrato (%)", 0)
    assert [(one["tool"], one["start_s"], one["centre"], one["vibrato"]) for one in edits(editor)] == [
        ("note", pytest.approx(1.0, abs=0.02), 0.4, 0), ("note", pytest.approx(3.0, abs=0.02), 0.4, 0),
    ]  # fmt: skip
    read_edits(edits(editor))
    becomes(editor, 170, 57.4)
    becomes(editor, 370, 60.7)
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    expect(editor.get_by_label("Centre (cents)")).to_have_value("40")
    set_slider(editor, "Slope (cents)", 100)
    assert [one.get("slope") for one in edits(editor)] == [1, None]
    becomes(editor, 110, 57.4 - 0.43, 0.05)
    editor.keyboard.press("Control+z")
    becomes(editor, 110, 57.4)
    expect(editor.get_by_label("Slope (cents)")).to_have_value("0")
    editor.get_by_label("Drift (%)").focus()
    editor.keyboard.press("ArrowLeft")
    assert edits(editor)[0]["drift"] == 0.95


def set_slider(page: Page, label: str, value: int) -> None:
    page.get_by_label(label).fill(str(value))


def test_pitch_editor_corrects_marked_octaves_by_button_and_click(editor):
    doubts = [{"start_s": 1.0, "end_s": 1.5, "by": 1}, {"start_s": 3.2, "end_s": 3.8, "by": -1}]
    editor.evaluate(OPEN, view(octaves=doubts))
    places, correct = editor.locator(".pitch-places"), editor.get_by_role("button", name="Correct octave", exact=True)
    expect(places).to_have_text("Octave? 2 places")
    expect(correct).to_be_hidden()
    places.click()
    assert selection(editor) == (1.0, 1.5)
    expect(editor.locator(".pitch-where").first).to_contain_text("A3, probably A4")
    places.click()
    assert selection(editor) == (3.2, 3.8)
    places.click()
    assert selection(editor) == (1.0, 1.5)
    correct.click()
    becomes(editor, 125, 69.0)
    expect(places).to_have_text("Octave? 1 place")
    editor.mouse.click(*place(editor, 3.5, 60.3))
    becomes(editor, 350, 48.3)
    expect(places).to_be_hidden()
    assert [(one["tool"], one["by"]) for one in edits(editor)] == [("octave", 1), ("octave", -1)]
    press(editor, "Undo")
    expect(places).to_have_text("Octave? 1 place")


def test_pitch_editor_merges_shifts_of_one_selection(editor):
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    for _ in range(3):
        press(editor, "+1")
    press(editor, "−0.1")  # noqa: RUF001 - a real minus, as it is shown
    assert [one["semitones"] for one in edits(editor)] == [pytest.approx(2.9)]
    becomes(editor, 170, 59.9)
    editor.locator(".roll-stage").focus()
    editor.keyboard.press("Alt+ArrowUp")
    for _ in range(3):
        editor.keyboard.press("ArrowDown")
    assert edits(editor) == []
    becomes(editor, 170, 57.0)
    expect(editor.get_by_role("button", name="Apply")).to_be_disabled()


def test_pitch_editor_applies_snap_fix_octave_and_smooth(editor):
    editor.mouse.dblclick(*place(editor, 3.5, 62))
    choose_tool(editor, "Snap to notes")
    editor.get_by_label("Scale").select_option("C major")
    press(editor, "Snap")
    becomes(editor, 370, 60.0)
    choose_tool(editor, "Fix octave")
    press(editor, "Octave down")
    becomes(editor, 370, 48.0)
    choose_tool(editor, "Smooth")
    editor.get_by_label("Milliseconds").fill("400")
    press(editor, "Smooth")
    assert [one["tool"] for one in edits(editor)] == ["snap", "octave", "smooth"]
    assert edits(editor)[0] | {"start_s": 0, "end_s": 0} == {
        "tool": "snap", "start_s": 0, "end_s": 0, "strength": 1, "scale": "C major",
    }  # fmt: skip
    assert edits(editor)[2]["milliseconds"] == 400
    read_edits(edits(editor))


def test_pitch_editor_draws_a_curve_and_sets_a_note(editor):
    choose_tool(editor, "Draw")
    drag(editor, (1.0, 57), (1.5, 60), (2.0, 58))
    [edit] = edits(editor)
    assert (edit["tool"], edit["start_s"]) == ("draw", pytest.approx(1.0, abs=0.03))
    assert len(edit["points"]) > 8
    becomes(editor, 150, 60.0, 0.4)
    drag(editor, (1.2, 61), (1.8, 61))
    assert len(edits(editor)) == 2
    becomes(editor, 150, 61.0, 0.1)
    editor.get_by_label("Note", exact=True).select_option(label="E3")
    press(editor, "Set note")
    becomes(editor, 150, 52.0)


def test_pitch_editor_chooses_tools_by_arrow_keys(editor):
    choose_tool(editor, "Shift")
    editor.keyboard.press("ArrowRight")
    expect(editor.get_by_role("radio", name="Note", exact=True)).to_be_focused()
    expect(editor.get_by_role("radio", name="Note", exact=True)).to_have_attribute("aria-checked", "true")
    editor.keyboard.press("ArrowLeft")
    editor.keyboard.press("ArrowLeft")
    expect(editor.get_by_role("radio", name="Draw", exact=True)).to_be_focused()


# ---- steps


def test_pitch_editor_undoes_and_redoes_edits(editor):
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    press(editor, "+1")
    editor.keyboard.press("Alt+ArrowRight")
    press(editor, "+12")
    assert len(edits(editor)) == 2
    press(editor, "Undo")
    becomes(editor, 370, 60.3)
    becomes(editor, 170, 58.0)
    editor.keyboard.press("Control+z")
    becomes(editor, 170, 57.0)
    expect(editor.get_by_role("button", name="Undo")).to_be_disabled()
    editor.keyboard.press("Control+Shift+z")
    press(editor, "Redo")
    becomes(editor, 370, 72.3)
    press(editor, "Revert")
    assert edits(editor) == []
    press(editor, "Undo")
    assert len(edits(editor)) == 2


def test_pitch_editor_undoes_a_refused_edit(editor):
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    press(editor, "+1")
    editor.evaluate("editor.apply({ tool: 'shift', start_s: 1, end_s: 1.5, semitones: 99 })")
    editor.wait_for_function("editor.edits.length === 1")
    becomes(editor, 170, 58.0)
    expect(editor.get_by_role("button", name="Redo")).to_be_disabled()


def test_pitch_editor_keeps_unrendered_edits_after_a_reload(editor):
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    press(editor, "+1")
    done = edits(editor)
    editor.evaluate(OPEN, view())
    becomes(editor, 170, 58.0)
    assert edits(editor) == done
    press(editor, "Undo")
    assert edits(editor) == []
    press(editor, "Redo")
    editor.evaluate(OPEN, view(id="another-1"))
    assert edits(editor) == []
    editor.evaluate(OPEN, view(done))  # it has been rendered meanwhile
    assert edits(editor) == done
    expect(editor.get_by_role("button", name="Apply")).to_be_disabled()


def test_pitch_editor_requests_a_render_of_the_edits_once(editor):
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    press(editor, "+1")
    press(editor, "Apply")
    assert editor.evaluate("window.ordered") == [{"id": "task-1", "edits": edits(editor)}]
    editor.evaluate("editor.data = { id: 'task-1', isBusy: true }")
    expect(editor.get_by_role("button", name="Rendering")).to_be_disabled()
    editor.evaluate("(given) => { editor.data = given; }", view(edits(editor)))
    expect(editor.get_by_role("button", name="Apply")).to_be_disabled()
    assert selection(editor) == pytest.approx((1.0, 2.5), abs=0.02)  # as it was
    press(editor, "Undo")
    expect(editor.get_by_role("button", name="Apply")).to_be_enabled()
    becomes(editor, 170, 57.0)


def test_pitch_editor_requests_an_unknown_take_after_partial_data(editor):
    editor.evaluate(
        "window.wanted = []; editor.addEventListener('tell-wanted', (told) => window.wanted.push(told.detail));"
        "editor.data = { id: 'another-2', version: 1, changes: [] };"
    )
    assert editor.evaluate("window.wanted") == [{"id": "another-2"}]
