"""<timbre-instrument> by itself, with the parts that the page brings it."""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Page, expect

from tests.browsers import blank_page
from tests.studio.page.convert.test_pitch_editor_element import view

SECONDS, RATE = 3.0, 16_000
MINUS = "\N{MINUS SIGN}"
ROLL = {"range": {"low": 50, "high": 60, "label": "Range"}}
HEAD = """<link rel="stylesheet" href="/page-files/page.css">
<style>:root { --border-color-primary: gray; }</style>
<script type="module" src="/page-files/instrument.js"></script>
<script type="module" src="/page-files/comp.js"></script>"""
OPEN = """async () => {
  await customElements.whenDefined("timbre-instrument");
  window.instrument = document.createElement("timbre-instrument");
  document.body.replaceChildren(instrument);
}"""

DISPLAY = "document.querySelector('.display').open"


@pytest.fixture(scope="module")
def blank(browser) -> Iterator[Page]:
    with blank_page(browser, HEAD, viewport={"width": 1280, "height": 720}) as page:
        for sounds in ("**/*.wav", "**/files/*"):
            page.route(sounds, lambda route: route.fulfill(body=tone(), content_type="audio/wav"))
        yield page


@pytest.fixture
def instrument(blank) -> Page:
    blank.evaluate("localStorage.clear()")  # what an earlier test left
    blank.evaluate(OPEN)
    return blank


def tone() -> bytes:
    time_s = np.arange(round(SECONDS * RATE)) / RATE
    file = io.BytesIO()
    soundfile.write(file, 0.1 * np.sin(2 * np.pi * 220 * time_s), RATE, format="WAV")
    return file.getvalue()


def takes(**more: Any) -> dict[str, Any]:
    track = {"key": "task-1", "label": "Take", "url": "/take.wav", "downloads": []}
    of = {"id": "task-1", "recording": "analysis-1", "start_s": 0.0, "before": "/recording.wav", "chosen": 1}
    return of | {"tracks": [track]} | more


def recording(name: str = "analysis-1") -> dict[str, Any]:
    shown = {"label": "Recording", "url": "/recording.wav", "duration_s": SECONDS, "roll": ROLL, "trim": None}
    return {"id": name} | shown


def place(page: Page, seconds: float, lane: int | None = None) -> tuple[float, float]:
    """Where on the screen a time is: in a lane, or in the ruler."""
    found = """([seconds, lane]) => {
      const roll = document.querySelector("timbre-roll");
      const { y, height } = lane === null ? roll.ruler : roll.strips.at(lane);
      const { left, top } = roll.querySelector(".roll-stage").getBoundingClientRect();
      return [left + roll.plot.x(seconds), top + y + height / 2];
    }"""
    x, y = page.evaluate(found, [seconds, lane])
    return x, y


def drag(page: Page, start: tuple[float, float], stop: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*stop, steps=5)
    page.mouse.up()


def bring(page: Page, of: str, data: dict[str, Any] | None) -> None:
    page.evaluate("(part) => instrument.take(part)", {"of": of, "data": data})
    page.wait_for_function(f"instrument.duration == {SECONDS}")


def test_instrument_opens_the_editor_for_a_step_of_a_take_that_was_edited_again_before_it_was_closed(instrument):
    bring(instrument, "recording", recording())
    bring(instrument, "takes", takes())
    bring(instrument, "editor", view())
    instrument.evaluate(
        "() => { window.asked = []; instrument.addEventListener('tell-edit', ({ detail }) => asked.push(detail));"
        " const detail = { name: 'Move notes', undo: () => false, redo: () => false };"
        " document.dispatchEvent(new CustomEvent('timbre-did', { detail })); }"
    )
    track = takes()["tracks"][0] | {"key": "task-2"}
    bring(instrument, "takes", takes(id="task-2", tracks=[track]))  # which the editor has not got yet
    bring(instrument, "editor", None)
    instrument.locator("body").press("Control+z")
    assert instrument.evaluate("asked") == [{"isOn": True}]


def test_instrument_keeps_its_position_when_the_recording_arrives_after_its_take(instrument):
    bring(instrument, "takes", takes())
    instrument.evaluate("instrument.seek(2)")
    bring(instrument, "recording", recording())
    assert instrument.evaluate("[instrument.seconds, instrument.chosen]") == [2, 1]


def test_instrument_returns_to_the_start_for_another_recording(instrument):
    bring(instrument, "takes", takes())
    instrument.evaluate("instrument.seek(2)")
    bring(instrument, "recording", recording("analysis-2"))
    assert instrument.evaluate("[instrument.seconds, instrument.chosen]") == [0, 0]


def test_instrument_chooses_the_take_when_its_recording_is_read_after_it(instrument):
    bring(instrument, "recording", recording("reading"))  # as a file that was just given
    bring(instrument, "takes", takes())
    assert instrument.evaluate("[instrument.data.tracks.length, instrument.chosen]") == [1, 0]
    bring(instrument, "recording", recording())
    assert instrument.evaluate("[instrument.data.tracks.length, instrument.chosen]") == [2, 1]
    expect(instrument.get_by_role("button", name="Edit pitch")).to_be_enabled()
    instrument.evaluate("instrument.choose(0)")
    bring(instrument, "takes", takes())  # again, as with a download: what was chosen since stays
    bring(instrument, "recording", recording())
    assert instrument.evaluate("instrument.chosen") == 0


def test_instrument_shows_the_kept_picture_with_its_take_chosen(instrument):
    bring(instrument, "recording", recording())
    bring(instrument, "takes", takes())
    instrument.evaluate(OPEN)  # as after a reload
    for of, data in (("recording", recording()), ("takes", takes())):
        bring(instrument, of, data)
    expect(instrument.get_by_role("button", name="Edit pitch")).to_be_enabled()
    assert instrument.evaluate("instrument.chosen") == 1


@pytest.fixture
def display(instrument) -> Page:
    """The page with the menu of the display opened."""
    bring(instrument, "recording", recording())
    instrument.locator("summary").click()
    assert instrument.evaluate(DISPLAY)
    return instrument


def test_display_menu_shows_its_tools_apart_and_their_state(display):
    range_of = display.get_by_role("button", name="Range")
    border = "(tool) => ((of) => `${of.borderTopStyle} ${of.borderTopColor}`)(getComputedStyle(tool))"
    off = range_of.evaluate(border)
    range_of.click()
    assert range_of.get_attribute("aria-pressed") == "true"
    display.wait_for_function(f"(off) => ({border})(document.querySelector('[data-tool=Range]')) !== off", arg=off)
    assert off.startswith("solid")
    left, right = (display.get_by_role("button", name=name).bounding_box() for name in ("Full length", "Fit pitch"))
    assert left["x"] + left["width"] < right["x"]


@pytest.mark.parametrize(
    "leave",
    [
        lambda page: page.keyboard.press("Escape"),
        lambda page: page.mouse.click(5, 5),
        lambda page: page.locator(".play").focus(),
    ],
    ids=["escape", "a click elsewhere", "focus elsewhere"],
)
def test_display_menu_is_closed_by(display, leave):
    display.get_by_role("button", name="Range").click()
    assert display.evaluate(DISPLAY)  # a choice leaves it open
    leave(display)
    assert not display.evaluate(DISPLAY)


def test_display_menu_stays_open_when_more_data_arrives(display):
    bring(display, "takes", takes())
    assert display.evaluate(DISPLAY)


# ---- the melody


SHOWN = """() => {
  const { notes, curves } = document.querySelector("timbre-roll").data;
  return [notes.map(({ midi }) => midi), curves.map(({ semitones, isSung }) => [semitones ?? 0, isSung])];
}"""


def melody(midi: int) -> dict[str, Any]:
    hertz = [440 * 2 ** ((midi - 69) / 12)] * round(100 * SECONDS)
    curve = {"step_s": 0.01, "hertz": hertz, "confidence": [0.9] * len(hertz)}
    note = {"start_s": 0.5, "end_s": 2.5, "midi": midi, "cents": 0}
    return {"duration_s": SECONDS, "curves": [curve], "notes": [note]}


def test_instrument_shows_what_is_to_be_sung_until_the_take_is_analysed(instrument):
    track = takes()["tracks"][0]
    bring(instrument, "recording", recording() | {"roll": melody(57)})
    assert instrument.evaluate(SHOWN) == [[57], [[0, True]]]
    bring(instrument, "takes", takes(tracks=[track | {"transpose": 12}]))
    assert instrument.evaluate(SHOWN) == [[69], [[12, False]]]
    heights = instrument.evaluate("(({ low, high }) => [low, high])(document.querySelector('timbre-roll').plot)")
    assert heights[0] < 69 < heights[1]
    bring(instrument, "pitch", {"of": "task-1", "roll": melody(70)})  # as it turned out
    assert instrument.evaluate(SHOWN) == [[70], [[0, True]]]
    instrument.evaluate("instrument.choose(0)")
    assert instrument.evaluate(SHOWN) == [[57], [[0, True]]]


def test_instrument_shows_the_melody_of_its_welcome_in_each_voice(instrument):
    track = takes()["tracks"][0]
    sung = [track | {"key": "low", "transpose": 0}, track | {"key": "high", "transpose": 12}]
    bring(instrument, "welcome", takes(recording=None, tracks=sung) | {"roll": melody(57)})
    for lane, midi in enumerate([57, 57, 69]):
        instrument.evaluate(f"instrument.choose({lane})")
        assert instrument.evaluate(SHOWN)[0] == [midi]


def test_instrument_fetches_its_welcome_when_it_is_played(instrument):
    asked: list[str] = []
    instrument.on("request", lambda one: asked.append(one.url.rpartition("/")[2]))
    wave = {"step_s": 0.01, "high": [12] * round(100 * SECONDS)}
    track = takes()["tracks"][0] | {"url": "/sung.wav", "waveform": wave}
    bring(instrument, "welcome", takes(recording=None, tracks=[track], waveform=wave) | {"roll": melody(57)})
    strips = "document.querySelector('timbre-roll').data.strips.map(({ waveform }) => waveform.high.length)"
    assert instrument.evaluate(strips) == [300, 300]
    expect(instrument.locator(".time")).to_have_text("0:00 / 0:03")
    assert asked == []
    with instrument.expect_request("**/recording.wav"), instrument.expect_request("**/sung.wav"):
        instrument.locator(".play").click()


# ---- harmonies


def harmonies(url: str | None = "/third.wav") -> dict[str, Any]:
    lane = {"name": "harmony-task-2", "label": "Third above", "title": "Third above in A minor, Kathleen", "url": url}
    lane |= {"pan": -0.5, "gain_db": -6.0, "avatar": None}
    return {"start_s": 0.0, "lanes": [lane]}


@pytest.fixture
def harmonized(instrument) -> Page:
    bring(instrument, "recording", recording())
    track = takes()["tracks"][0] | {"downloads": [{"label": "wav", "url": "/take.wav", "name": "take.wav"}]}
    bring(instrument, "takes", takes(tracks=[track]))
    bring(instrument, "harmonies", harmonies())
    return instrument


def test_instrument_shows_a_harmony_as_a_lane_with_its_level_and_place(harmonized):
    lane = harmonized.get_by_role("group", name="Third above", exact=True)
    expect(lane.get_by_label("Level of Third above")).to_have_value("-6")
    pan = lane.get_by_label("Pan of Third above")
    expect(pan).to_have_attribute("aria-valuetext", "50 % left")
    pan.focus()
    harmonized.keyboard.press("ArrowRight")
    faders = harmonized.evaluate("instrument.wishes.faders['harmony-task-2']")
    assert faders == {"gain_db": -6, "mute": False, "solo": False, "pan": -0.4}
    pan.dblclick()
    expect(pan).to_have_attribute("aria-valuetext", "Middle")


def test_instrument_exports_anew_once_there_is_a_harmony(harmonized):
    assert harmonized.evaluate("instrument.data.tracks[1].downloads") == [{"label": "wav"}]


def test_instrument_plays_a_harmony_with_the_take_and_takes_it_out(harmonized):
    harmonized.locator(".play").click()
    level = "Number(document.querySelector('[data-lane=harmony-task-2] .meter').style.getPropertyValue('--level'))"
    harmonized.wait_for_function(f"{level} > 0.3")
    harmonized.locator(".play").click()
    harmonized.evaluate("instrument.addEventListener('tell-removed', ({ detail }) => (window.removed = detail))")
    harmonized.get_by_role("button", name="Remove Third above").click()
    assert harmonized.evaluate("window.removed") == {"name": "harmony-task-2"}
    bring(harmonized, "harmonies", None)
    expect(harmonized.locator("[data-lane=harmony-task-2]")).to_have_count(0)


def test_instrument_has_a_head_for_what_is_beside_the_takes_on_a_phone(harmonized):
    colour = {"colour": "#884422", "initials": "K", "bars": [0.5]}
    face = [{**harmonies()["lanes"][0], "avatar": colour}]
    bring(harmonized, "company", [BACKING])
    bring(harmonized, "harmonies", harmonies() | {"lanes": face})
    harmonized.set_viewport_size({"width": 390, "height": 844})
    try:
        first = "document.querySelector('timbre-roll').strips[0].x"
        for lane, drawn in (("backing", ".grip"), ("harmony-task-2", ".face")):
            head = harmonized.locator(f".channel[data-lane={lane}]")
            expect(head.locator(drawn)).to_be_visible()
            expect(head.locator(".mix")).to_be_hidden()  # that is in the sheet
            assert head.bounding_box()["width"] <= harmonized.evaluate(first)
            inner, outer = head.locator(drawn).bounding_box(), head.bounding_box()
            assert outer["x"] <= inner["x"]
            assert inner["x"] + inner["width"] <= outer["x"] + outer["width"]
    finally:
        harmonized.set_viewport_size({"width": 1280, "height": 720})


def test_instrument_shows_that_a_harmony_is_on_its_way(harmonized):
    bring(harmonized, "harmonies", harmonies(url=None))
    expect(harmonized.locator("[data-lane=harmony-task-2] .label")).to_have_text("Third above …")


# ---- the mixer: takes that sound together


@pytest.fixture
def sung(instrument) -> Page:
    """Two takes of a recording; the first is chosen."""
    bring(instrument, "recording", recording())
    tracks = [
        {"key": f"task-1 {number}", "take": number, "label": f"Kerstin, take {number}", "url": f"/take-{number}.wav"}
        | {"task": "task-1", "names": ["Kerstin", ""]}
        | {"downloads": [{"label": "wav", "url": "/take.wav", "name": "take.wav"}]}
        for number in (1, 2)
    ]
    bring(instrument, "takes", takes(tracks=tracks))
    return instrument


def lane(page: Page, name: str) -> Any:
    return page.get_by_role("group", name=name, exact=True)


def meter(number: int) -> str:
    place = f"[data-lane='take-task-1 {number}'] .meter"
    return f"Number(document.querySelector({place!r}).style.getPropertyValue('--level'))"


HEARD = "instrument.sound(instrument.data.tracks[1]).then(({ gain, pan }) => [gain, pan])"


def test_mixer_has_level_and_place_of_each_take_which_are_heard_at_once_and_undone_by_name(sung):
    take, undo = lane(sung, "Kerstin, take 1"), sung.locator(".step.undo")
    assert sung.evaluate("instrument.wishes") == {}  # the take alone, as it is
    sung.locator(".play").click()
    sung.wait_for_function(f"{meter(1)} > 0.3")
    take.get_by_label("Level of Kerstin, take 1").fill("-6")
    expect(undo).to_have_attribute("title", f"Undo: Kerstin, take 1: {MINUS}6 dB (Ctrl+Z)")
    take.get_by_label("Pan of Kerstin, take 1").fill("-0.4")
    expect(undo).to_have_attribute("title", "Undo: Kerstin, take 1: 40 % left (Ctrl+Z)")
    assert sung.evaluate(HEARD) == [pytest.approx(10 ** (-6 / 20)), -0.4]
    assert sung.evaluate("instrument.wishes.faders.vocal") == {"gain_db": -6, "mute": False, "solo": False, "pan": -0.4}
    assert sung.evaluate("instrument.data.tracks[1].downloads") == [{"label": "wav"}]  # to be made anew
    sung.keyboard.press("Control+z")
    sung.keyboard.press("Control+z")
    assert sung.evaluate(HEARD) == [1, 0]
    expect(take.get_by_label("Level of Kerstin, take 1")).to_have_value("0")
    sung.keyboard.press("Control+y")
    assert sung.evaluate(HEARD) == [pytest.approx(10 ** (-6 / 20)), 0]


def test_mixer_lets_another_take_sound_with_the_chosen_one(sung):
    first, second = (lane(sung, f"Kerstin, take {number}").locator(".mute") for number in (1, 2))
    expect(second).to_have_attribute("aria-pressed", "true")
    sung.locator(".play").click()
    sung.wait_for_function(f"{meter(1)} > 0.3 && {meter(2)} === 0")
    second.click()
    expect(sung.locator(".step.undo")).to_have_attribute("title", "Undo: Unmute Kerstin, take 2 (Ctrl+Z)")
    sung.wait_for_function(f"{meter(1)} > 0.3 && {meter(2)} > 0.3")
    assert sung.evaluate("Object.keys(instrument.wishes.faders)") == ["vocal", "take-task-1 2"]
    sung.keyboard.press("2")  # now that one leads, and the first is silent, as nothing else was said of it
    expect(first).to_have_attribute("aria-pressed", "true")
    sung.wait_for_function(f"{meter(1)} === 0 && {meter(2)} > 0.3")
    assert sung.evaluate("instrument.wishes") == {}
    second.click()
    sung.wait_for_function(f"{meter(1)} === 0 && {meter(2)} === 0")
    assert sung.evaluate("instrument.wishes.faders.vocal.mute")


def test_mixer_plays_only_what_is_soloed(sung):
    sung.locator(".play").click()
    sung.wait_for_function(f"{meter(1)} > 0.3")
    lane(sung, "Kerstin, take 2").locator(".solo").click()
    sung.wait_for_function(f"{meter(1)} === 0 && {meter(2)} > 0.3")
    told = "Object.entries(instrument.wishes.faders).map(([name, { solo }]) => [name, solo])"
    assert sung.evaluate(told) == [["vocal", False], ["take-task-1 2", True]]


def test_mixer_keeps_its_faders_over_a_reload(sung):
    lane(sung, "Kerstin, take 2").get_by_label("Level of Kerstin, take 2").fill("-9")
    lane(sung, "Kerstin, take 2").locator(".mute").click()
    data = sung.evaluate("[instrument.data.tracks[1], instrument.data.tracks[2]]")
    sung.reload()
    sung.evaluate(OPEN)
    bring(sung, "recording", recording())
    bring(sung, "takes", takes(tracks=data))
    expect(lane(sung, "Kerstin, take 2").get_by_label("Level of Kerstin, take 2")).to_have_value("-9")
    expect(lane(sung, "Kerstin, take 2").locator(".mute")).to_have_attribute("aria-pressed", "false")
    assert sung.evaluate("instrument.wishes.faders['take-task-1 2'].gain_db") == -9


def test_mixer_is_a_sheet_where_there_is_no_room_in_the_heads(sung):
    opens = sung.get_by_role("button", name="Mixer")
    fader = lane(sung, "Kerstin, take 1").get_by_label("Level of Kerstin, take 1")
    expect(opens).to_be_hidden()
    expect(fader).to_be_visible()
    sung.set_viewport_size({"width": 390, "height": 844})
    try:
        expect(fader).to_be_hidden()
        opens.click()
        for name in ("Mute", "Solo"):
            box = sung.get_by_role("button", name=f"{name} Kerstin, take 1", exact=True).bounding_box()
            assert min(box["width"], box["height"]) >= 44
        box = fader.bounding_box()
        assert box["width"] > 100
        assert box["x"] + box["width"] < 390
        fader.fill("-3")
        expect(lane(sung, "Kerstin, take 1").locator(".value")).to_have_text(f"{MINUS}3 dB · Middle")
        fader.press("Escape")
        expect(fader).to_be_hidden()
    finally:
        sung.set_viewport_size({"width": 1280, "height": 720})


# ---- the backing, moved against the recording

BACKING = {"name": "backing", "label": "Backing", "title": "backing.wav", "url": "/backing.wav"}
FOUND_S = 0.5  # of a song: so much later than its backing the vocal begins


@pytest.fixture
def mixed(instrument) -> Page:
    """A recording with a backing that is not mixed yet."""
    bring(instrument, "recording", recording())
    bring(instrument, "company", [BACKING])
    listen = "instrument.addEventListener('tell-moved', ({ detail }) => moved.push(detail.offset_s))"
    instrument.evaluate(f"window.moved = []; {listen}")
    return instrument


def pull(page: Page, seconds: float) -> None:
    """Drag the lane of the backing by so many seconds."""
    drag(page, place(page, 1.5, lane=-1), place(page, 1.5 + seconds, lane=-1))


def test_instrument_moves_the_backing_by_dragging_its_lane(mixed):
    pull(mixed, 0.4)
    assert mixed.evaluate("moved") == [pytest.approx(-0.4, abs=0.02)]
    grip = mixed.get_by_role("slider", name="Offset of Backing")
    expect(grip).to_have_attribute("aria-valuenow", "-0.40")
    pull(mixed, -0.9)
    assert mixed.evaluate("moved.at(-1)") == pytest.approx(0.5, abs=0.03)
    offset_s = "instrument.data.tracks[0].offset_s"  # of the recording, which begins after it now
    assert mixed.evaluate(offset_s) == pytest.approx(0.5, abs=0.03)


def test_instrument_moves_the_backing_with_the_keyboard(mixed):
    mixed.get_by_role("slider", name="Offset of Backing").focus()
    mixed.keyboard.press("ArrowLeft")
    mixed.keyboard.press("Shift+ArrowLeft")
    mixed.keyboard.press("ArrowRight")
    mixed.keyboard.press("Home")
    assert mixed.evaluate("moved") == [0.01, 0.11, 0.1, None]


def test_instrument_snaps_the_backing_to_where_it_was_found(mixed):
    song = takes(company=[BACKING], offset_s=FOUND_S)
    song["tracks"][0] |= {"song": True, "first_s": FOUND_S, "downloads": [{"label": "wav", "url": "/mix.wav"}]}
    mixed.evaluate("(part) => instrument.take(part)", {"of": "takes", "data": song})
    expect(mixed.get_by_role("slider", name="Offset of Backing")).to_have_attribute("aria-valuetext", "Auto, 0.50 s")
    pull(mixed, 0.3)
    assert mixed.evaluate("moved.at(-1)") == pytest.approx(FOUND_S - 0.3, abs=0.02)
    assert mixed.evaluate("instrument.wishes.shift_s") == pytest.approx(-0.3, abs=0.02)
    assert mixed.evaluate("instrument.data.tracks[1].downloads") == [{"label": "wav"}]  # to be mixed anew
    pull(mixed, -0.297)
    assert mixed.evaluate("moved.at(-1)") is None
    assert mixed.evaluate("instrument.wishes.shift_s ?? 0") == 0


def test_what_is_moved_and_the_fader_of_the_recording_are_kept_for_a_project_that_is_exported(mixed):
    bring(mixed, "takes", song(1))
    move = "(data) => instrument.take({ of: 'offset', data })"
    mixed.evaluate(move, 0.25)
    kept = "(key) => JSON.parse(localStorage['timbre-faders'])[key]"
    assert mixed.evaluate(kept, "song-1 backing")["shift_s"] == 0.25
    mixed.evaluate(move, None)
    assert mixed.evaluate(kept, "song-1 backing")["shift_s"] == 0
    lane(mixed, "Recording").get_by_label("Level of Recording").fill("-6")
    assert mixed.evaluate(kept, "song-1 recording")["gain_db"] == -6


def song(number: int, *more: dict[str, Any]) -> dict[str, Any]:
    """A song of the recording with its backing, and further takes."""
    track = {"task": f"song-{number}", "take": 1, "key": f"song-{number} 1", "label": "Kerstin", "song": True}
    files = {"url": "/take.wav", "downloads": [{"label": "wav", "url": "/mix.wav"}]}
    return takes(id=f"song-{number}", company=[BACKING], offset_s=0.0, tracks=[track | files, *more])


def test_mixer_keeps_the_faders_of_each_song_which_begins_with_those_of_the_one_before(mixed):
    level, undo = mixed.get_by_label("Level of Backing"), mixed.locator(".step.undo")
    level.fill("-12")  # before it is converted
    bring(mixed, "takes", song(1))
    expect(level).to_have_value("-12")
    level.fill("-3")
    expect(undo).to_have_attribute("title", f"Undo: Backing: {MINUS}3 dB (Ctrl+Z)")
    mixed.keyboard.press("Control+z")
    expect(level).to_have_value("-12")
    assert mixed.evaluate("instrument.wishes.faders.backing.gain_db") == -12
    mixed.keyboard.press("Control+y")
    bring(mixed, "takes", song(2))
    expect(level).to_have_value("-3")
    level.fill("-6")
    bring(mixed, "takes", song(1))
    expect(level).to_have_value("-3")
    kept = mixed.evaluate("JSON.parse(localStorage['timbre-faders'])")  # with which a project is exported
    assert {key: one["gain_db"] for key, one in kept.items() if key.startswith("song")} == {
        "song-1 backing": -3,
        "song-2 backing": -6,
    }


def test_mixer_exports_the_backing_that_is_heard_with_a_take_that_is_not_of_its_song(mixed):
    other = {"task": "plain", "take": 1, "key": "plain 1", "label": "Koguchi", "url": "/other.wav", "downloads": []}
    bring(mixed, "takes", song(1, other))
    told = "Object.keys(instrument.wishes.faders)"
    assert mixed.evaluate(told) == ["vocal", "backing"]
    mixed.keyboard.press("2")
    assert mixed.evaluate(told) == ["vocal", "lane-song-1 backing"]


def test_instrument_click_on_the_lane_of_the_backing_goes_there(mixed):
    pull(mixed, 0.0)
    assert mixed.evaluate("moved") == []
    assert mixed.evaluate("instrument.seconds") == pytest.approx(1.5, abs=0.02)


# ---- phrases of takes, chosen in their lanes


@pytest.fixture
def comping(instrument) -> Page:
    """Two takes of three phrases of a second each."""
    tracks = [
        {"key": f"task-1 {number}", "take": number, "label": f"Take {number}", "url": f"/take-{number}.wav"}
        | {"task": "task-1", "downloads": []}
        for number in (1, 2)
    ]
    bring(instrument, "recording", recording())
    bring(instrument, "takes", takes(tracks=tracks))
    one = {"task": "task-1", "created_at": 0, "name": "", "starred": False}
    comp = {"task": "task-1", "starts_s": [0.0, 1.0, 2.0], "choice": None, "follows": "instrument", "offset_s": 0.0}
    comp["takes"] = [one | {"take": number, "title": f"Take {number}"} for number in (1, 2)]
    instrument.evaluate(
        """async (data) => {
          await customElements.whenDefined("timbre-comp");
          window.comp = document.body.appendChild(document.createElement("timbre-comp"));
          window.ordered = [];
          const takesOf = ({ detail: { choice } }) => choice.map(({ take }) => take);
          instrument.addEventListener("tell-comped", (told) => ordered.push(takesOf(told)));
          comp.data = data;
          instrument.take({ of: "comp", data });
        }""",
        comp,
    )
    return instrument


def picked(page: Page) -> list[int]:
    """The takes of the phrases, as the list beside the lanes shows them."""
    lanes = page.evaluate("""[...comp.querySelectorAll('.lane')].map((lane) =>
      [...lane.querySelectorAll('.cell')].map((cell) => cell.ariaPressed))""")
    return [1 + phrase.index("true") for phrase in zip(*lanes, strict=True)]


def test_instrument_comps_by_clicking_and_sweeping_over_phrases_in_lanes(comping):
    page = comping
    page.mouse.click(*place(page, 1.5, lane=2))
    assert picked(page) == [1, 1, 1]  # as long as it is not asked for
    toggle = page.locator("timbre-instrument").get_by_role("button", name="Comp", exact=True)
    toggle.click()
    build = page.locator("timbre-instrument").get_by_role("button", name="Build comp")
    expect(build).to_be_disabled()
    page.mouse.click(*place(page, 1.5, lane=2))
    assert picked(page) == [1, 2, 1]
    assert page.evaluate("[instrument.chosen, instrument.seconds]") == [2, 1]
    expect(page.locator(".picked [role=status]")).to_have_text("Phrase 2 from Take 2, at 1.0 s")
    drag(page, place(page, 1.2, lane=1), place(page, 0.2, lane=1))
    assert picked(page) == [1, 1, 1]
    page.locator("timbre-comp .cell").last.click()  # chosen in the list, it is so in the lanes
    expect(build).to_be_enabled()
    build.click()
    assert page.evaluate("window.ordered") == [[1, 1, 2]]
    toggle.click()
    expect(build).to_be_hidden()


def test_instrument_comps_with_the_keyboard(comping):
    page = comping
    page.locator("timbre-instrument").get_by_role("button", name="Comp", exact=True).click()
    page.evaluate("instrument.seek(2.2)")
    page.locator(".track-2").focus()
    page.keyboard.press("2")
    page.keyboard.press("c")
    assert picked(page) == [1, 1, 2]


def test_instrument_offers_no_comp_of_one_take(comping):
    comping.evaluate("instrument.take({ of: 'comp', data: null })")
    expect(comping.locator("timbre-instrument .comp")).to_be_hidden()


# ---- the ruler, the wheel, and what leaves the window


def mark(page: Page, start: float, stop: float) -> None:
    """Drag along the ruler."""
    drag(page, place(page, start), place(page, stop))


@pytest.fixture
def recorded(instrument) -> Page:
    bring(instrument, "recording", recording())
    return instrument


def test_instrument_repeats_the_stretch_that_is_drawn_along_its_ruler(recorded):
    mark(recorded, 2.0, 1.0)  # from the right, too
    near = pytest.approx([1, 2], abs=0.02)
    assert recorded.evaluate("[instrument.stretch.start, instrument.stretch.stop]") == near
    expect(recorded.locator(".repeat")).to_have_attribute("aria-pressed", "true")
    assert recorded.evaluate("[instrument.phrase.start_s, instrument.phrase.stop_s]") == near
    recorded.locator(".play").click()
    recorded.wait_for_function("instrument.seconds > 1.5")
    recorded.wait_for_function("instrument.seconds < 1.4")  # it began again
    recorded.locator(".play").click()
    mark(recorded, 0.5, 0.5)  # a press takes it away
    assert recorded.evaluate("[instrument.stretch.start, instrument.stretch.stop, instrument.repeats]") == [0, 3, False]
    assert recorded.evaluate("instrument.seconds") == pytest.approx(0.5, abs=0.02)


def test_instrument_forgets_what_is_repeated_with_its_recording(recorded):
    mark(recorded, 1.0, 2.0)
    bring(recorded, "recording", recording("analysis-2"))
    assert recorded.evaluate("[instrument.stretch.start, instrument.stretch.stop]") == [0, 3]


@pytest.mark.parametrize(
    ("loud", "duration_s", "start_s"),
    [((6.0, 8.0), 20.0, 4.0), ((19.0, 20.0), 20.0, 16.0), ((0.0, 1.0), 20.0, 0.0), ((0.5, 1.0), 3.0, 0.0)],
    ids=["the first four that hold it", "at the end", "at the beginning", "of a short one all"],
)
def test_phrase_of_a_recording_is_its_loudest_four_seconds(blank, loud, duration_s, start_s):
    high = [100.0 if loud[0] <= step / 10 < loud[1] else 1.0 for step in range(round(10 * duration_s))]
    phrase = blank.evaluate(
        """async ([duration, waveform]) => (await import("/page-files/loop.js")).phraseOf(duration, null, waveform)""",
        [duration_s, {"step_s": 0.1, "high": high}],
    )
    assert phrase == pytest.approx({"start_s": start_s, "stop_s": min(start_s + 4.0, duration_s)})


def test_instrument_zooms_with_the_wheel_where_nothing_scrolls(recorded):
    seen = "document.querySelector('timbre-roll').plot.span"
    recorded.mouse.move(*place(recorded, 1.5, lane=0))
    recorded.mouse.wheel(0, -200)
    recorded.wait_for_function(f"{seen} < 1.5")
    recorded.evaluate("document.body.style.height = '300vh'")
    before = recorded.evaluate(seen)
    recorded.mouse.wheel(0, 100)
    recorded.wait_for_function("scrollY > 50")
    assert recorded.evaluate(seen) == before
    recorded.evaluate("document.body.style.height = ''")


@pytest.mark.parametrize(("duration_s", "is_there"), [(59.0, False), (61.0, True)])
def test_instrument_has_a_map_of_what_is_longer_than_a_minute(instrument, duration_s, is_there):
    long = recording() | {"duration_s": duration_s, "roll": ROLL | {"duration_s": duration_s}}
    instrument.evaluate("(part) => instrument.take(part)", {"of": "recording", "data": long})
    expect(instrument.locator(".roll-map")).to_be_visible(visible=is_there)


DRAGGED = """(lane) => {
  const dataTransfer = new DataTransfer();
  lane.dispatchEvent(new DragEvent("dragstart", { dataTransfer, bubbles: true }));
  return ["DownloadURL", "text/uri-list"].map((kind) => dataTransfer.getData(kind));
}"""


def test_instrument_lets_a_take_be_dragged_out_as_a_file(recorded):
    track = takes()["tracks"][0] | {"file": "Song: one/two - Mia", "url": "/files/take.flac?expires=9"}
    bring(recorded, "takes", takes(tracks=[track]))
    assert recorded.locator(".track").evaluate_all("(lanes) => lanes.map((lane) => lane.draggable)") == [False, True]
    url = "http://page.test/files/take.flac?expires=9"
    assert recorded.locator(".track").last.evaluate(DRAGGED) == [f"audio/flac:Song- one-two - Mia.flac:{url}", url]
