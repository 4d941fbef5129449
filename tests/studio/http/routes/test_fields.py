"""Numbers and words in forms, in JSON and in addresses: read the same, or refused, wherever they stand."""

import json
from typing import Annotated
from urllib.parse import quote

import pytest
from pydantic import TypeAdapter, ValidationError

from engine.analysis.timeline import Timeline
from engine.settings import Limits
from studio.errors import Invalid
from studio.http.bodies import JSON, URLENCODED, BodyLimits, BodyReader, Form
from studio.http.field_names import ANY_TEXTS
from studio.http.routes.fields import FLAG, WHOLE, Fields
from studio.http.routes.setting_fields import parse_changes

WRONG_NUMBERS = ["True", "true", "nan", "NaN", "inf", "Infinity", "1e400", "0x4", "٤", "4,0", "1_0", "", "four"]
WHOLE_ALONE = ["4.0", "1e1", "4e0"]  # are numbers, but not written as whole ones
REFUSED = object()


@pytest.fixture
def sent(tmp_path):
    """Make the form of a body."""

    def of(content_type: str, body: str) -> Form:
        reader = BodyReader(content_type, tmp_path, ANY_TEXTS, BodyLimits(1000))
        reader.feed(body.encode())
        return reader.finish()

    return of


def read(form: Form, name: str, limits: Limits) -> object:
    fields = Fields(form)
    value = fields.setting(name, limits)
    try:
        fields.check()
    except Invalid:
        return REFUSED
    return value


def in_address(kind: object, text: str) -> object:
    try:
        return TypeAdapter(kind).validate_python(text)
    except ValidationError:
        return REFUSED


@pytest.mark.parametrize("text", ["4", " 4 ", "+4", "04", "-4", *WRONG_NUMBERS, *WHOLE_ALONE])
def test_whole_numbers_are_read_the_same_in_forms_json_and_addresses(sent, text):
    limits = Limits(minimum=-10, maximum=10)
    found = in_address(Annotated[int, WHOLE], text)
    assert found == (REFUSED if text in WRONG_NUMBERS + WHOLE_ALONE else int(text))
    assert read(sent(URLENCODED, f"n={quote(text)}"), "n", limits) == found
    assert read(sent(JSON, json.dumps({"n": text})), "n", limits) == found


@pytest.mark.parametrize("text", ["true", "1e400", "-1e400", "[4]", "4.0"])
def test_whole_numbers_are_not_made_of_other_values_of_json(sent, text):
    def asked() -> None:
        fields = Fields(sent(JSON, f'{{"n": {text}}}'))
        fields.setting("n", Limits(minimum=-10, maximum=10))
        fields.check()

    with pytest.raises(Invalid, match="n must be"):
        asked()


@pytest.mark.parametrize("text", ["4", "4.5", ".5", "5.", "1e1", *WRONG_NUMBERS])
def test_numbers_are_read_the_same_in_forms_and_json(sent, text):
    limits = Limits(minimum=-10.0, maximum=10.0)
    found = read(sent(URLENCODED, f"n={quote(text)}"), "n", limits)
    assert found == (REFUSED if text in [*WRONG_NUMBERS, ".5"] else float(text))
    assert read(sent(JSON, json.dumps({"n": text})), "n", limits) == found


@pytest.mark.parametrize("text", ["true", "True", " false ", "1", "0", "yes", "on", "t", "none"])
def test_flags_are_read_the_same_in_forms_json_and_addresses(sent, text):
    found = in_address(Annotated[bool, FLAG], text)
    assert found == {"true": True, "True": True, " false ": False}.get(text, REFUSED)
    for form in (sent(URLENCODED, f"n={quote(text)}"), sent(JSON, json.dumps({"n": text}))):
        fields = Fields(form)
        value = fields.flag("n", False)
        try:
            fields.check()
        except Invalid:
            value = REFUSED
        assert value == found


@pytest.mark.parametrize("value", [5, 1.5, True])
def test_text_is_not_made_of_numbers(sent, value):
    """A number was spoken as text, and became the name of a project."""
    form = sent(JSON, json.dumps({"input": value}))
    for look in (Fields.text, Fields.words):
        fields = Fields(form)
        look(fields, "input")
        with pytest.raises(Invalid, match="input must be text"):
            fields.check()
    assert Fields(sent(JSON, json.dumps({"input": str(value)}))).text("input") == str(value)


def test_words_that_are_numbers_may_be_numbers_of_json(sent):
    assert Fields(sent(JSON, '{"rate": 44100}')).choice("rate", ("source", "44100"), "source") == "44100"


@pytest.mark.parametrize(("text", "tempo"), [("0", 0.0), ("0.0", 0.0), ("120", 120.0), ("-1", None), ("401", None)])
def test_a_tempo_of_0_is_one_that_is_not_known(sent, text, tempo):
    """As `projects set --tempo 0` and the page have it."""
    fields = Fields(sent(JSON, f'{{"tempo_bpm": {text}}}'))
    given = parse_changes(fields, Timeline)
    if tempo is None:
        with pytest.raises(Invalid, match="tempo_bpm must be a number from"):
            fields.check()
        return
    fields.check()
    assert Timeline(**given).position(4.25) == ("00h00m04.250s" if not tempo else "bar 003.1.480")


@pytest.mark.parametrize(
    ("method", "address", "field"),
    [
        *(("GET", "/tasks?limit=1.0", "limit"), ("GET", "/models?limit=1_0", "limit")),
        *(("GET", "/projects?limit=1e1", "limit"), ("GET", "/callbacks?limit=True", "limit")),
        *(("PUT", "/tasks/abc/takes/1.0", "number"), ("GET", "/projects/abcdef/export?dry=1", "dry")),
    ],
)
def test_addresses_refuse_what_forms_refuse(http, method, address, field):
    refused = http.client().request(method, address)
    assert refused.status_code == 422
    assert [one["field"] for one in refused.json()["errors"]] == [field]


def test_speech_refuses_a_number_as_text(http):
    refused = http.client().post("/v1/audio/speech", json={"input": 5, "voice": "kathleen"})
    assert refused.status_code == 422
    assert refused.json()["errors"][0] == {"field": "input", "message": "input must be text."}
