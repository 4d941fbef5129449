from dataclasses import fields

import pytest

from engine.conversion.settings import ConversionSettings
from studio.errors import Invalid
from studio.http.bodies import Form
from studio.http.routes.fields import Fields
from studio.http.routes.setting_fields import parse_settings, setting_properties

PUBLISHED = {"transpose": "transpose", "takes": "generations_count"}
DEFAULTS = {"transpose": 0, "takes": 1}


def read(**texts: str) -> dict[str, int | float | str]:
    form = Fields(Form(fields=texts, files={}))
    given = parse_settings(form, ConversionSettings, PUBLISHED)
    form.check()
    return given


def test_setting_properties_describe_every_setting_with_its_range():
    said = setting_properties(ConversionSettings, PUBLISHED)
    assert set(said) == {PUBLISHED.get(one.name, one.name) for one in fields(ConversionSettings)}
    assert said["transpose"]["oneOf"][1] == {"type": "string", "enum": ["auto", "best"]}
    number = said["transpose"]["oneOf"][0]  # as published, although the command line has more
    assert (number["type"], number["minimum"], number["maximum"]) == ("integer", -12, 12)
    assert (said["transpose"]["default"], said["generations_count"]["default"]) == (0, 1)
    assert "default" not in said["likeness"]  # the preset's
    assert said["seed"]["type"] == "integer"
    assert (said["notes_out_of_range"]["type"], said["notes_out_of_range"]["enum"]) == ("string", ["refuse", "fold"])
    assert (said["likeness"]["type"], said["likeness"]["maximum"]) == ("number", 1.0)


def test_given_settings_contain_only_given_fields_and_defaults():
    assert read() == DEFAULTS
    assert read(likeness=" ", other="1") == DEFAULTS
    assert read(notes_out_of_range="fold") == {**DEFAULTS, "notes_out_of_range": "fold"}
    expected = {**DEFAULTS, "likeness": 0.5, "seed": 7, "pitch_smoothing_ms": 100.0}
    assert read(likeness="0.5", seed="7", pitch_smoothing_ms="1e2") == expected


@pytest.mark.parametrize("number", [1 / 3, 0.1 + 0.2, 1e-05, 1.2345678901234567e-05, 5e-324, 0.0])
def test_given_settings_accepts_numbers_with_many_decimals_and_exponents(number):
    """0.3333333333333333 was refused for its decimals."""
    assert read(likeness=repr(number))["likeness"] == number
    assert read(likeness=f"{number:.20f}")["likeness"] == pytest.approx(number, abs=1e-19)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("likeness", text) for text in ("1.01", "nan", "inf", "much")),
        *(("seed", "0.5"), ("seed", "-1"), ("notes_out_of_range", "clip")),
        *(("formant_shift_semitones", "-7"), ("pitch_snap", "1e999"), ("pitch_snap", "٣")),
    ],
)
def test_given_settings_names_the_invalid_field(name, text):
    with pytest.raises(Invalid) as error:
        read(**{name: text})
    assert [field for field, _ in error.value.problems] == [name]
