"""Texts that remember their template and values, through everything that happens to strings."""

import copy
import json
import pickle
import re

import pytest

from engine.errors import AudioError
from engine.texts import Numeral, Text, as_data, from_data, joined, ntr, numeral, tr

TAKE = tr("Take {number} is {state}: {level} dB.", number=3, state=tr("ready"), level=numeral(-2.345, ".1f"))


class Loud:
    """A language in which everything is cried."""

    def template_of(self, text: Text) -> str:
        return re.sub(r"\{\w+\}|\w+", lambda one: one[0] if one[0][0] == "{" else one[0].upper(), text.template)

    def say(self, value: object) -> str:
        return value.said(self) if isinstance(value, Text) else str(value)

    def say_all(self, value: object) -> object:
        return value


def test_tr_is_english_and_is_said_by_its_template_and_values():
    assert TAKE == "Take 3 is ready: -2.3 dB."
    assert Loud().say(tr("{number} is {state}", number=3, state=tr("ready"))) == "3 IS READY"
    assert Loud().say(tr("{number} is {state}", number=3, state="ready")) == "3 IS ready"  # a name, not a text


def test_tr_keeps_braces_that_are_no_fields_of_it():
    assert tr('{"a": 1} or {name}', name="{number}", number=2) == '{"a": 1} or {number}'


@pytest.mark.parametrize(
    ("count", "said"),
    [(1, "1 take"), (0, "0 takes"), (2, "2 takes"), ("1", "1 take"), (numeral(1000, ","), "1,000 takes")],
)
def test_ntr_counts_by_its_first_value(count, said):
    assert ntr("{count} take", "{count} takes", count=count, other=1) == said


def test_text_stays_a_text_as_message_of_an_error_and_in_other_processes():
    error = AudioError(TAKE)
    for one in (str(error), copy.deepcopy(TAKE), pickle.loads(pickle.dumps(error)).args[0], f"{TAKE}"):
        assert (one, one.template, one.values["state"].template) == (TAKE, TAKE.template, "ready")


def test_text_stays_a_text_when_it_is_joined_replaced_and_filled():
    assert Loud().say("(" + tr("b") + ")" + tr("c")) == "(B)C"
    assert joined(", ", ["a", tr("b"), tr("c")]) == "a, b, c"
    assert Loud().say(joined(", ", ["a", tr("b"), tr("c")])) == "a, B, C"
    renamed = tr("{name} is damaged.", name="/tmp/x.wav").replace("/tmp/", "")
    assert (renamed, renamed.values) == ("x.wav is damaged.", {"name": "x.wav"})
    assert tr("{number} is {state}").format(number=1, state=tr("b")).values == {"number": 1, "state": "b"}
    assert ntr("{count} take", "{count} takes").format(count=1) == "1 take"


def test_as_data_survives_json():
    value = {"notes": [TAKE, "a name", 2.5, None], "level": numeral(1.5)}
    again = from_data(json.loads(json.dumps(as_data(value))))
    assert again == value
    assert again["notes"][0].values == TAKE.values
    assert type(again["notes"][1]) is str
    assert isinstance(again["level"], Numeral)
    assert from_data({"text": "no text", "values": 1}) == {"text": "no text", "values": 1}
