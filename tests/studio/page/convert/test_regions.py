"""Which voices sing which parts of a recording, as they are drawn and as they are written."""

import pytest

from engine.songs.parts import Part, read_parts
from tests.studio.page.convert.test_instrument_element import blank  # noqa: F401 - a fixture

PAINTED = """async (strokes) => {
  const { painted, read, write } = await import("/page-files/regions.js");
  return strokes.reduce((text, [start, end, voice]) => write(painted(read(text), start, end, voice)), "");
}"""
REGIONS = """async (text) => {
  const { read, regionsOf } = await import("/page-files/regions.js");
  return regionsOf(read(text), 200).map(({ start, end, voice }) => [start, end, voice]);
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
