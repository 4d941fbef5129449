import pytest

from engine.conversion.settings import ConversionSettings, by_style
from engine.effects.settings import effects_of
from engine.errors import SettingsError
from engine.live.settings import LiveSettings
from engine.settings import title_of


def test_title_of_shows_the_unit_of_a_setting():
    assert title_of("pitch_smoothing_ms") == "Pitch smoothing (ms)"
    assert title_of("likeness") == "Likeness"


def test_settings_refuse_unknown_names_and_long_values_in_a_short_sentence():
    """A value of 900,000 letters came back whole, and an unknown effect was a sentence of Python's."""
    long = "x" * 900_000
    for make in (
        lambda: effects_of({long: 1}), lambda: by_style("auto", {long: 1}), lambda: effects_of({"reverb": long}),
        lambda: ConversionSettings(likeness=long), lambda: LiveSettings(style=long),
        lambda: LiveSettings(block_ms=long),
    ):  # fmt: skip
        with pytest.raises(SettingsError) as refused:
            make()
        assert len(str(refused.value)) < 250
    with pytest.raises(SettingsError, match="There is no setting 'echo'"):
        effects_of({"reverb": 0.1, "echo": 0.2})
