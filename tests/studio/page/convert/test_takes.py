"""The lanes of a result; no browser."""

from dataclasses import replace
from typing import Any

from studio.actions.conversions.takes import ShownTake
from studio.page.convert.takes import lanes_of
from tests.records import Known


def result(name: str, takes: int = 1, transpose: float = 0, **more: Any) -> dict[str, Any]:
    """A conversion as `result_view` gives it, whose last take is the best."""
    made = [
        ShownTake(number=number, url=f"/{name}/{number}", mark=0.5 + number / 100, name="", starred=False, scores={})
        for number in range(takes, 0, -1)
    ]
    view = {"id": name, "model": "mia", "voice": "Mia", "takes": made, "transpose": transpose, "untrained": False}
    view |= {"file_name": "vocal.wav", "edited": None, "is_comp": False, "lanes": {}, "offset_s": 0.0}
    return Known(view | more)


def labels(*views: dict[str, Any]) -> list[str]:
    return [lane.label for lane in lanes_of(views[0], views[1:], "wav")]


def test_lanes_of_a_comp_keep_all_takes_it_may_be_made_of():
    comp, takes = result("comp", is_comp=True), result("first", 3)
    other = result("other", 2, voice="Lou", model="lou")
    assert labels(comp, takes, other) == ["Mia, comp", "Mia, take 1", "Mia, take 2", "Mia, take 3", "Lou"]
    assert [lane.take for lane in lanes_of(comp, [takes], "wav")] == [1, 1, 2, 3]


def test_lanes_of_an_edited_take_keep_the_takes_of_its_source_and_the_best_of_others():
    edited = result("edited", edited="first")
    heard = labels(edited, result("first", 2), result("later", 2))
    assert heard == ["Mia, edited", "Mia, take 1", "Mia, take 2", "Mia"]


def test_lanes_of_one_voice_differ_by_key_or_number():
    lanes = lanes_of(result("a", transpose=5), [result("b", transpose=-12), result("c"), result("d")], "wav")
    assert [lane.label for lane in lanes] == ["Mia", "Mia", "Mia", "Mia (2)"]
    assert [lane.brief for lane in lanes] == ["+5 \u00b7 51 %", "\u221212 \u00b7 51 %", "51 %", "51 %"]
    assert lanes[1].note == "Down 12 semitones \u00b7 51 % of the melody kept"


def test_lanes_are_no_more_than_there_are_keys_unless_the_result_itself_has_more():
    comp = result("comp", is_comp=True)
    assert len(lanes_of(comp, [result("a", 6), result("b", 6)], "wav")) == 9
    assert len(lanes_of(result("many", 10), [result("a")], "wav")) == 10


def test_lanes_call_a_take_the_best_only_if_the_figures_say_so():
    notes = [lane.note for lane in lanes_of(result("a", 2), [], "wav")]
    assert notes == ["51 % of the melody kept", "best \u00b7 52 % of the melody kept"]
    equal = result("a", 2)
    equal["takes"][0] = replace(equal["takes"][0], mark=equal["takes"][1].mark + 0.001)
    assert [lane.note for lane in lanes_of(equal, [], "wav")] == 2 * ["51 % of the melody kept"]
