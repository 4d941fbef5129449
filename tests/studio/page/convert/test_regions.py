"""Which voices sing which parts of a recording, as they are drawn and as they are written."""

import pytest
from playwright.sync_api import expect

from engine.songs.parts import Part, read_parts
from tests.studio.page.convert.test_instrument_element import blank, bring, instrument, recording  # noqa: F401 - fixtures

PAINTED = """async (strokes) => {
  const { painted, read, write } = await import("/page-files/regions.js");
  return strokes.reduce((text, [start, end, voice]) => write(painted(read(text), start, end, voice)), "");
}"""
REGIONS = """async (text) => {
  const { read, regionsOf } = await import("/page-files/regions.js");
  return regionsOf(read(text), 200).map(({ start, end, voice }) => [start, end, voice]);
}"""

LIST = """async () => {
  await import("/page-files/part-list.js");
  const list = document.createElement("timbre-part-list");
  window.told = [];
  list.addEventListener("tell-voiced", () => told.push(window.instrument.parts));
  document.body.append(list);
  list.data = { parts: "" };
}"""


@pytest.mark.parametrize(
    ("strokes", "text"),
    [
        ([(62.5, 70, "mia")], "1:02.5 mia, 1:10 chosen"),
        ([(10, 20, "mia"), (20, 30, "ella")], "0:10 mia, 0:20 ella, 0:30 chosen"),
        ([(10, 30, "mia"), (15, 20, "keep")], "0:10 mia, 0:15 keep, 0:20 mia, 0:30 chosen"),
        ([(10, 30, "mia"), (5, 40, "ella")], "0:05 ella, 0:40 chosen"),
        ([(10, 30, "mia"), (10, 30, "chosen")], ""),
        ([(10, 10.2, "mia")], "0:10 mia, 0:11 chosen"),  # no part is shorter than the engine sings
    ],
)
def test_painted_writes_the_voice_of_each_part_as_the_engine_reads_it(blank, strokes, text):  # noqa: F811
    written = blank.evaluate(PAINTED, [list(one) for one in strokes])
    assert written == text
    if written:
        assert read_parts(written, "chosen")  # the engine takes it


def test_regions_are_the_parts_that_are_not_in_the_chosen_voice(blank):  # noqa: F811
    text = "1:42 koguchi, from 2:10 keep; 3:00.5 chosen"
    assert blank.evaluate(REGIONS, text) == [[102, 130, "koguchi"], [130, 180.5, "keep"]]
    assert read_parts(text, "chosen")[1:] == (Part(102.0, "koguchi"), Part(130.0, "keep"), Part(180.5, "chosen"))


def test_a_voice_change_of_the_list_is_a_step_that_is_undone_and_done_again(instrument):  # noqa: F811
    bring(instrument, "recording", recording())
    instrument.evaluate(LIST)
    step, parts = instrument.locator(".step.undo"), "window.instrument.parts"
    instrument.evaluate("window.instrument.seek(1.5)")
    instrument.get_by_role("button", name="Change the voice at the playhead").click()
    voice = instrument.get_by_label("Voice from 0:01.5")
    voice.select_option("chosen")
    assert instrument.evaluate(parts) == "0:01.5 chosen"
    expect(step).to_have_attribute("title", "Undo: Voice of a part (Ctrl+Z)")
    voice.press("Control+z")  # where the choice has left the focus
    assert instrument.evaluate(parts) == "0:01.5 keep"
    expect(voice).to_have_value("keep")
    instrument.keyboard.press("Control+z")
    assert instrument.evaluate(parts) == ""
    expect(voice).to_have_count(0)
    expect(step).to_be_disabled()
    instrument.keyboard.press("Control+y")
    instrument.keyboard.press("Control+y")
    expect(voice).to_have_value("chosen")
    instrument.get_by_role("button", name="Remove").click()
    expect(voice).to_have_count(0)
    instrument.keyboard.press("Control+z")
    expect(voice).to_have_value("chosen")
    told = ["0:01.5 keep", "0:01.5 chosen", "0:01.5 keep", "", "0:01.5 keep", "0:01.5 chosen", "", "0:01.5 chosen"]
    assert instrument.evaluate("told") == told  # what the page is to convert
