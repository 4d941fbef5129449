import xml.etree.ElementTree as ET

import pytest

from studio.page.parts.keyboard import Stretch, keyboard_svg


def drawn(*arguments):
    return ET.fromstring(keyboard_svg(*arguments))


def keys(picture, state=""):
    return [one for one in picture.findall("rect") if one.get("class").startswith("key") and state in one.get("class")]


def middle(one):
    return float(one.get("x")) + float(one.get("width")) / 2


def test_keyboard_svg_shows_the_octaves_in_use():
    assert len(keys(drawn([Stretch(48, 60, "voice")]))) == 48  # C2 to B5, which is always shown
    assert len(keys(drawn([Stretch(30, 90, "voice")]))) == 72  # C1 to B6
    assert [one.text for one in drawn([Stretch(48, 60, "voice")]).iter("text")][-4:] == ["C2", "C3", "C4", "C5"]


def test_keyboard_svg_places_keys_as_on_a_piano():
    picture = drawn([Stretch(48, 60, "voice")])
    places = [middle(one) for one in keys(picture)]
    white = [middle(one) for one in keys(picture, "white")]
    assert len(white) == 28
    assert white == [12 * number + 6 for number in range(28)]
    assert [place for place in places if place not in white][:5] == [12.0, 24.0, 48.0, 60.0, 72.0]


@pytest.mark.parametrize(("low", "high", "count"), [(48, 59, 12), (47, 58, 12), (60, 60, 1)])
def test_keyboard_svg_colours_the_keys_of_the_first_stretch(low, high, count):
    picture = drawn([Stretch(low, high, "voice"), Stretch(40, 80, "recording", "recording")])
    assert len(keys(picture, " in")) == count
    marks = [one for one in picture.findall("rect") if one.get("class").startswith("stretch")]
    assert [one.get("class") for one in marks] == ["stretch voice", "stretch recording"]
    inside = [middle(one) for one in keys(picture, " in")]
    start = float(marks[0].get("x"))
    assert start <= min(inside) <= max(inside) <= start + float(marks[0].get("width"))


def test_keyboard_svg_marks_notes_outside_and_scales_bars_by_duration():
    picture = drawn([Stretch(48, 60, "voice")], {47: 2.0, 48: 8.0, 60: 4.0, 61: 0.0})
    bars = {one.find("title").text: one for one in picture.findall("rect") if one.get("class").startswith("time")}
    expected = {"B2: 2.0 s": "outside", "C3: 8.0 s": "inside", "C4: 4.0 s": "inside"}
    assert {name: one.get("class").split()[1] for name, one in bars.items()} == expected
    heights = [float(one.get("height")) for one in bars.values()]
    assert heights[1] == 2 * heights[2] == 4 * heights[0]


def test_keyboard_svg_describes_the_ranges_in_words():
    picture = drawn([Stretch(48, 60, "the voice")], {47: 2.0, 48: 8.0})
    assert picture.get("role") == "img"
    assert picture.get("aria-label") == "Keyboard. the voice: C3 to C4. 2 of 10 s of singing are outside this range"


def test_keyboard_svg_escapes_labels():
    picture = drawn([Stretch(48, 60, '<script>"&')])
    assert picture.find("script") is None
    assert next(picture.iter("text")).text == '<script>"&'


def test_keyboard_svg_is_empty_without_stretches_and_notes():
    assert keyboard_svg([]) == ""
    assert keyboard_svg([], {48: 0.0}) == ""
    assert len(keys(drawn([], {48: 1.0}), " in")) == 0
