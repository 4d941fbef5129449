"""<timbre-roll> by itself, with sounds that are known: where things are drawn, and what mouse, finger and keys do."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.browsers import blank_page

# ten seconds on A3 (220 Hz), the middle third silent; loud in its second half
MAKE = """async (given) => {
  await customElements.whenDefined("timbre-roll");
  document.body.replaceChildren();
  const roll = document.createElement("timbre-roll");
  roll.style.setProperty("--roll-height", "320px");
  const count = 1001, third = (i) => i > 333 && i < 667;
  roll.data = {
    id: "one", duration_s: 10, follows: "player",
    curves: [{ label: "Pitch", colour: "#ff0000", step_s: 0.01,
               hertz: Array.from({ length: count }, (_, i) => (third(i) ? null : 220)),
               confidence: Array.from({ length: count }, (_, i) => (third(i) ? 0.02 : 0.97)) }],
    loudness: { step_s: 0.01, db: Array.from({ length: count }, (_, i) => (i < 500 ? -50 : -10)) },
    notes: [{ start_s: 1, end_s: 3, midi: 57, cents: 0 }], range: { low: 55, high: 60, label: "Range" }, ...given,
  };
  document.body.append(roll);
  window.roll = roll;
  window.sought = [];
  window.listens ??= document.addEventListener("timbre-seek", (event) => window.sought.push(event.detail)) ?? true;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
# [red, green, blue] on the canvas at these seconds and hertz
COLOUR = """([seconds, hertz, layer]) => {
  const canvas = document.querySelectorAll(".roll-stage canvas")[layer], ratio = devicePixelRatio;
  const [x, y] = [roll.plot.x(seconds), roll.plot.y(hertz)];
  return [...canvas.getContext("2d").getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data];
}"""
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


HEAD = """<link rel="stylesheet" href="/page-files/page.css">
<script type="module" src="/page-files/roll.js"></script>"""


@pytest.fixture(scope="module")
def blank(browser) -> Iterator[Page]:
    with blank_page(browser, HEAD) as page:
        yield page


@pytest.fixture
def roll(blank) -> Page:
    blank.evaluate(MAKE, {})
    return blank


def seen(page: Page) -> tuple[float, float]:
    """Which seconds are looked at."""
    page.evaluate(PAINTED)
    start, end = page.evaluate("[roll.plot.start, roll.plot.end]")
    return start, end


def at(page: Page, seconds: float, hertz: float = 220.0) -> tuple[float, float]:
    """Where in the window that is."""
    box = page.locator(".roll-stage").bounding_box()
    x, y = page.evaluate("([s, h]) => [roll.plot.x(s), roll.plot.y(h)]", [seconds, hertz])
    return box["x"] + x, box["y"] + y


def test_roll_draws_a_curve_only_at_its_pitch(roll):
    red, green, blue, alpha = roll.evaluate(COLOUR, [2.0, 220, 0])
    assert (red > 200, green < 60, blue < 60, alpha > 200) == (True, True, True, True)
    for seconds, hertz in ((5.0, 220), (2.0, 440), (2.0, 150)):  # silence, an octave above, below
        red, green, blue, _ = roll.evaluate(COLOUR, [seconds, hertz, 0])
        assert not (red > 200 and green < 60), (seconds, hertz)


def test_roll_draws_a_curve_with_its_offset_and_transposition(blank):
    curve = {"label": "b", "colour": "#ff0000", "step_s": 0.01, "hertz": [220] * 101, "offset_s": 4, "semitones": 12}
    blank.evaluate(MAKE, {"curves": [curve]})
    assert blank.evaluate(COLOUR, [4.5, 440, 0])[0] > 200
    assert blank.evaluate(COLOUR, [0.5, 220, 0])[3] < 255 or blank.evaluate(COLOUR, [0.5, 220, 0])[1] > 100


def test_roll_buttons_hide_curves_and_lanes(roll):
    button = roll.get_by_role("button", name="Pitch", exact=True)
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    roll.evaluate(PAINTED)
    assert not roll.evaluate(COLOUR, [2.0, 220, 0])[0] > 200
    height = roll.locator(".roll-stage").bounding_box()["height"]
    roll.get_by_role("button", name="Loudness").click()
    roll.evaluate(PAINTED)
    assert roll.locator(".roll-stage").bounding_box()["height"] < height - 40


def test_roll_zooms_and_scrolls_with_keys(roll):
    stage = roll.get_by_role("slider", name="Pitch and spectrogram")
    stage.focus()
    assert seen(roll) == (0, 10)
    for _ in range(3):
        roll.keyboard.press("+")
    start, end = seen(roll)
    assert end - start == pytest.approx(10 / 1.6**3)
    roll.keyboard.press("PageDown")
    assert seen(roll)[0] == pytest.approx(start + 0.9 * (end - start))
    roll.keyboard.press("End")  # the cursor goes there, and what is seen with it
    assert seen(roll)[1] == pytest.approx(10)
    roll.keyboard.press("0")
    assert seen(roll) == (0, 10)


def test_roll_describes_the_pitch_at_the_cursor(roll):
    stage = roll.locator(".roll-stage")
    stage.focus()
    roll.keyboard.press("Home")
    for _ in range(5):
        roll.keyboard.press("ArrowRight")  # a fiftieth of what is seen each: a second
    roll.evaluate(PAINTED)
    told = stage.get_attribute("aria-valuetext")
    assert told == "0:01.00, Pitch: A3 +0 ct · 220.0 Hz (confidence 97 %), \N{MINUS SIGN}50.0 dB"
    assert float(stage.get_attribute("aria-valuenow")) == 1.0
    roll.keyboard.press("Enter")
    assert roll.evaluate("sought") == [{"id": "player", "seconds": pytest.approx(1.0)}]


def test_roll_zoom_and_scroll_stay_within_the_recording(roll):
    roll.evaluate("roll.show(-5, 100)")
    assert seen(roll) == (0, 10)
    roll.evaluate("roll.show(9, 9.0001)")
    start, end = seen(roll)
    assert (end - start, end) == (pytest.approx(0.05), pytest.approx(9.05, abs=0.06))


def test_roll_seeks_on_click_and_scrolls_on_drag(roll):
    roll.mouse.click(*at(roll, 7.5))
    (sought,) = roll.evaluate("sought")
    assert sought["seconds"] == pytest.approx(7.5, abs=0.03)
    roll.evaluate("roll.show(4, 6)")
    roll.evaluate(PAINTED)
    x, y = at(roll, 5.0)
    roll.mouse.move(x, y)
    roll.mouse.down()
    roll.mouse.move(*at(roll, 4.5), steps=4)
    roll.mouse.up()
    assert seen(roll) == (pytest.approx(4.5, abs=0.03), pytest.approx(6.5, abs=0.03))
    assert len(roll.evaluate("sought")) == 1


def test_roll_zooms_on_wheel_only_with_ctrl(roll):
    roll.mouse.move(*at(roll, 2.5))
    roll.mouse.wheel(0, -200)
    assert seen(roll) == (0, 10)
    roll.keyboard.down("Control")
    roll.mouse.wheel(0, -200)
    roll.keyboard.up("Control")
    roll.wait_for_function("roll.plot.span < 9")
    start, end = seen(roll)
    assert (2.5 - start) / (end - start) == pytest.approx(0.25, abs=0.02)  # what the pointer is at stays where it is
    roll.mouse.wheel(120, 0)
    roll.wait_for_function("before => roll.plot.start > before", arg=start)


def test_roll_zooms_on_pinch(browser):
    with blank_page(browser, HEAD, has_touch=True) as page:
        page.evaluate(MAKE, {})
        pinch(page)
        page.wait_for_function("roll.plot.span < 9")
        assert page.evaluate("sought") == []


def pinch(page: Page) -> None:
    (left, y), (right, _) = at(page, 4.0), at(page, 6.0)
    fingers = page.context.new_cdp_session(page)

    def touch(kind: str, *places: float) -> None:
        points = [{"x": x, "y": y, "id": number} for number, x in enumerate(places)]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", left)
    touch("touchStart", left, right)
    for step in range(1, 6):
        touch("touchMove", left, right + 15 * step)
    touch("touchEnd")


def test_roll_follows_only_its_player(roll):
    tell = """([id, seconds, playing]) => document.dispatchEvent(
      new CustomEvent("timbre-time", { detail: { id, seconds, playing } }))"""
    roll.evaluate("roll.show(0, 2)")
    roll.evaluate(tell, ["another", 8, True])
    assert seen(roll) == (0, 2)
    roll.evaluate(tell, ["player", 1, True])
    roll.evaluate(PAINTED)
    assert roll.evaluate(COLOUR, [1.0, 440, 1])[3] == 255  # the line of the player is drawn over the picture
    roll.evaluate(tell, ["player", 8, True])
    assert seen(roll) == (pytest.approx(7.9), pytest.approx(9.9))
    roll.evaluate(tell, ["player", 1, False])  # where nothing plays, what is seen stays
    assert seen(roll)[0] == pytest.approx(7.9)


def test_rolls_of_one_group_scroll_together(blank):
    blank.evaluate(MAKE, {"group": "both"})
    blank.evaluate(
        "() => { const other = document.createElement('timbre-roll'); other.data = {...roll.data, id: 'two'};"
        " document.body.append(other); window.other = other; }"
    )
    blank.evaluate("roll.show(3, 5)")
    assert blank.evaluate("[other.plot.start, other.plot.end]") == [3, 5]


@pytest.mark.parametrize("scale", ["note", "mel", "linear"])
def test_plot_converts_pitch_and_time_to_pixels_and_back(roll, scale):
    picture = {"scale": scale, "lowest_hertz": 65.4 if scale == "note" else 0, "highest_hertz": 4186, "url": None}
    worst = roll.evaluate(
        """async (picture) => {
          const { Plot } = await import("/page-files/roll-drawing.js");
          const plot = new Plot(10);
          plot.box = { x: 50, y: 4, width: 900, height: 300 };
          plot.usePicture(picture);
          let worst = 0;
          const note = (error) => (worst = Math.max(worst, Math.abs(error)));
          for (let hertz = 70; hertz < 4000; hertz *= 1.07) note(plot.hertz(plot.y(hertz)) / hertz - 1);
          for (let s = 0; s <= 10; s += 0.37) note(plot.seconds(plot.x(s)) - s);
          return [worst, plot.y(picture.highest_hertz), plot.y(picture.lowest_hertz)];
        }""",
        picture,
    )
    assert worst == [pytest.approx(0, abs=1e-9), pytest.approx(4), pytest.approx(304)]


def test_roll_drawing_formats_note_names_and_times(roll):
    named = roll.evaluate(
        """async () => {
          const { noteName, noteWithCents, toMidi, clock } = await import("/page-files/roll-drawing.js");
          return [noteName(60), noteName(57.4), noteName(-1), noteWithCents(57.12), noteWithCents(56.9), toMidi(440),
                  clock(75.345, 1), clock(0, 2), clock(59.99, 1), clock(3600, 0)];
        }"""
    )
    assert named == [
        "C4",
        "A3",
        "B-2",
        "A3 +12 ct",
        "A3 \N{MINUS SIGN}10 ct",
        69,
        "1:15.3",
        "0:00.00",
        "1:00.0",
        "60:00",
    ]


def test_roll_shows_an_error_for_a_curve_that_cannot_be_loaded(blank):
    blank.route("**/files/gone.json", lambda route: route.fulfill(status=200, body="{"))  # no error of the network's
    blank.evaluate(MAKE, {"curves": [{"label": "Pitch", "url": "/files/gone.json"}]})
    blank.get_by_role("alert").filter(has_text="could not be loaded").wait_for()


def test_roll_accepts_missing_and_empty_data(roll):
    roll.evaluate("roll.data = null")
    assert roll.locator("timbre-roll").inner_html() == ""
    roll.evaluate("roll.data = {id: 'x', duration_s: 0, curves: []}")
    roll.evaluate(PAINTED)
    assert roll.locator(".roll-stage").is_visible()


def test_roll_escapes_labels(blank):
    curve = {"label": "<img src=x onerror=document.title='owned'>", "step_s": 0.01, "hertz": [220] * 9}
    blank.evaluate(MAKE, {"curves": [curve]})
    assert blank.locator("timbre-roll img").count() == 0
    assert blank.get_by_role("button", name="<img").is_visible()
