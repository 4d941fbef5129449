import re
from dataclasses import fields, replace
from typing import get_type_hints

import pytest

from engine.conversion.pitch_edits import Snap
from engine.conversion.settings import ConversionSettings, ConversionValues, by_style, chosen_by
from engine.effects.settings import EffectSettings, effects_of
from engine.errors import SettingsError
from engine.live.settings import LiveSettings
from engine.settings import refuse_unknown, title_of
from engine.training.plan import TrainingPlan


@pytest.mark.parametrize("style", ["melodic", "rhythmic", "spoken"])
def test_chosen_by_gives_what_is_not_given_by_the_style_and_fits_the_voice(style):
    """As the command line does: one set of defaults for all doors."""
    wanted = replace(ConversionSettings.presets[style], transpose="auto")
    assert chosen_by(None)(style) == chosen_by({})(style) == wanted
    assert chosen_by({"takes": 3, "accent": 0.5})(style) == replace(wanted, takes=3, accent=0.5)
    assert chosen_by({"transpose": -3})(style).transpose == -3


def test_chosen_by_leaves_whole_settings_and_functions_as_they_are():
    whole = ConversionSettings(transpose=2.0, accent=0.1)
    assert chosen_by(whole)("melodic") is whole
    assert chosen_by(lambda style: whole)("melodic") is whole


@pytest.mark.parametrize("wrong", [{"take": 2}, {"takes": 0}, {"transpose": "up"}, 5, "melodic", ["takes"]])
def test_chosen_by_refuses_what_are_no_settings_at_once(wrong):
    with pytest.raises(SettingsError, match=r"^[A-Za-z].*[.?]$"):
        chosen_by(wrong)


def test_title_of_shows_the_unit_of_a_setting():
    assert title_of("pitch_smoothing_ms") == "Pitch smoothing (ms)"
    assert title_of("likeness") == "Likeness"


def test_settings_refuse_unknown_names_and_long_values_in_a_short_sentence():
    """A value of 900,000 letters came back whole, and an unknown effect was a sentence of Python's."""
    long = "x" * 900_000
    for make in (
        *(lambda: effects_of({long: 1}), lambda: by_style("auto", {long: 1}), lambda: effects_of({"reverb": long})),
        *(lambda: ConversionSettings(likeness=long), lambda: LiveSettings(style=long)),
        lambda: LiveSettings(block_ms=long),
    ):
        with pytest.raises(SettingsError) as refused:
            make()
        assert len(str(refused.value)) < 250
    with pytest.raises(SettingsError, match="There is no setting 'echo'"):
        effects_of({"reverb": 0.1, "echo": 0.2})


def test_unknown_settings_are_refused_with_what_was_meant():
    for settings, wrong, meant in ((ConversionSettings, "likenes", "likeness"), (TrainingPlan, "epoch", "epochs")):
        with pytest.raises(SettingsError, match=f"There is no setting '{wrong}': did you mean {meant}\\?"):
            refuse_unknown(settings, [wrong])


def test_conversion_values_are_the_fields_of_the_settings():
    """By hand, since type checkers read the code: the same names with the same types."""
    of_settings = get_type_hints(ConversionSettings)
    del of_settings["presets"]
    assert get_type_hints(ConversionValues) == of_settings


@pytest.mark.parametrize("settings", [ConversionSettings, EffectSettings, LiveSettings, Snap])
def test_every_setting_from_0_to_1_says_what_one_hears_at_either_end(settings):
    """Page, service and command line show the meaning as it is."""
    ends = [one for one in fields(settings) if one.metadata and one.metadata.get("maximum") == 1.0]
    assert ends
    for one in ends:
        assert re.search(r"\b0\b.*\b1\b", one.metadata["meaning"]), one.name


def test_a_number_that_is_a_text_is_shown_as_one():
    """Not as "must be a whole number from 1 to 10, not 3"."""
    with pytest.raises(SettingsError, match=r'takes must be a whole number from 1 to 10, not "3"\.'):
        ConversionSettings(takes="3")
