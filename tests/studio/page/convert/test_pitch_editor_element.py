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
from studio.store.records.codec import plain
from tests.browsers import blank_page

SECONDS = 6.0
HEAD = """<link rel="stylesheet" href="/page-files/page.css">
<script type="module" src="/page-files/pitch-editor.js"></script>"""
OPEN = """async (given) => {
  await customElements.whenDefined("timbre-pitch-editor");
  if (window.editor) window.editor.data = null; // of the test before
  const editor = document.createElement("timbre-pitch-editor");
  window.editor = editor;
  const { Steps } = await import("/page-files/edit-steps.js");
  for (const [target, name, listener] of window.steps?.heard ?? []) target.removeEventListener(name, listener);
  window.steps = new Steps(() => {}, (again) => { window.again = again; });
  for (const [target, name, listener] of steps.heard) target.addEventListener(name, listener);
  window.ordered = [];
  window.previewed = [];
  window.expected = [];
  editor.addEventListener("tell-expected", (told) => window.expected.push(told.detail));
  editor.addEventListener("tell-previewed", (told) => window.previewed.push(told.detail));
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
    curves = {"step_s": 0.01, "hertz": pitch.hertz.tolist(), "confidence": pitch.voicing.tolist()}
    edited = {"edits": edits or [], "changes": _changes(pitch, edits or []), "tools": _tools()}
    return plain({"id": "task-1", "duration_s": SECONDS} | curves | edited | more)


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """What the page answers to edits."""
    told = {"id": asked["id"], "version": asked["version"]}
    try:
        return told | {"changes": plain(_changes(melody(), asked["edits"]))}
    except SettingsError:
        return told | {"isRefused": True}


@pytest.fixture(scope="module")
def blank(browser) -> Iterator[Page]:
    with blank_page(browser, HEAD, viewport={"width": 1200, "height": 900}) as page:
        page.expose_function("answer", answer)
        yield page


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


# ---- selection


def test_pitch_editor_selects_a_stretch_by_dragging(editor):
    bubble = editor.locator(".pitch-bubble")
    expect(bubble).to_be_hidden()
    where = editor.locator(".roll-stage").bounding_box()
    drag(editor, (1.2, 62), (2.0, 62))
    assert selection(editor) == pytest.approx((1.2, 2.0), abs=0.02)
    assert editor.locator(".roll-stage").bounding_box() == where  # nothing moves under the pointer
    expect(bubble).to_be_visible()
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
    press(editor, "All")
    open_more(editor)
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
    editor.locator(".roll-stage").focus()
    editor.keyboard.press("Escape")
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
    assert edit == (
        {"tool": "shift", "start_s": pytest.approx(1.1, abs=0.02), "end_s": pytest.approx(2.3, abs=0.02)}
        | {"semitones": pytest.approx(2.0, abs=0.06)}
    )
    becomes(editor, 170, 57 + edit["semitones"])
    becomes(editor, 120, 57 + edit["semitones"])
    becomes(editor, 90, 57.0)


def test_pitch_editor_moves_to_semitones_that_are_typed(editor):
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    by = editor.get_by_label("Pitch (semitones)")
    for wanted in ("-3.5", "2"):
        by.fill(wanted)
        by.press("Enter")
        assert [(one["tool"], one["semitones"]) for one in edits(editor)] == [("shift", float(wanted))]
        expect(by).to_have_value(wanted)
    becomes(editor, 170, 59.0)


def test_pitch_editor_asks_for_the_sound_of_what_is_touched_while_it_is_dragged(editor):
    editor.evaluate("window.previewed.length = 0")
    editor.mouse.move(*place(editor, 3.5, 60.3))
    editor.mouse.down()
    editor.mouse.move(*place(editor, 3.5, 61.3), steps=4)
    editor.mouse.move(*place(editor, 3.5, 62.3), steps=4)
    heard = editor.evaluate("window.previewed")  # before it is let go: once for each semitone
    assert [[one["semitones"] for one in each["edits"]] for each in heard] == [[1], [2]]
    assert {(one["start_s"], one["end_s"]) for one in heard} == {selection(editor)}
    assert edits(editor) == []
    editor.mouse.up()
    assert editor.evaluate("window.previewed.at(-1).edits") == edits(editor)


def test_pitch_editor_previews_what_a_slider_would_do_and_makes_one_step_of_it(editor):
    press(editor, "All")
    slider = editor.get_by_label("Drift")
    for value in (80, 40):
        slider.evaluate("(one, value) => { one.value = value; one.dispatchEvent(new Event('input')); }", value)
    assert [one["edits"][0]["drift"] for one in editor.evaluate("window.previewed.slice(-2)")] == [0.8, 0.4]
    assert edits(editor) == []
    slider.evaluate("one => one.dispatchEvent(new Event('change'))")
    assert [one["drift"] for one in edits(editor)] == [0.4, 0.4]
    editor.evaluate("steps.undo()")
    assert edits(editor) == []


def test_pitch_editor_shapes_formant_and_level_of_a_note_as_steps_with_their_names(editor):
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    for name, value, said in (("Formant", "-1.5", "\N{MINUS SIGN}1.5 st"), ("Level", "3", "3.0 dB")):
        slider = editor.locator(".pitch-bubble").get_by_label(name)
        slider.fill(value)
        expect(slider).to_have_attribute("aria-valuetext", said)
        assert editor.evaluate("steps.names.undo") == name
    [one] = edits(editor)
    assert (one["tool"], one["formant_shift_semitones"], one["level_db"]) == ("note", -1.5, 3)
    assert editor.evaluate("window.previewed.at(-1).edits") == [one]
    read_edits([one])
    editor.wait_for_function("window.ordered.length")  # it sounds differently, though its curve does not
    editor.evaluate("steps.undo()")
    assert "level_db" not in edits(editor)[0]
    editor.get_by_label("Formant").dblclick()  # as it was
    assert edits(editor)[0]["formant_shift_semitones"] == 0


def test_pitch_editor_expects_the_notes_that_the_pointer_and_the_selection_rest_on_once(editor):
    expected = "window.expected.map(({ start_s, end_s }) => [start_s, end_s])"
    assert editor.evaluate(expected) == [[pytest.approx(1.0, abs=0.02), pytest.approx(2.5, abs=0.02)]]  # the next one
    for seconds in (3.5, 2.0, 4.0):
        editor.mouse.move(*place(editor, seconds, 62))
        editor.wait_for_timeout(150)
    second = [pytest.approx(3.0, abs=0.02), pytest.approx(4.5, abs=0.02)]
    assert editor.evaluate(expected)[1:] == [second]
    drag(editor, (0.2, 62), (0.8, 62))
    editor.wait_for_function("window.expected.length === 3")
    assert editor.evaluate("window.previewed") == []


def test_pitch_editor_splits_a_note_and_merges_it_again_without_changing_the_sound(editor):
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    press(editor, "Split")
    assert selection(editor) == pytest.approx((1.0, 1.5), abs=0.02)  # at the cursor
    notes = "editor.roll.data.notes.map(({ start_s, end_s }) => [start_s, end_s])"
    assert [start for start, _ in editor.evaluate(notes)] == pytest.approx([1.0, 1.5, 3.0], abs=0.02)
    read_edits(edits(editor))
    press(editor, "+")  # of the first half alone
    becomes(editor, 130, 58.0)
    becomes(editor, 220, 57.0)
    for _ in range(2):
        editor.evaluate("steps.undo()")
    assert len(editor.evaluate(notes)) == 2
    press(editor, "All")
    expect(editor.get_by_role("button", name="Split", exact=True)).to_be_disabled()
    press(editor, "Merge")
    assert editor.evaluate(notes) == [[pytest.approx(1.0, abs=0.02), pytest.approx(4.5, abs=0.02)]]
    read_edits(edits(editor))
    editor.wait_for_timeout(1600)
    assert editor.evaluate("window.ordered") == []  # nothing sounds differently


def test_pitch_editor_bubble_stands_beside_the_note_within_the_picture_and_is_reached_by_tab(editor):
    for seconds, note in ((1.2, 57), (4.4, 60.3)):
        editor.mouse.click(*place(editor, seconds, note))
        editor.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        bubble, stage = (editor.locator(one).bounding_box() for one in (".pitch-bubble", ".roll-stage"))
        assert stage["x"] <= bubble["x"]
        assert bubble["x"] + bubble["width"] <= stage["x"] + stage["width"]
        assert stage["y"] <= bubble["y"]
        assert bubble["y"] + bubble["height"] < place(editor, seconds, note)[1]
    editor.locator(".roll-stage").focus()
    editor.keyboard.press("Tab")
    assert editor.evaluate("Boolean(document.activeElement.closest('.pitch-bubble'))")


def test_pitch_editor_drags_a_note_by_semitones_and_with_alt_by_cents(editor):
    drag(editor, (3.5, 60.3), (3.6, 62.4))
    assert selection(editor) == pytest.approx((3.0, 4.5), abs=0.02)
    [edit] = edits(editor)
    assert (edit["tool"], edit["semitones"]) == ("shift", 2)
    becomes(editor, 370, 62.3)
    editor.keyboard.press("Escape")
    editor.keyboard.down("Alt")
    drag(editor, (1.5, 57), (1.5, 57.45))
    editor.keyboard.up("Alt")
    assert edits(editor)[1]["semitones"] == pytest.approx(0.45, abs=0.08)
    assert edits(editor)[1]["semitones"] != round(edits(editor)[1]["semitones"])
    for _ in range(2):
        editor.evaluate("steps.undo()")
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
    press(editor, "All")
    open_more(editor)
    set_slider(editor, "Centre", 40)
    set_slider(editor, "Vibrato", 0)
    assert [(one["tool"], one["start_s"], one["centre"], one["vibrato"]) for one in edits(editor)] == [
        ("note", pytest.approx(1.0, abs=0.02), 0.4, 0),
        ("note", pytest.approx(3.0, abs=0.02), 0.4, 0),
    ]
    read_edits(edits(editor))
    becomes(editor, 170, 57.4)
    becomes(editor, 370, 60.7)
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    open_more(editor)
    expect(editor.get_by_label("Centre")).to_have_value("40")
    set_slider(editor, "Slope", 100)
    assert [one.get("slope") for one in edits(editor)] == [1, None]
    becomes(editor, 110, 57.4 - 0.43, 0.05)
    editor.evaluate("steps.undo()")
    becomes(editor, 110, 57.4)
    expect(editor.get_by_label("Slope")).to_have_value("0")
    editor.get_by_label("Drift").focus()
    editor.keyboard.press("ArrowLeft")
    assert edits(editor)[0]["drift"] == 0.95


def set_slider(page: Page, label: str, value: int) -> None:
    page.get_by_label(label).fill(str(value))


def open_more(page: Page) -> None:
    if not page.locator(".pitch-more[open]").count():
        page.locator(".pitch-more summary").click()


def test_pitch_editor_corrects_marked_octaves_by_button_and_click(editor):
    doubts = [{"start_s": 1.0, "end_s": 1.5, "by": 1}, {"start_s": 3.2, "end_s": 3.8, "by": -1}]
    editor.evaluate(OPEN, view(octaves=doubts))
    places, correct = editor.locator(".pitch-places"), editor.get_by_role("button", name="Correct octave", exact=True)
    expect(places).to_have_accessible_name("Octave? 2 places")
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
    expect(places).to_have_accessible_name("Octave? 1 place")
    editor.mouse.click(*place(editor, 3.5, 60.3))
    becomes(editor, 350, 48.3)
    expect(places).to_be_hidden()
    assert [(one["tool"], one["by"]) for one in edits(editor)] == [("octave", 1), ("octave", -1)]
    editor.evaluate("steps.undo()")
    expect(places).to_have_accessible_name("Octave? 1 place")


def test_pitch_editor_merges_shifts_of_one_selection(editor):
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    for _ in range(3):
        press(editor, "+")
    editor.locator(".roll-stage").focus()
    editor.keyboard.press("Alt+ArrowDown")
    assert [one["semitones"] for one in edits(editor)] == [pytest.approx(2.9)]
    becomes(editor, 170, 59.9)
    editor.locator(".roll-stage").focus()
    editor.keyboard.press("Alt+ArrowUp")
    for _ in range(3):
        editor.keyboard.press("ArrowDown")
    assert edits(editor) == []
    becomes(editor, 170, 57.0)


def test_pitch_editor_applies_snap_fix_octave_and_smooth(editor):
    editor.mouse.dblclick(*place(editor, 3.5, 62))
    open_more(editor)
    editor.get_by_label("Scale").select_option("C major")
    press(editor, "Snap")
    becomes(editor, 370, 60.0)
    open_more(editor)
    press(editor, "Octave down")
    becomes(editor, 370, 48.0)
    open_more(editor)
    editor.get_by_label("Milliseconds").fill("400")
    press(editor, "Smooth")
    assert [one["tool"] for one in edits(editor)] == ["snap", "octave", "smooth"]
    expected = {"tool": "snap", "start_s": 0, "end_s": 0, "strength": 1, "scale": "C major"}
    assert edits(editor)[0] | {"start_s": 0, "end_s": 0} == expected
    assert edits(editor)[2]["milliseconds"] == 400
    read_edits(edits(editor))


def test_pitch_editor_draws_a_curve_and_sets_a_note(editor):
    press(editor, "Draw")
    drag(editor, (1.0, 57), (1.5, 60), (2.0, 58))
    [edit] = edits(editor)
    assert (edit["tool"], edit["start_s"]) == ("draw", pytest.approx(1.0, abs=0.03))
    assert len(edit["points"]) > 8
    becomes(editor, 150, 60.0, 0.4)
    drag(editor, (1.2, 61), (1.8, 61))
    assert len(edits(editor)) == 2
    becomes(editor, 150, 61.0, 0.1)
    open_more(editor)
    editor.get_by_label("Note", exact=True).select_option(label="E3")
    press(editor, "Set note")
    becomes(editor, 150, 52.0)


# ---- steps


def test_pitch_editor_edits_are_steps_of_the_page_that_are_undone_and_done_again(editor):
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    press(editor, "+")
    editor.locator(".roll-stage").focus()
    editor.keyboard.press("Alt+ArrowRight")
    press(editor, "+")
    assert len(edits(editor)) == 2
    assert editor.evaluate("steps.names.undo") == "Move notes"
    editor.evaluate("steps.undo()")
    becomes(editor, 370, 60.3)
    becomes(editor, 170, 58.0)
    editor.evaluate("steps.undo()")
    becomes(editor, 170, 57.0)
    assert editor.evaluate("steps.names.undo === undefined")
    editor.evaluate("steps.redo(); steps.redo()")
    becomes(editor, 370, 61.3)
    press(editor, "Revert")
    assert edits(editor) == []
    editor.evaluate("steps.undo()")
    assert len(edits(editor)) == 2


def test_pitch_editor_keeps_a_step_of_a_take_that_is_not_open_until_it_is(editor):
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    press(editor, "+")
    editor.evaluate("editor.data = null; steps.undo()")
    assert editor.evaluate("steps.names.undo") == "Move notes"  # not lost
    editor.evaluate("(given) => { editor.data = given; window.again(); }", view())
    assert edits(editor) == []
    assert editor.evaluate("steps.names.redo") == "Move notes"


def test_pitch_editor_undoes_a_refused_edit(editor):
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    press(editor, "+")
    editor.evaluate("editor.apply({ tool: 'shift', start_s: 1, end_s: 1.5, semitones: 99 })")
    editor.wait_for_function("editor.edits.length === 1")
    becomes(editor, 170, 58.0)
    assert editor.evaluate("steps.names.redo === undefined")


def test_pitch_editor_keeps_unrendered_edits_after_a_reload(editor):
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    press(editor, "+")
    done = edits(editor)
    editor.evaluate(OPEN, view())
    becomes(editor, 170, 58.0)
    assert edits(editor) == done
    editor.evaluate(OPEN, view(id="another-1"))
    assert edits(editor) == []
    editor.evaluate(OPEN, view(done))  # it has been rendered meanwhile
    assert edits(editor) == done


def test_pitch_editor_has_all_rendered_by_itself_once_there_is_a_pause(editor):
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    press(editor, "+")
    editor.wait_for_function("window.ordered.length")
    first = edits(editor)
    assert editor.evaluate("window.ordered") == [{"id": "task-1", "edits": first}]
    editor.evaluate("editor.data = { id: 'task-1', isBusy: true }")
    press(editor, "+")  # meanwhile
    editor.wait_for_timeout(1600)
    assert editor.evaluate("window.ordered.length") == 1  # one after the other
    editor.evaluate("(given) => { editor.data = given; }", view(first))
    editor.wait_for_function("window.ordered.length === 2")
    assert editor.evaluate("window.ordered[1].edits") == edits(editor)
    assert edits(editor)[0]["semitones"] == 2  # what was done meanwhile is not lost
    assert selection(editor) == pytest.approx((1.0, 2.5), abs=0.02)


def test_pitch_editor_does_not_order_again_what_was_cancelled(editor):
    editor.mouse.dblclick(*place(editor, 1.5, 62))
    press(editor, "+")
    editor.wait_for_function("window.ordered.length")
    editor.evaluate("editor.data = { id: 'task-1', isBusy: true }; editor.data = { id: 'task-1', isBusy: false };")
    editor.wait_for_timeout(1600)
    assert editor.evaluate("window.ordered.length") == 1


def test_pitch_editor_requests_an_unknown_take_after_partial_data(editor):
    editor.evaluate(
        "window.wanted = []; editor.addEventListener('tell-wanted', (told) => window.wanted.push(told.detail));"
        "editor.data = { id: 'another-2', version: 1, changes: [] };"
    )
    assert editor.evaluate("window.wanted") == [{"id": "another-2"}]
